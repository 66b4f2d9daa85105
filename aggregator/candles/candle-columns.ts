/** Candles as columns, in the order of their table: a fold adds rows, and all of them are one block of an INSERT. */
import { ColumnMemory } from '../../ingest/columns/column-memory.ts'
import { isZeroWord, readWord, WORD_LANES, writeWord } from '../../ingest/columns/tick-columns.ts'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { TickColumns } from '../../ingest/model/tick.ts'
import type { Candle, Prices, Resolution } from './candle.ts'

/** Prices of a side, a row each. */
export type PriceColumns = { open: Float64Array; high: Float64Array; low: Float64Array; close: Float64Array }

/** Volumes have `WORD_LANES` a row; see `TickColumns`. */
type Arrays = {
  /** Place of the pool in the groups of the sorted ticks. */
  pool: Uint32Array
  resolution: Uint32Array
  start: Uint32Array
  execution: PriceColumns
  spot: PriceColumns
  volume0: Uint32Array
  volume1: Uint32Array
  volumeUsdMicros: Uint32Array
  trades: Uint32Array
  buys: Uint32Array
  /** Bought parts of the volumes; 0 where all trades are buys or none is, as in the table. */
  mixedBuys0: Uint32Array
  mixedBuys1: Uint32Array
  unexecuted: Uint32Array
}

export class CandleColumns {
  #arrays: Arrays
  #capacity: number
  #length = 0
  readonly #memory = new ColumnMemory()

  constructor(capacity: number) {
    this.#capacity = Math.max(1, capacity)
    this.#arrays = arraysOf(this.#capacity, this.#memory)
  }

  get length(): number {
    return this.#length
  }

  /** Each is longer than there are rows. */
  get arrays(): Readonly<Arrays> {
    return this.#arrays
  }

  /** Only once no row is read any more. */
  release(): void {
    this.#memory.release()
  }

