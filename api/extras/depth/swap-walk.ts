/**
 * The amounts of swaps that end at a price limit, without fees: bit-exact with the loops of v3-core (UniswapV3Pool.swap) and v4-core (Pool.swap).
 * A swap goes step by step. A step ends at the next initialized tick, at the last tick of a word of the pool's bitmap, or at the limit. Of each
 * step the incoming amount is rounded up and the outgoing one down (SwapMath, SqrtPriceMath), so that the places of the steps count.
 */
import { sqrtPriceAtTick } from '../../market/pools/tick-math.ts'

/** A tick where positions begin or end. `net`: liquidity that a rising price adds there, and a falling one removes. */
export type InitializedTick = { tick: number; net: bigint }

/** The state of a pool. At the price of an initialized tick, `tick` says on which side of it the pool is. */
export type WalkStart = { sqrtPriceX96: bigint; tick: number; liquidity: bigint }

/** Raw units of both tokens; the direction of the swap says which one comes in. */
export type RawAmounts = { amount0: bigint; amount1: bigint }

/** `ticks`: ascending, at least those between the price and the farthest target. `spacing`: of the pool's ticks, undefined where it is not known. */
export type WalkMap = { ticks: readonly InitializedTick[]; spacing: number | undefined }

const Q96 = 2n ** 96n
const MAX_TICK = 887_272
/** Ticks of one word of the bitmap, in spacings. */
const WORD = 256
const NOTHING: RawAmounts = { amount0: 0n, amount1: 0n }

/** A swap takes prices strictly between those of the lowest and the highest tick. */
export const LOWEST_LIMIT = sqrtPriceAtTick(-MAX_TICK) + 1n
export const HIGHEST_LIMIT = sqrtPriceAtTick(MAX_TICK) - 1n

/**
 * The amounts of one swap to each target. All `targets` lie on one side of the price, the nearest first. Undefined where the liquidity would become
 * negative: positions are missing then.
 */
export function amountsTo(
  start: WalkStart,
  targets: readonly bigint[],
  { ticks, spacing }: WalkMap,
): readonly RawAmounts[] | undefined {
  const isRising = (targets.at(-1) ?? start.sqrtPriceX96) > start.sqrtPriceX96
  const ahead = isRising
    ? ticks.filter(({ tick }) => tick > start.tick)
    : ticks.filter(({ tick }) => tick <= start.tick).toReversed()
  const found: RawAmounts[] = []
  let { sqrtPriceX96: price, tick, liquidity } = start
  let total = NOTHING
  for (let place = 0; found.length < targets.length; ) {
    if (liquidity < 0n) return undefined
    const initialized = ahead[place]
    const end = nextEnd(isRising, initialized?.tick, wordEnd(isRising, tick, spacing))
    const endPrice = sqrtPriceAtTick(end)
    // Targets inside of this step: each is where another swap ends.
    for (let target = targets[found.length]; target !== undefined; target = targets[found.length]) {
      if (isRising ? target > endPrice : target < endPrice) break
      found.push(sumOf(total, stepAmounts(price, target, liquidity)))
    }
    total = sumOf(total, stepAmounts(price, endPrice, liquidity))
    price = endPrice
    if (initialized?.tick === end) {
      liquidity += isRising ? initialized.net : -initialized.net
      place++
    }
    tick = isRising ? end : end - 1
  }
  return found
}

/** The nearer one of both, within the range of ticks. */
function nextEnd(isRising: boolean, initialized: number | undefined, word: number | undefined): number {
  const edge = isRising ? MAX_TICK : -MAX_TICK
  const ends = [initialized ?? edge, word ?? edge, edge]
  return isRising ? Math.min(...ends) : Math.max(...ends)
}

/** The last tick of the word that TickBitmap.nextInitializedTickWithinOneWord searches from `tick`. */
function wordEnd(isRising: boolean, tick: number, spacing: number | undefined): number | undefined {
  if (spacing === undefined) return undefined
  const compressed = Math.floor(tick / spacing) + (isRising ? 1 : 0)
  const first = Math.floor(compressed / WORD) * WORD
  return (isRising ? first + WORD - 1 : first) * spacing
}

function sumOf(one: RawAmounts, other: RawAmounts): RawAmounts {
  return { amount0: one.amount0 + other.amount0, amount1: one.amount1 + other.amount1 }
}

/** A step between two prices; a rising price takes token1 in and gives token0 out. */
function stepAmounts(from: bigint, to: bigint, liquidity: bigint): RawAmounts {
  const isRising = to > from
  const [low, high] = isRising ? [from, to] : [to, from]
  return {
    amount0: amount0Delta(low, high, liquidity, !isRising),
    amount1: amount1Delta(low, high, liquidity, isRising),
  }
}

/** liquidity · (1/√low − 1/√high), rounded twice as SqrtPriceMath.getAmount0Delta does. */
function amount0Delta(low: bigint, high: bigint, liquidity: bigint, isRoundedUp: boolean): bigint {
  const product = (liquidity << 96n) * (high - low)
  return isRoundedUp ? divideUp(divideUp(product, high), low) : product / high / low
}

/** liquidity · (√high − √low), as SqrtPriceMath.getAmount1Delta. */
function amount1Delta(low: bigint, high: bigint, liquidity: bigint, isRoundedUp: boolean): bigint {
  const product = liquidity * (high - low)
  return isRoundedUp ? divideUp(product, Q96) : product / Q96
}

function divideUp(numerator: bigint, denominator: bigint): bigint {
  return (numerator + denominator - 1n) / denominator
}

/**
 * √(sqrtPriceX96² · numerator / denominator), rounded down and clamped to what a swap takes as its limit. The square of the result is at most the
 * exact price, and that of the result plus 1 is more.
 */
export function sqrtPriceTimes(sqrtPriceX96: bigint, numerator: bigint, denominator: bigint): bigint {
  const root = integerRoot((sqrtPriceX96 * sqrtPriceX96 * numerator) / denominator)
  if (root < LOWEST_LIMIT) return LOWEST_LIMIT
  return root > HIGHEST_LIMIT ? HIGHEST_LIMIT : root
}

/** The largest integer whose square is at most `square`. */
export function integerRoot(square: bigint): bigint {
  if (square < 2n) return square
  // At or above the root: Newton's steps fall until they reach it.
  let root = 1n << BigInt(Math.ceil(square.toString(2).length / 2))
  for (let next = (root + square / root) >> 1n; next < root; next = (root + square / root) >> 1n) root = next
  return root
}
