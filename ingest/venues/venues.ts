/** The venues by name, and by the factories of a network. */
import type { Address } from 'viem'
import { lower } from '../lib/lower.ts'
import type { Network } from '../model/network.ts'
import { type VenueName, venueOf } from '../model/venue.ts'
import { algebra } from './algebra.ts'
import { pancake } from './pancake.ts'
import { slipstream } from './slipstream.ts'
import { sushi } from './sushi.ts'
import { uniswap } from './uniswap.ts'
import type { EventFees, Venue } from './venue.ts'

const VENUES: Readonly<Record<VenueName, Venue>> = { uniswap, sushi, pancake, slipstream, algebra }

/** Each factory that a network reads, in lower case, with its venue. */
export function deploymentsOf({ v3, venues = [] }: Pick<Network, 'v3' | 'venues'>): ReadonlyMap<Address, Venue> {
  const further = venues.flatMap(({ venue, factories }) =>
    factories.map((factory) => [lower(factory), VENUES[venue]] as const),
  )
  return new Map([...further, [lower(v3.factory), uniswap]])
}

/** Venues that a network reads beside Uniswap. */
export function venuesOf({ venues = [] }: Pick<Network, 'venues'>): readonly Venue[] {
  return venues.map(({ venue }) => VENUES[venue])
}

/** The names of all venues that a network reads. */
export function venueNamesOf({ venues = [] }: Pick<Network, 'venues'>): readonly VenueName[] {
  return ['uniswap', ...venues.map(({ venue }) => venue)]
}

/** Present where the fee of a pool is set by events. */
export function eventFeesOf(pool: { venue?: VenueName }): EventFees | undefined {
  return VENUES[venueOf(pool)].eventFees
}

/** Whether a network reads the pools of a venue; absent is Uniswap. */
export function isRead(network: Pick<Network, 'venues'>, venue: VenueName = 'uniswap'): boolean {
  return venueNamesOf(network).includes(venue)
}
