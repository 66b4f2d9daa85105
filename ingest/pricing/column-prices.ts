/**
 * Prices of the rows of columns, to the last bit those of `spotPrice`, `executionPrice` and `UsdPrices`: by double-double in registers, without an
 * object or a bigint a row. Where that cannot decide how a result rounds, they are asked.
 */
import { readSigned, readWord, WORD_LANES, writeWord } from '../columns/tick-columns.ts'
import type { Pool } from '../model/pool.ts'
import type { TickColumns } from '../model/tick.ts'
import { type DoubleDouble, ERROR, LARGEST_WITH_HALVES, productError } from './double-double.ts'
import { executionPrice, MIN_LEG_UNITS, powerPair, spotPrice, type TokenDecimals } from './price.ts'
import type { PriceHistory, UsdPrices } from './usd.ts'

/** Two doubles each: `hi` and `lo` of a double-double. */
const registers = new Float64Array(12)
const SIZE0 = 0
const SIZE1 = 1
const RESULT = 2
const OPERAND = 3
const ROOT = 4

const MIN_LEG = Number(MIN_LEG_UNITS)
const TWO_32 = 2 ** 32

/** Prices the rows of one pool. */
export class PoolPrices {
  readonly #pool: Pool
  readonly #usd: UsdPrices
  readonly #decimals: TokenDecimals
  /** 10^|places| scales a raw price; undefined where it takes exact arithmetic. */
  readonly #places: number
  readonly #power: DoubleDouble | undefined
  readonly #history0: PriceHistory | undefined
  readonly #history1: PriceHistory | undefined

  constructor(pool: Pool, usd: UsdPrices) {
    const { token0, token1 } = pool
    this.#pool = pool
    this.#usd = usd
    this.#decimals = { decimals0: token0.decimals, decimals1: token1.decimals }
    this.#places = token0.decimals - token1.decimals
    this.#power = powerPair(Math.abs(this.#places))
    this.#history0 = usd.historyOf(token0.address)
    this.#history1 = usd.historyOf(token1.address)
  }

  /** Writes both prices and the dollar value of a row, whose price is not 0, by the newest prices of its tokens. */
  write(columns: TickColumns, row: number): void {
    const { amount0, amount1, spotPrice, price } = columns
    const at = row * WORD_LANES
    loadMagnitude(SIZE0, amount0, at)
    loadMagnitude(SIZE1, amount1, at)
    const spot = this.#spot(columns, row)
    spotPrice[row] = spot
    const isPriced = (registers[2 * SIZE0] as number) >= MIN_LEG && (registers[2 * SIZE1] as number) >= MIN_LEG
    price[row] = isPriced ? this.#execution(columns, row) : spot
    this.#writeValue(columns, row)
  }

  #spot({ sqrtPrice }: TickColumns, row: number): number {
    load(ROOT, sqrtPrice, row * WORD_LANES, 0)
    multiply(RESULT, ROOT, ROOT)
    this.#shift()
    const quick = nearest()
    if (!Number.isNaN(quick)) return quick * 2 ** -192
    return spotPrice(readWord(sqrtPrice, row * WORD_LANES, WORD_LANES), this.#decimals)
  }

  #execution({ amount0, amount1 }: TickColumns, row: number): number {
    divide(RESULT, SIZE1, SIZE0)
    this.#shift()
    const quick = nearest()
    if (!Number.isNaN(quick)) return quick
    const at = row * WORD_LANES
    return executionPrice(readSigned(amount0, at), readSigned(amount1, at), this.#decimals) as number
  }

