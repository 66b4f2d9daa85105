/** The variables `VENUES` and `<NETWORK>_VENUES`. */
import { z } from 'zod'
import type { NetworkName, VenueFactories } from '../../ingest/model/network.ts'
import { VENUE_NAMES, type VenueName } from '../../ingest/model/venue.ts'
import { factoriesOn } from '../../ingest/venues/factories.ts'
import { BadConfiguration } from './bad-configuration.ts'
import { listOf } from './values.ts'

export const venues = listOf(
  z.enum(VENUE_NAMES, `names something else than ${VENUE_NAMES.join(', ')}`),
  'names no venue',
).refine((names) => names.includes('uniswap'), 'does not name uniswap, which prices all others')

/** Reports a venue that is on none of its networks: such a mistake must not be ignored. */
export function venuesByNetwork(
  names: readonly NetworkName[],
  shared: readonly VenueName[],
  all: Record<string, unknown>,
): ReadonlyMap<NetworkName, readonly VenueFactories[]> {
  const byNetwork = new Map<NetworkName, readonly VenueFactories[]>()
  const problems: string[] = []
  for (const name of names) {
    const own = all[`${name.toUpperCase()}_VENUES`] as readonly VenueName[] | undefined
    const found = factoriesOn(name, [...new Set(own ?? shared)])
    for (const venue of own ?? []) {
      if (venue !== 'uniswap' && !found.some((it) => it.venue === venue))
        problems.push(`${name.toUpperCase()}_VENUES names ${venue}, which has no pools there`)
    }
    byNetwork.set(name, found)
  }
  for (const venue of shared) {
    if (venue !== 'uniswap' && !names.some((name) => factoriesOn(name, [venue]).length > 0))
      problems.push(
        `VENUES names ${venue}, which has no pools on ${names.length > 0 ? names.join(', ') : 'the devnet'}`,
      )
  }
  if (problems.length > 0) throw new BadConfiguration(problems)
  return byNetwork
}
