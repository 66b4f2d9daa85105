/** Stored candles of one pool and one resolution, ascending, kept as ClickHouse sends them (RowBinary). */
import type { Bucket as StoredBucket } from '../../../aggregator/candles/open-candles.ts'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { PairPrice } from '../../query/query.ts'
import type { TimeRange } from '../../query/time-range.ts'
import type { FoldedCandle } from '../model/orientation.ts'

/**
 * One row: time (UInt32), eight prices (Float64), two volumes (UInt256), trades (UInt64), dollars (Decimal(76, 6)), buys (UInt64), their parts of
 * both volumes (UInt256), trades of 0 for 0 (UInt64); little-endian.
 */
export const ROW_BYTES = 252

const OPEN = 4
const SPOT_OPEN = 36
const VOLUME = { 0: 68, 1: 100 } as const
const TRADES = 132
const VOLUME_USD = 140
const BUYS = 172
const BUY_VOLUME = { 0: 180, 1: 212 } as const
const UNEXECUTED = 244
const WORDS = 8
const WORD_BYTES = 4 * WORDS
const PRICE_BYTES = 8

export type BucketRows = DataView

/**
 * Turns a row from ClickHouse into values: it has all prices but the open as distances in units in the last place, and bought volumes only of candles
 * with buys and sells. See 0003_candles.sql.
 */
export function restoreRow(row: BucketRows, at: number): void {
  addWord(row, at + SPOT_OPEN, row.getUint32(at + OPEN, true), row.getInt32(at + OPEN + 4, true))
  restoreRange(row, at + OPEN)
  restoreRange(row, at + SPOT_OPEN)
  if (countAt(row, at + BUYS) !== countAt(row, at + TRADES)) return
  const bytes = bytesOf(row)
  // Both lie beside each other, as the two volumes do.
  bytes.copyWithin(at + BUY_VOLUME[0], at + VOLUME[0], at + VOLUME[0] + 2 * WORD_BYTES)
}

/** `at`: the open, which is restored; the high, the low and the close follow. */
function restoreRange(row: BucketRows, at: number): void {
  const [highAt, lowAt, closeAt] = [at + PRICE_BYTES, at + 2 * PRICE_BYTES, at + 3 * PRICE_BYTES]
  const [openLow, openHigh] = [row.getUint32(at, true), row.getInt32(at + 4, true)]
  const isFall = row.getInt32(closeAt + 4, true) < 0
  addWord(row, closeAt, openLow, openHigh)
  const [closeLow, closeHigh] = [row.getUint32(closeAt, true), row.getInt32(closeAt + 4, true)]
  addWord(row, isFall ? lowAt : highAt, closeLow, closeHigh)
  addWord(row, isFall ? highAt : lowAt, openLow, openHigh)
}

/** Adds to the 64-bit word at an offset, by halves. */
function addWord(row: BucketRows, at: number, low: number, high: number): void {
  const sum = row.getUint32(at, true) + low
  row.setUint32(at, sum, true)
  row.setInt32(at + 4, row.getInt32(at + 4, true) + high + (sum > 0xffff_ffff ? 1 : 0), true)
}

/** One row in the same encoding. */
export function rowOf({ start, candle }: StoredBucket): BucketRows {
  const row = new DataView(new ArrayBuffer(ROW_BYTES))
  row.setUint32(0, start, true)
  const { execution, spot } = candle
  for (const [from, { open, high, low, close }] of [
    [OPEN, execution],
    [SPOT_OPEN, spot],
  ] as const) {
    for (const [place, price] of [open, high, low, close].entries())
      row.setFloat64(from + place * PRICE_BYTES, price, true)
  }
  for (const [from, volume] of [
    [VOLUME[0], candle.volume0],
    [VOLUME[1], candle.volume1],
    [VOLUME_USD, candle.volumeUsdMicros],
    [BUY_VOLUME[0], candle.buyVolume0],
    [BUY_VOLUME[1], candle.buyVolume1],
  ] as const) {
    for (let word = 0; word < WORDS / 2; word++) row.setBigUint64(from + word * 8, volume >> BigInt(64 * word), true)
  }
  row.setBigUint64(TRADES, BigInt(candle.trades), true)
  row.setBigUint64(BUYS, BigInt(candle.buys), true)
  row.setBigUint64(UNEXECUTED, BigInt(candle.unexecuted), true)
  return row
}