  /** The result · 10^places. */
  #shift(): void {
    if (this.#places === 0) return
    if (!this.#power) {
      registers[2 * RESULT] = Number.NaN
      return
    }
    set(OPERAND, this.#power)
    if (this.#places > 0) multiply(RESULT, RESULT, OPERAND)
    else divide(RESULT, RESULT, OPERAND)
  }

  #writeValue({ amount0, amount1, usdMicros }: TickColumns, row: number): void {
    const at = row * WORD_LANES
    const value0 = microsOf(SIZE0, this.#history0)
    const value1 = microsOf(SIZE1, this.#history1)
    if (value0 === UNDECIDED || value1 === UNDECIDED) {
      const swap = { amount0: readSigned(amount0, at), amount1: readSigned(amount1, at) }
      writeWord(usdMicros, at, this.#usd.amountUsdMicros(this.#pool, swap), WORD_LANES)
      return
    }
    let value = Math.max(value0, value1, 0)
    if (value0 >= 0 && value1 >= 0) value = Math.floor((value0 + value1 + 1) / 2)
    usdMicros[at] = value
    usdMicros[at + 1] = value / TWO_32
  }
}

const NO_PRICE = -1
const UNDECIDED = -2

/** Millionths of a dollar. */
function microsOf(size: number, history: PriceHistory | undefined): number {
  const newest = history?.[history.length - 1]
  if (!newest) return NO_PRICE
  set(OPERAND, newest.price.pair)
  multiply(RESULT, size, OPERAND)
  const hi = registers[2 * RESULT] as number
  const whole = Math.round(hi)
  const isNear = Math.abs(hi - whole + (registers[2 * RESULT + 1] as number)) < 0.499
  return hi < LARGEST_WITH_HALVES && isNear ? whole : UNDECIDED
}

function set(to: number, { hi, lo }: DoubleDouble): void {
  registers[2 * to] = hi
  registers[2 * to + 1] = lo
}

function loadMagnitude(to: number, lanes: Uint32Array, at: number): void {
  load(to, lanes, at, (lanes[at + WORD_LANES - 1] as number) >>> 31)
}

/**
 * A word of lanes, or its complement where `sign` is 1. Each of at most eight sums is off by 2 u² (Joldes, Muller and Popescu, as in double-double.ts),
 * 16 u² in all; chained as there, the results stay within a quarter of `ERROR`.
 */
function load(to: number, lanes: Uint32Array, at: number, sign: number): void {
  let hi = 0
  let lo = 0
  for (let lane = WORD_LANES - 1; lane >= 0; lane--) {
    const bits = ((lanes[at + lane] as number) ^ -sign) >>> 0
    // −x is ~x + 1.
    const value = lane === 0 ? bits + sign : bits
    if (value === 0) continue
    const part = value * (SCALES[lane] as number)
    const sum = hi + part
    const rest = lo + (part - (sum - hi))
    hi = sum + rest
    lo = rest - (hi - sum)
  }
  registers[2 * to] = hi
  registers[2 * to + 1] = lo
}

const SCALES = Float64Array.from({ length: WORD_LANES }, (_, lane) => TWO_32 ** lane)

/** As `product` of double-double.ts. */
function multiply(to: number, a: number, b: number): void {
  const aHi = registers[2 * a] as number
  const aLo = registers[2 * a + 1] as number
  const bHi = registers[2 * b] as number
  const bLo = registers[2 * b + 1] as number
  const hi = aHi * bHi
  const rest = productError(aHi, bHi, hi) + (aHi * bLo + aLo * bHi)
  const sum = hi + rest
  registers[2 * to] = sum
  registers[2 * to + 1] = rest - (sum - hi)
}

/** As `quotient` of double-double.ts. */
function divide(to: number, a: number, b: number): void {
  const aHi = registers[2 * a] as number
  const aLo = registers[2 * a + 1] as number
  const bHi = registers[2 * b] as number
  const bLo = registers[2 * b + 1] as number
  const hi = aHi / bHi
  const back = bHi * hi
  const error = productError(bHi, hi, back) + bLo * hi
  const part = back + error
  const rest = (aHi - part + (aLo - (error - (part - back)))) / bHi
  const sum = hi + rest
  registers[2 * to] = sum
  registers[2 * to + 1] = rest - (sum - hi)
}

/** As `nearest` of double-double.ts, of the result; NaN where a tie is too close to decide. */
function nearest(): number {
  const hi = registers[2 * RESULT] as number
  const lo = registers[2 * RESULT + 1] as number
  const error = Math.abs(hi) * ERROR
  const low = hi + (lo - error)
  return low === hi + (lo + error) ? low : Number.NaN
}
