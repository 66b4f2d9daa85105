/** The rows of a list: pools that a filter leaves, each by itself, or all pools of a pair as one row. */
import { lower } from '../../../ingest/lib/lower.ts'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { Network, NetworkName } from '../../../ingest/model/network.ts'
import type { Token } from '../../../ingest/model/pool.ts'
import { type VenueName, venueOf } from '../../../ingest/model/venue.ts'
import { groupBy } from '../../lib/group.ts'
import { type Listing, listingKey, shownSymbol } from '../../market/model/listing.ts'
import { areListed, type ChangePeriod, type PoolFigures } from '../../market/pools/pool-figures.ts'
import type { Sides } from '../../market/pools/sides.ts'

/** Ages in seconds; changes as in rows: 0.01 is 1 %. */
export type PoolFilter = {
  networks?: readonly NetworkName[] | undefined
  venues?: readonly VenueName[] | undefined
  minHeldUSD?: number | undefined
  minAge?: number | undefined
  maxAge?: number | undefined
  minChange?: number | undefined
  maxChange?: number | undefined
  changeOver: ChangePeriod
}

export type ListRow = {
  /** The pool that holds most. */
  lead: PoolFigures
  /** Pools whose sums these are. */
  count: number
  volumeUsd: number
  /** A pool counts no more than it held over the day, since wash trading is free. */
  soundVolumeUsd: number
  valueUsd: number
  heldUsd: number
  /** In the order of the lead pool's tokens; undefined where a pool was not counted. */
  sides: Sides | undefined
}

/** A limit on a change leaves out pools without one. */
export function passes(one: PoolFigures, filter: PoolFilter, now: UnixSeconds): boolean {
  const { networks, venues, changeOver } = filter
  const { network, pool, firstSeen } = one.listing
  return (
    (networks?.includes(network.name) ?? true) &&
    (venues?.includes(venueOf(pool)) ?? true) &&
    isWithin(one.heldUsd, filter.minHeldUSD, undefined) &&
    isWithin(now - firstSeen, filter.minAge, filter.maxAge) &&
    isWithin(changeOf(one, changeOver), filter.minChange, filter.maxChange)
  )
}

function isWithin(value: number | undefined, least: number | undefined, most: number | undefined): boolean {
  if (least === undefined && most === undefined) return true
  return value !== undefined && value >= (least ?? value) && value <= (most ?? value)
}

/** A price may be too small for a number: its change has no size then. */
export function changeOf({ changes }: PoolFigures, period: ChangePeriod): number | undefined {
  const change = changes[period]
  return Number.isFinite(change) ? change : undefined
}

export function poolRows(pools: readonly PoolFigures[]): readonly ListRow[] {
  return pools.map((pool) => rowOf(pool, [pool]))
}

/** Pools of the same trusted symbols are one row, on whichever network. Other symbols can be copied: each of their pools is a row. */
export function pairRows(pools: readonly PoolFigures[]): readonly ListRow[] {
  return [...groupBy(pools, ({ listing }) => groupOf(listing)).values()].flatMap((group) => {
    const [lead] = group.toSorted((one, other) => other.heldUsd - one.heldUsd || other.valueUsd - one.valueUsd)
    return lead === undefined ? [] : rowOf(lead, group)
  })
}

function groupOf(listing: Listing): string {
  return areListed(listing)
    ? symbolsOf(listing).toSorted().join(' ')
    : listingKey(listing.network.name, listing.pool.id)
}

function rowOf(lead: PoolFigures, pools: readonly PoolFigures[]): ListRow {
  return {
    lead,
    count: pools.length,
    volumeUsd: sumOf(pools, ({ volumeUsd }) => volumeUsd),
    soundVolumeUsd: sumOf(pools, ({ volumeUsd, heldUsd }) => Math.min(volumeUsd, heldUsd)),
    valueUsd: sumOf(pools, ({ valueUsd }) => valueUsd),
    heldUsd: sumOf(pools, ({ heldUsd }) => heldUsd),
    sides: sidesOf(symbolsOf(lead.listing), pools),
  }
}

/** Other pools of the pair may have the tokens the other way round. */
function sidesOf([first]: readonly [string, string], pools: readonly PoolFigures[]): Sides | undefined {
  const known = pools.flatMap(({ listing, sides }) => {
    if (sides === undefined) return []
    return symbolsOf(listing)[0] === first ? sides : { buys: sides.sells, sells: sides.buys }
  })
  if (known.length < pools.length) return undefined
  return { buys: sumOf(known, ({ buys }) => buys), sells: sumOf(known, ({ sells }) => sells) }
}

function sumOf<Item>(items: readonly Item[], of: (item: Item) => number): number {
  return items.reduce((total, item) => total + of(item), 0)
}

/** The native currency and its wrapped form have one symbol. */
export function symbolsOf({ network, pool }: Listing): readonly [string, string] {
  return [symbolOf(network, pool.token0), symbolOf(network, pool.token1)]
}

function symbolOf(network: Network, token: Token): string {
  const isWrapped = token.address === lower(network.wrappedNative)
  return isWrapped ? network.nativeSymbol : shownSymbol(network, token)
}
