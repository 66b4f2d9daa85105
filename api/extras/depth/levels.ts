/** The levels of a pool's depth: for each percentage the amounts of a buy and of a sell, in the order of the view. */
import type { Pool, Token } from '../../../ingest/model/pool.ts'
import { decimalNumber, decimalText, plainText } from '../../lib/decimal.ts'
import { tickAtSqrtPrice } from '../../market/pools/tick-math.ts'
import type { DepthMap, DepthRange } from './depth-state.ts'
import { amountsTo, type RawAmounts, sqrtPriceTimes, type WalkStart } from './swap-walk.ts'

/** Decimal text of whole tokens, exact; `usd` is null where neither token has a price. */
export type DepthAmounts = { base: string; quote: string; usd: number | null }

/** `buy`: takers buy `base` and pay `quote`; `sell`: they sell `base` and receive `quote`. */
export type DepthLevel = { percent: number; buy: DepthAmounts; sell: DepthAmounts }

/** In tenths of a per cent, ascending: 1 is 0.1 %. */
const TENTHS = [1n, 5n, 10n, 20n, 50n]
const WHOLE = 1_000n

/** Square roots of the prices at which the swaps end, nearest first. */
type DepthTargets = { buy: readonly bigint[]; sell: readonly bigint[] }

/** A price of the inverse pair that rises by p is a price of the pool that falls to 1 / (1 + p). */
export function targetsOf(sqrtPriceX96: bigint, forward: boolean): DepthTargets {
  const at = (factor: bigint) =>
    forward ? sqrtPriceTimes(sqrtPriceX96, factor, WHOLE) : sqrtPriceTimes(sqrtPriceX96, WHOLE, factor)
  // At the ends of the range a limit may be on the other side: nothing is left to trade there.
  const above = (target: bigint) => (target < sqrtPriceX96 ? sqrtPriceX96 : target)
  const below = (target: bigint) => (target > sqrtPriceX96 ? sqrtPriceX96 : target)
  const [rising, falling] = forward ? [above, below] : [below, above]
  return {
    buy: TENTHS.map((tenths) => rising(at(WHOLE + tenths))),
    sell: TENTHS.map((tenths) => falling(at(WHOLE - tenths))),
  }
}

/** The ticks that swaps to these targets can cross. */
export function rangeOf({ buy, sell }: DepthTargets): DepthRange {
  const ticks = [...buy, ...sell].map(tickAtSqrtPrice)
  return { from: Math.min(...ticks), to: Math.max(...ticks) }
}

type DepthView = {
  pool: Pool
  forward: boolean
  spacing: number | undefined
  /** Dollars for a whole token. */
  usdOf(token: Token): number | undefined
}

/** Undefined where the liquidity is not that of a pool. */
export function levelsOf(
  start: Omit<WalkStart, 'liquidity'>,
  { liquidity, ticks }: DepthMap,
  targets: DepthTargets,
  view: DepthView,
): readonly DepthLevel[] | undefined {
  const { spacing } = view
  const [buys, sells] = [targets.buy, targets.sell].map((side) =>
    amountsTo({ ...start, liquidity }, side, { ticks, spacing }),
  )
  if (!buys || !sells) return undefined
  const amounts = (raw: RawAmounts | undefined) => viewAmounts(view, raw ?? { amount0: 0n, amount1: 0n })
  return TENTHS.map((tenths, index) => ({
    percent: Number(tenths) / 10,
    buy: amounts(buys[index]),
    sell: amounts(sells[index]),
  }))
}

function viewAmounts({ pool, forward, usdOf }: DepthView, { amount0, amount1 }: RawAmounts): DepthAmounts {
  const [first, second] = [
    { token: pool.token0, raw: amount0 },
    { token: pool.token1, raw: amount1 },
  ]
  const [base, quote] = forward ? [first, second] : [second, first]
  const usd = [quote, base].flatMap(({ token, raw }) => {
    const price = usdOf(token)
    return price === undefined ? [] : [decimalNumber(raw, token.decimals) * price]
  })[0]
  return {
    base: decimalText(base.raw, base.token.decimals),
    quote: decimalText(quote.raw, quote.token.decimals),
    usd: usd === undefined ? null : Number(plainText(usd)),
  }
}