  /** Drops the rows from `length` on. */
  cut(length: number): void {
    const [from, to] = [length * WORD_LANES, this.#length * WORD_LANES]
    for (const name of VOLUME_NAMES) this.#arrays[name].fill(0, from, to)
    this.#length = length
  }

  /** A row of the ticks from place `from` up to `to` of the order, which are of one bucket. */
  addTicks(
    bucket: { pool: number; resolution: Resolution; start: UnixSeconds },
    { ticks, order }: { ticks: TickColumns; order: Uint32Array },
    from: number,
    to: number,
  ): void {
    const row = this.#add(bucket)
    const arrays = this.#arrays
    const { execution, spot, volume0, volume1, volumeUsdMicros, mixedBuys0, mixedBuys1 } = arrays
    const at = row * WORD_LANES
    let buys = 0
    let unexecuted = 0
    putPrice(execution, row, 0, true)
    for (let place = from; place < to; place++) {
      const tick = order[place] ?? 0
      const words = tick * WORD_LANES
      putPrice(spot, row, ticks.spotPrice[tick] ?? 0, place === from)
      const sign0 = signOf(ticks.amount0, words)
      const sign1 = signOf(ticks.amount1, words)
      // No execution has a price of 0.
      if (sign0 !== 0 || sign1 !== 0) putPrice(execution, row, ticks.price[tick] ?? 0, execution.open[row] === 0)
      else unexecuted++
      addMagnitude(volume0, at, ticks.amount0, words)
      addMagnitude(volume1, at, ticks.amount1, words)
      addWord(volumeUsdMicros, at, ticks.usdMicros, words)
      if (isBuy(sign0, sign1)) buys++
    }
    const isMixed = buys > 0 && buys < to - from
    // Most seconds have one trade, so that this is no part of the first pass.
    for (let place = from; isMixed && place < to; place++) {
      const words = (order[place] ?? 0) * WORD_LANES
      if (!isBuy(signOf(ticks.amount0, words), signOf(ticks.amount1, words))) continue
      addMagnitude(mixedBuys0, at, ticks.amount0, words)
      addMagnitude(mixedBuys1, at, ticks.amount1, words)
    }
    arrays.trades[row] = to - from
    arrays.buys[row] = buys
    arrays.unexecuted[row] = unexecuted
  }

  /** A row of the rows from `from` up to `to`, which are finer and of one bucket. */
  addRows(bucket: { pool: number; resolution: Resolution; start: UnixSeconds }, from: number, to: number): void {
    const row = this.#add(bucket)
    const arrays = this.#arrays
    const { execution, spot, volume0, volume1, volumeUsdMicros, mixedBuys0, mixedBuys1 } = arrays
    const at = row * WORD_LANES
    let trades = 0
    let buys = 0
    let unexecuted = 0
    putPrice(execution, row, 0, true)
    for (let finer = from; finer < to; finer++) {
      const words = finer * WORD_LANES
      mergeRow(spot, row, finer, finer === from)
      if ((execution.open[finer] ?? 0) !== 0) mergeRow(execution, row, finer, execution.open[row] === 0)
      addWord(volume0, at, volume0, words)
      addWord(volume1, at, volume1, words)
      addWord(volumeUsdMicros, at, volumeUsdMicros, words)
      trades += arrays.trades[finer] as number
      buys += arrays.buys[finer] as number
      unexecuted += arrays.unexecuted[finer] as number
    }
    const isMixed = buys > 0 && buys < trades
    for (let finer = from; isMixed && finer < to; finer++) {
      const bought = arrays.buys[finer] as number
      if (bought === 0) continue
      const isAll = bought === arrays.trades[finer]
      addWord(mixedBuys0, at, isAll ? volume0 : mixedBuys0, finer * WORD_LANES)
      addWord(mixedBuys1, at, isAll ? volume1 : mixedBuys1, finer * WORD_LANES)
    }
    arrays.trades[row] = trades
    arrays.buys[row] = buys
    arrays.unexecuted[row] = unexecuted
  }

  candleAt(row: number): Candle {
    const arrays = this.#arrays
    const volume = (name: VolumeName) => readWord(arrays[name], row * WORD_LANES, WORD_LANES)
    const areAllBuys = arrays.buys[row] === arrays.trades[row]
    return {
      execution: pricesAt(arrays.execution, row),
      spot: pricesAt(arrays.spot, row),
      volume0: volume('volume0'),
      volume1: volume('volume1'),
      volumeUsdMicros: volume('volumeUsdMicros'),
      trades: arrays.trades[row] ?? 0,
      buys: arrays.buys[row] ?? 0,
      buyVolume0: volume(areAllBuys ? 'volume0' : 'mixedBuys0'),
      buyVolume1: volume(areAllBuys ? 'volume1' : 'mixedBuys1'),
      unexecuted: arrays.unexecuted[row] ?? 0,
    }
  }

  set(row: number, candle: Candle): void {
    const arrays = this.#arrays
    setPrices(arrays.execution, row, candle.execution)
    setPrices(arrays.spot, row, candle.spot)
    const areAllBuys = candle.buys === candle.trades
    const volume = (name: VolumeName, value: bigint) => writeWord(arrays[name], row * WORD_LANES, value, WORD_LANES)
    volume('volume0', candle.volume0)
    volume('volume1', candle.volume1)
    volume('volumeUsdMicros', candle.volumeUsdMicros)
    volume('mixedBuys0', areAllBuys ? 0n : candle.buyVolume0)
    volume('mixedBuys1', areAllBuys ? 0n : candle.buyVolume1)
    for (const name of COUNT_NAMES) arrays[name][row] = candle[name]
  }

  /** Its volumes are 0. */
  #add({ pool, resolution, start }: { pool: number; resolution: Resolution; start: UnixSeconds }): number {
    if (this.#length === this.#capacity) this.#grow()
    const row = this.#length++
    const arrays = this.#arrays
    arrays.pool[row] = pool
    arrays.resolution[row] = resolution
    arrays.start[row] = start
    return row
  }

  #grow(): void {
    const before = this.#arrays
    this.#capacity *= 2
    this.#arrays = arraysOf(this.#capacity, this.#memory)
    copyInto(this.#arrays, before)
  }
}

function arraysOf(capacity: number, memory: ColumnMemory): Arrays {
  const words = () => memory.uint32(capacity * WORD_LANES)
  const numbers = () => memory.uint32(capacity)
  const prices = (): PriceColumns => ({
    open: memory.float64(capacity),
    high: memory.float64(capacity),
    low: memory.float64(capacity),
    close: memory.float64(capacity),
  })
  return {
    pool: numbers(),
    resolution: numbers(),
    start: numbers(),
    execution: prices(),
    spot: prices(),
    volume0: words(),
    volume1: words(),
    volumeUsdMicros: words(),
    trades: numbers(),
    buys: numbers(),
    mixedBuys0: words(),
    mixedBuys1: words(),
    unexecuted: numbers(),
  }
}

function copyInto(to: Arrays, from: Arrays): void {
  const { execution, spot, ...plain } = from
  for (const name of Object.keys(plain) as (keyof typeof plain)[]) to[name].set(plain[name])
  for (const side of ['execution', 'spot'] as const)
    for (const name of PRICE_NAMES) to[side][name].set(from[side][name])
}

const PRICE_NAMES = ['open', 'high', 'low', 'close'] as const
const VOLUME_NAMES = ['volume0', 'volume1', 'volumeUsdMicros', 'mixedBuys0', 'mixedBuys1'] as const
type VolumeName = (typeof VOLUME_NAMES)[number]
const COUNT_NAMES = ['trades', 'buys', 'unexecuted'] as const

function putPrice({ open, high, low, close }: PriceColumns, row: number, price: number, isFirst: boolean): void {
  if (isFirst) {
    open[row] = price
    high[row] = price
    low[row] = price
  } else {
    if (price > (high[row] ?? 0)) high[row] = price
    if (price < (low[row] ?? 0)) low[row] = price
  }
  close[row] = price
}

/** Adds row `later` to row `row`. */
function mergeRow({ open, high, low, close }: PriceColumns, row: number, later: number, isFirst: boolean): void {
  if (isFirst) open[row] = open[later] ?? 0
  if (isFirst || (high[later] ?? 0) > (high[row] ?? 0)) high[row] = high[later] ?? 0
  if (isFirst || (low[later] ?? 0) < (low[row] ?? 0)) low[row] = low[later] ?? 0
  close[row] = close[later] ?? 0
}

function pricesAt({ open, high, low, close }: PriceColumns, row: number): Prices {
  return { open: open[row] ?? 0, high: high[row] ?? 0, low: low[row] ?? 0, close: close[row] ?? 0 }
}

function setPrices(columns: PriceColumns, row: number, prices: Prices): void {
  for (const name of PRICE_NAMES) columns[name][row] = prices[name]
}

const TWO_32 = 2 ** 32

/** As `sideOf` has it. */
function isBuy(sign0: number, sign1: number): boolean {
  return sign0 > 0 || (sign0 === 0 && sign1 <= 0)
}

/** -1, 0 or 1, of a word in two's complement. */
function signOf(lanes: Uint32Array, at: number): number {
  if (isZeroWord(lanes, at)) return 0
  return (lanes[at + WORD_LANES - 1] as number) < TWO_32 / 2 ? 1 : -1
}

/** Modulo 2^256. */
function addWord(to: Uint32Array, at: number, from: Uint32Array, fromAt: number): void {
  let carry = 0
  for (let lane = 0; lane < WORD_LANES; lane++) {
    const sum = (to[at + lane] ?? 0) + (from[fromAt + lane] ?? 0) + carry
    to[at + lane] = sum
    carry = sum >= TWO_32 ? 1 : 0
  }
}

/** Modulo 2^256. */
function subtractWord(to: Uint32Array, at: number, from: Uint32Array, fromAt: number): void {
  let borrow = 0
  for (let lane = 0; lane < WORD_LANES; lane++) {
    const rest = (to[at + lane] ?? 0) - (from[fromAt + lane] ?? 0) - borrow
    to[at + lane] = rest
    borrow = rest < 0 ? 1 : 0
  }
}

/** Adds the absolute value of a word in two's complement. */
function addMagnitude(to: Uint32Array, at: number, from: Uint32Array, fromAt: number): void {
  if ((from[fromAt + WORD_LANES - 1] ?? 0) < TWO_32 / 2) addWord(to, at, from, fromAt)
  else subtractWord(to, at, from, fromAt)
}
