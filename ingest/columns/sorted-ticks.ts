/** Ticks in the order of their table: by pool, then as on the chain. ClickHouse takes sorted rows as they are, and a fold reads each pool in one piece. */
import type { PoolId } from '../model/pool.ts'
import type { TickColumns } from '../model/tick.ts'

/** `from` up to, not including, `to`: places in the order. */
export type PoolPlaces = { pool: PoolId; from: number; to: number }

export type SortedTicks = {
  ticks: TickColumns
  /** Rows of `ticks`. */
  order: Uint32Array
  groups: readonly PoolPlaces[]
}

/** A counting sort: rows of one pool keep their order. */
export function sortTicks(ticks: TickColumns): SortedTicks {
  const { length, pools, pool } = ticks
  const sizes = new Uint32Array(pools.length)
  for (let row = 0; row < length; row++) sizes[pool[row] ?? 0] = (sizes[pool[row] ?? 0] ?? 0) + 1
  const places = pools.map((_, place) => place).filter((place) => (sizes[place] ?? 0) > 0)
  places.sort((a, b) => ((pools[a] ?? '') < (pools[b] ?? '') ? -1 : 1))
  const next = new Uint32Array(pools.length)
  const groups: PoolPlaces[] = []
  let from = 0
  for (const place of places) {
    const to = from + (sizes[place] ?? 0)
    groups.push({ pool: pools[place] as PoolId, from, to })
    next[place] = from
    from = to
  }
  const order = new Uint32Array(length)
  for (let row = 0; row < length; row++) {
    const place = pool[row] ?? 0
    const at = next[place] ?? 0
    order[at] = row
    next[place] = at + 1
  }
  return { ticks, order, groups }
}
