/** The order of a list, and its pages: a cursor is the place of the last row, so that rows which enter or leave the list move no page. */
import { listingKey } from '../../market/model/listing.ts'
import type { ChangePeriod } from '../../market/pools/pool-figures.ts'
import { SOUND_USD } from '../../market/pools/top-pools.ts'
import { changeOf, type ListRow } from './rows.ts'

export const SORTS = ['volume', 'value', 'gain', 'loss', 'newest'] as const
export type Sort = (typeof SORTS)[number]

export const GROUPINGS = ['pool', 'pair'] as const
export type Grouping = (typeof GROUPINGS)[number]

/** Places of different orders are not compared. */
export type ListOrder = { sort: Sort; per: Grouping; changeOver: ChangePeriod }

/** Greater numbers come first; of equal ones the id that is first in the alphabet. */
export type Place = { keys: readonly number[]; id: string }

export type Cursor = { order: string; place: Place }

type PlacedRow = { row: ListRow; place: Place }

/** Rows without a change are in no list of changes. */
export function sorted(rows: readonly ListRow[], order: ListOrder): readonly PlacedRow[] {
  return rows
    .flatMap((row) => {
      const keys = keysOf(row, order)
      const { network, pool } = row.lead.listing
      return keys === undefined ? [] : { row, place: { keys, id: listingKey(network.name, pool.id) } }
    })
    .toSorted((one, other) => compare(one.place, other.place))
}

/** The price of a pool that holds little moves at little cost: by gain and loss it comes after those of $10,000. */
function keysOf(row: ListRow, { sort, changeOver }: ListOrder): readonly number[] | undefined {
  const change = changeOf(row.lead, changeOver)
  const isSound = Number(row.heldUsd >= SOUND_USD)
  if (sort === 'volume') return [row.soundVolumeUsd, row.valueUsd]
  if (sort === 'value') return [row.valueUsd, row.soundVolumeUsd]
  if (sort === 'newest') return [row.lead.listing.firstSeen]
  if (change === undefined) return undefined
  return [isSound, sort === 'gain' ? change : -change]
}

function compare(one: Place, other: Place): number {
  for (const [index, key] of one.keys.entries()) {
    const difference = (other.keys[index] ?? 0) - key
    if (difference !== 0) return difference
  }
  if (one.id === other.id) return 0
  return one.id < other.id ? -1 : 1
}

/** `next`: undefined at the end of the list. */
export function pageOf(
  rows: readonly PlacedRow[],
  order: ListOrder,
  { after, limit }: { after: Place | undefined; limit: number },
): { rows: readonly ListRow[]; next: string | undefined } {
  const rest = after === undefined ? rows : rows.filter(({ place }) => compare(after, place) < 0)
  const page = rest.slice(0, limit)
  const last = page.at(-1)
  return {
    rows: page.map(({ row }) => row),
    next: last && rest.length > page.length ? writeCursor({ order: nameOf(order), place: last.place }) : undefined,
  }
}

/** A list that is ordered by no change has one order for all periods. */
export function nameOf({ sort, per, changeOver }: ListOrder): string {
  return [sort, per, ...(sort === 'gain' || sort === 'loss' ? [changeOver] : [])].join(' ')
}

function writeCursor({ order, place: { keys, id } }: Cursor): string {
  return Buffer.from(JSON.stringify([order, id, ...keys])).toString('base64url')
}

/** Undefined where no answer has such a cursor. */
export function readCursor(text: string): Cursor | undefined {
  let parts: unknown
  try {
    parts = JSON.parse(Buffer.from(text, 'base64url').toString())
  } catch {
    return undefined
  }
  if (!Array.isArray(parts)) return undefined
  const [order, id, ...keys] = parts as readonly unknown[]
  if (typeof order !== 'string' || typeof id !== 'string') return undefined
  if (!keys.every((key) => typeof key === 'number' && Number.isFinite(key)) || keys.length < 1 || keys.length > 2)
    return undefined
  return { order, place: { keys: keys as number[], id } }
}
