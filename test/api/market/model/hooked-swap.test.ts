/** The amounts of a hook, and the price with them, in both directions of a pair. */
import { expect, test } from 'vitest'
import { hookFields } from '../../../../api/market/model/hooked-swap.ts'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import type { Pool } from '../../../../ingest/model/pool.ts'
import { POOLS } from '../../scenario.ts'

const HOOK = `0x${'0'.repeat(39)}4` as const
const OTHER_HOOK = `0x${'0'.repeat(38)}80` as const
const DOLLAR = 10n ** 6n
const ETHER = 10n ** 18n

type Amounts = readonly [amount0: bigint, amount1: bigint, hook0?: bigint, hook1?: bigint]

/** The pool is of USDC (6 decimals) and WETH (18). Without amounts of the hook, it said nothing. */
function fieldsOf([amount0, amount1, hook0, hook1]: Amounts, hooks: Pool['hooks'], forward = true) {
  const token = (decimals: number) => ({ ...POOLS.main.token0, decimals })
  const { hooks: _, ...main } = POOLS.main
  const pool: Pool = { ...main, token0: token(6), token1: token(18), ...(hooks && { hooks }) }
  const view = { listing: { network: NETWORKS.ethereum, created: undefined, firstSeen: 0, pool }, forward }
  const text = (amount: bigint | undefined) => (amount === undefined ? null : String(amount))
  const swap = { view, amount0, amount1, hookAmount0: text(hook0), hookAmount1: text(hook1) }
  const { hookAmount0, hookAmount1, effectivePrice } = hookFields({ swap, price: 7 })
  return [hookAmount0, hookAmount1, effectivePrice]
}

test.each<[string, Amounts, Pool['hooks'], (string | number | null)[]]>([
  ['a pool without a hook', [-2_000n * DOLLAR, ETHER], undefined, ['0', '0', 0.0005]],
  ['a hook without the right', [-2_000n * DOLLAR, ETHER], OTHER_HOOK, ['0', '0', 0.0005]],
  ['a hook that said nothing', [-2_000n * DOLLAR, ETHER], HOOK, [null, null, null]],
  ['a fee of the output', [-2_000n * DOLLAR, ETHER, 0n, -ETHER / 2n], HOOK, ['0', '-0.5', 0.00025]],
  ['a fee of the input', [-2_000n * DOLLAR, ETHER, -2_000n * DOLLAR, 0n], HOOK, ['-2000', '0', 0.00025]],
  ['a whole trade', [0n, 0n, 2_000n * DOLLAR, -ETHER], HOOK, ['2000', '-1', 0.0005]],
  ['nothing, as the hook says', [-2_000n * DOLLAR, ETHER, 0n, 0n], HOOK, ['0', '0', 0.0005]],
  ['an input without an output', [0n, 0n, -2_000n * DOLLAR, 0n], HOOK, ['-2000', '0', null]],
  ['the whole output', [-2_000n * DOLLAR, ETHER, 0n, -ETHER], HOOK, ['0', '-1', null]],
  ['more than the output', [-2_000n * DOLLAR, ETHER, 0n, -2n * ETHER], HOOK, ['0', '-2', null]],
  ['more than a swap costs', [-2_000n * DOLLAR, ETHER, 3_000n * DOLLAR, 0n], HOOK, ['3000', '0', null]],
  ['a leg of few units', [-5n, ETHER, -5n, 0n], HOOK, ['-0.000005', '0', null]],
  ['a leg of few units, and the price of the pool', [-5n, ETHER], undefined, ['0', '0', 7]],
  ['a swap of nothing', [0n, 0n], undefined, ['0', '0', 7]],
])('%s', (_, amounts, hooks, expected) => {
  expect(fieldsOf(amounts, hooks)).toEqual(expected)
  const [hook0 = null, hook1 = null, price = null] = expected
  const inverse = typeof price === 'number' && price !== 7 ? 1 / price : price
  expect(fieldsOf(amounts, hooks, false)).toEqual([hook1, hook0, inverse])
})
