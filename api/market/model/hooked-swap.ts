/** Amounts that a hook of v4 gave or took beside a swap, and the price that the account paid in all. */
import { hasHookDeltas } from '../../../ingest/model/pool.ts'
import { executionPrice } from '../../../ingest/pricing/price.ts'
import { decimalText } from '../../lib/decimal.ts'
import { type TickView, viewPrice } from './orientation.ts'

export type HookFields = { hookAmount0: string | null; hookAmount1: string | null; effectivePrice: number | null }

/** In the order of the view. A hook that may take or give, and says nothing, may have done either: that is null. */
export function hookFields({ swap, price }: Pick<TickView, 'swap' | 'price'>): HookFields {
  const { view, amount0, amount1, hookAmount0, hookAmount1 } = swap
  const { pool } = view.listing
  if (hookAmount0 === null && hasHookDeltas(pool)) return { hookAmount0: null, hookAmount1: null, effectivePrice: null }
  const { token0, token1 } = pool
  const [hook0, hook1] = [BigInt(hookAmount0 ?? 0), BigInt(hookAmount1 ?? 0)]
  const [paid0, paid1] = [amount0 + hook0, amount1 + hook1]
  const decimals = { decimals0: token0.decimals, decimals1: token1.decimals }
  // Who pays both, or receives both, pays no price.
  const isTrade = paid0 > 0n !== paid1 > 0n
  const paid = isTrade ? executionPrice(paid0, paid1, decimals) : undefined
  const texts = [decimalText(hook0, token0.decimals), decimalText(hook1, token1.decimals)] as const
  const isOwn = hook0 === 0n && hook1 === 0n
  return {
    hookAmount0: texts[view.forward ? 0 : 1],
    hookAmount1: texts[view.forward ? 1 : 0],
    // A swap without a part of the hook has the price of the tick, also where that is the pool's own.
    effectivePrice: paid !== undefined ? viewPrice(view.forward, paid) : isOwn ? price : null,
  }
}