export function rowsFrom(bytes: Uint8Array): BucketRows {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

export function countOf(rows: BucketRows): number {
  return rows.byteLength / ROW_BYTES
}

export function timeAt(rows: BucketRows, index: number): UnixSeconds {
  return rows.getUint32(index * ROW_BYTES, true)
}

/** Index of the first row at this time or after it. */
export function indexFrom(rows: BucketRows, time: UnixSeconds): number {
  let low = 0
  let high = countOf(rows)
  while (low < high) {
    const middle = (low + high) >>> 1
    if (timeAt(rows, middle) < time) low = middle + 1
    else high = middle
  }
  return low
}

/** A copy of the rows of `from ≤ time < to`: a view would keep the whole response in memory. */
export function cut(rows: BucketRows, { from, to }: TimeRange): BucketRows {
  const bytes = bytesOf(rows)
  return rowsFrom(bytes.slice(indexFrom(rows, from) * ROW_BYTES, indexFrom(rows, to) * ROW_BYTES))
}

/** Replaces rows by `fresh` ones of equal times; fresh rows without trades are removed. Overwrites `rows` if all times are present. */
export function merged(rows: BucketRows, fresh: BucketRows): BucketRows {
  if (overwritten(rows, fresh)) return rows
  const pieces: Uint8Array[] = []
  const old = bytesOf(rows)
  let next = 0
  for (let index = 0; index < countOf(fresh); index++) {
    const at = indexFrom(rows, timeAt(fresh, index))
    pieces.push(old.subarray(next * ROW_BYTES, at * ROW_BYTES))
    if (hasTrades(fresh, index)) pieces.push(bytesAt(fresh, index))
    next = at < countOf(rows) && timeAt(rows, at) === timeAt(fresh, index) ? at + 1 : at
  }
  pieces.push(old.subarray(next * ROW_BYTES))
  return rowsFrom(Buffer.concat(pieces))
}

function overwritten(rows: BucketRows, fresh: BucketRows): boolean {
  const places: number[] = []
  for (let index = 0; index < countOf(fresh); index++) {
    const at = indexFrom(rows, timeAt(fresh, index))
    if (at === countOf(rows) || timeAt(rows, at) !== timeAt(fresh, index) || !hasTrades(fresh, index)) return false
    places.push(at)
  }
  const bytes = bytesOf(rows)
  for (const [index, at] of places.entries()) bytes.set(bytesAt(fresh, index), at * ROW_BYTES)
  return true
}

function hasTrades(rows: BucketRows, index: number): boolean {
  return hasTradesAt(rows, index * ROW_BYTES)
}

export function hasTradesAt(rows: BucketRows, at: number): boolean {
  return countAt(rows, at + TRADES) > 0
}

function bytesAt(rows: BucketRows, index: number): Uint8Array {
  return bytesOf(rows).subarray(index * ROW_BYTES, (index + 1) * ROW_BYTES)
}

/** The close of the last trade before a second, and the bucket of that trade: `from ≤ time < to`. */
export type Close = TimeRange & { close: number; spot_close: number }

/** The close of the newest row with a price of this kind before a second; undefined without one. */
export function closeIn(
  rows: BucketRows,
  resolution: number,
  before: UnixSeconds,
  kind: PairPrice = 'spot',
): Close | undefined {
  let index = indexFrom(rows, before) - 1
  while (index >= 0 && !hasPrice(rows, index * ROW_BYTES, kind)) index--
  if (index < 0) return undefined
  const from = timeAt(rows, index)
  const at = index * ROW_BYTES + 3 * PRICE_BYTES
  const [close, spot_close] = [rows.getFloat64(at + OPEN, true), rows.getFloat64(at + SPOT_OPEN, true)]
  return { from, to: from + resolution, close, spot_close }
}

/** A bucket of swaps of 0 for 0 alone has no execution price. */
function hasPrice(rows: BucketRows, at: number, kind: PairPrice): boolean {
  return kind === 'spot' || rows.getFloat64(at + OPEN, true) > 0
}

/** `token`: the second one of the view. */
type Fold = { interval: number; range: TimeRange; kind: PairPrice; token: 0 | 1; flow: boolean }

/**
 * Merges the rows of `from ≤ time < to` into buckets of an interval, counted from 1970; ascending. Rows without a price of the kind count in `trades`
 * of buckets that have one.
 */
export function foldRows(chunks: readonly BucketRows[], { interval, range, kind, token, flow }: Fold): FoldedCandle[] {
  const prices = kind === 'spot' ? SPOT_OPEN : OPEN
  const sums = openSums(token, flow)
  const folded: FoldedCandle[] = []
  let current: FoldedCandle | undefined
  const close = () => {
    const taken = sums.take()
    if (current && current.open !== 0) folded.push(Object.assign(current, taken))
  }
  for (const rows of chunks) {
    const end = indexFrom(rows, range.to)
    for (let index = indexFrom(rows, range.from); index < end; index++) {
      const at = index * ROW_BYTES
      const time = rows.getUint32(at, true)
      const bucket = time - (time % interval)
      if (current?.bucket !== bucket) {
        close()
        current = { bucket, open: 0, high: 0, low: 0, close: 0, volume: 0n, trades: 0, flow: undefined }
      }
      if (hasPrice(rows, at, kind)) addPrices(current, rows, at + prices)
      current.trades += countAt(rows, at + TRADES)
      sums.add(rows, at)
    }
  }
  close()
  return folded
}

/** `at`: the open, the high, the low and the close of a row. */
function addPrices(candle: FoldedCandle, rows: BucketRows, at: number): void {
  const high = rows.getFloat64(at + PRICE_BYTES, true)
  const low = rows.getFloat64(at + 2 * PRICE_BYTES, true)
  if (candle.open === 0) {
    candle.open = rows.getFloat64(at, true)
    candle.high = high
    candle.low = low
  } else {
    if (high > candle.high) candle.high = high
    if (low < candle.low) candle.low = low
  }
  candle.close = rows.getFloat64(at + 3 * PRICE_BYTES, true)
}

/** Sums over rows, by the 32-bit words of their volumes. */
function openSums(token: 0 | 1, flow: boolean) {
  const places = flow ? [VOLUME[token], VOLUME[token === 0 ? 1 : 0], VOLUME_USD, BUY_VOLUME[token]] : [VOLUME[token]]
  const words = places.map(() => new Float64Array(WORDS))
  let [buys, unexecuted] = [0, 0]
  return {
    add(rows: BucketRows, at: number): void {
      for (let sum = 0; sum < places.length; sum++)
        addWords(words[sum] as Float64Array, rows, at + (places[sum] as number))
      if (!flow) return
      buys += countAt(rows, at + BUYS)
      unexecuted += countAt(rows, at + UNEXECUTED)
    },
    /** Sets them to 0. */
    take(): Pick<FoldedCandle, 'volume' | 'flow'> {
      const [volume = 0n, baseVolume = 0n, usdMicros = 0n, buyVolume = 0n] = words.map(takeSum)
      const counts = { buys, unexecuted }
      buys = 0
      unexecuted = 0
      return { volume, flow: flow ? { baseVolume, usdMicros, buyVolume, ...counts } : undefined }
    },
  }
}

/** The price range of a stored bucket in the order of the view, over execution and spot prices; `close` is the spot price. */
export type PriceRow = { start: number; seconds: number; low: number; high: number; close: number }

/** One row for each bucket of `from ≤ time < to`. */
export function priceRows(rows: BucketRows, { from, to }: TimeRange, seconds: number, forward: boolean): PriceRow[] {
  const found: PriceRow[] = []
  const end = indexFrom(rows, to)
  for (let index = indexFrom(rows, from); index < end; index++) {
    const at = index * ROW_BYTES
    const price = (kind: number, place: number) => rows.getFloat64(at + kind + place * PRICE_BYTES, true)
    const kinds = hasPrice(rows, at, 'execution') ? [OPEN, SPOT_OPEN] : [SPOT_OPEN]
    const high = Math.max(...kinds.map((kind) => price(kind, 1)))
    const low = Math.min(...kinds.map((kind) => price(kind, 2)))
    const close = price(SPOT_OPEN, 3)
    const prices = forward ? { low, high, close } : { low: 1 / high, high: 1 / low, close: 1 / close }
    found.push({ start: timeAt(rows, index), seconds, ...prices })
  }
  return found
}

export type Volume = { trades: number; usdMicros: bigint }

export const NO_VOLUME: Volume = { trades: 0, usdMicros: 0n }

/** The sum over `from ≤ time < to`. */
export function volumeIn(rows: BucketRows, { from, to }: TimeRange): Volume {
  const words = new Float64Array(WORDS)
  let trades = 0
  const end = indexFrom(rows, to)
  for (let index = indexFrom(rows, from); index < end; index++) {
    trades += countAt(rows, index * ROW_BYTES + TRADES)
    addWords(words, rows, index * ROW_BYTES + VOLUME_USD)
  }
  return { trades, usdMicros: takeSum(words) }
}

function countAt(rows: BucketRows, at: number): number {
  return rows.getUint32(at, true) + rows.getUint32(at + 4, true) * 2 ** 32
}

/** Sums of 32-bit words are exact in a double for two million rows. */
function addWords(words: Float64Array, rows: BucketRows, at: number): void {
  for (let word = 0; word < WORDS; word++) words[word] = (words[word] ?? 0) + rows.getUint32(at + 4 * word, true)
}

function takeSum(words: Float64Array): bigint {
  let sum = 0n
  for (let word = WORDS - 1; word >= 0; word--) sum = (sum << 32n) + BigInt(words[word] ?? 0)
  words.fill(0)
  return sum
}

function bytesOf(rows: BucketRows): Uint8Array {
  return new Uint8Array(rows.buffer, rows.byteOffset, rows.byteLength)
}
