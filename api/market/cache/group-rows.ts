/** Splits an answer of ClickHouse into the rows of each pool and resolution. */
import { type BucketRows, hasTradesAt, ROW_BYTES, restoreRow, rowsFrom } from './bucket-rows.ts'

const NO_ROWS = rowsFrom(new Uint8Array())
/** Before a row: its place (UInt16), its resolution (UInt32) and its version (UInt128). */
const [RESOLUTION_AT, VERSION_AT, PREFIX_BYTES] = [2, 6, 22]

/** `place`: the index of the pool in the list of the query. */
type RowGroup = { place: number; resolution: number }

/**
 * The rows of each pool and resolution, ascending, of each time the newest version; see buckets.sql and changed-buckets.sql. `untraded`: keeps
 * the rows that lost their trades.
 */
export function groupRows(bytes: Uint8Array, { untraded }: { untraded: boolean }): (placed: RowGroup) => BucketRows {
  const view = rowsFrom(bytes)
  const numberOf = ({ place, resolution }: RowGroup) => place * 2 ** 32 + resolution
  const offsets = new Map<number, number[]>()
  for (let at = 0; at < bytes.byteLength; at += PREFIX_BYTES + ROW_BYTES) {
    const number = numberOf({ place: view.getUint16(at, true), resolution: view.getUint32(at + RESOLUTION_AT, true) })
    const group = offsets.get(number)
    if (group) group.push(at)
    else offsets.set(number, [at])
  }
  const found = new Map<number, BucketRows>()
  for (const [number, group] of offsets) {
    const rows = newestRows(view, group)
    found.set(number, joined(bytes, untraded ? rows : rows.filter((at) => hasTradesAt(view, at + PREFIX_BYTES))))
  }
  return (placed) => found.get(numberOf(placed)) ?? NO_ROWS
}

/** Offsets of the newest version of each time, ascending by time. Each part of the table sends its rows ascending. */
function newestRows(view: DataView, offsets: number[]): readonly number[] {
  const timeOf = (at: number) => view.getUint32(at + PREFIX_BYTES, true)
  const isAscending = offsets.every((at, index) => index === 0 || timeOf(offsets[index - 1] ?? at) < timeOf(at))
  if (isAscending) return offsets
  const versionOf = (at: number) =>
    (view.getBigUint64(at + VERSION_AT + 8, true) << 64n) | view.getBigUint64(at + VERSION_AT, true)
  offsets.sort((one, other) => timeOf(one) - timeOf(other))
  const newest: number[] = []
  for (const at of offsets) {
    const last = newest.at(-1)
    if (last === undefined || timeOf(last) !== timeOf(at)) newest.push(at)
    else if (versionOf(at) > versionOf(last)) newest[newest.length - 1] = at
  }
  return newest
}

function joined(bytes: Uint8Array, offsets: readonly number[]): BucketRows {
  const rows = new Uint8Array(offsets.length * ROW_BYTES)
  for (const [index, at] of offsets.entries())
    rows.set(bytes.subarray(at + PREFIX_BYTES, at + PREFIX_BYTES + ROW_BYTES), index * ROW_BYTES)
  const joined = rowsFrom(rows)
  for (let at = 0; at < rows.byteLength; at += ROW_BYTES) restoreRow(joined, at)
  return joined
}
