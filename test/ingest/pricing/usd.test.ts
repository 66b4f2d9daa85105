import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { NATIVE_CURRENCY } from '../../../ingest/model/network.ts'
import { NETWORKS } from '../../../ingest/model/networks.ts'
import type { Pool, Token } from '../../../ingest/model/pool.ts'
import { UsdPrices } from '../../../ingest/pricing/usd.ts'
import { DAY_POOL } from '../../support/recorded.ts'

const token = (address: string, decimals: number, symbol = ''): Token => ({
  address: address.toLowerCase() as Token['address'],
  symbol,
  name: symbol,
  decimals,
})
const usdc = token('0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48', 6)
const dai = token('0x6B175474E89094C44Da98b954EedeAC495271d0F', 18)
const weth = token('0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2', 18)
const eth = token(NATIVE_CURRENCY, 18)
const dog = token('0x00000000000000000000000000000000000000d0', 18)
const pool = (token0: Token, token1: Token, id: string = '0x01'): Pool => ({
  id: id as Pool['id'],
  protocol: 'dex-v3',
  token0,
  token1,
  fee: 500,
  initialSqrtPriceX96: 0n,
})
const reference = pool(usdc, weth, DAY_POOL)

/** sqrt(WETH per USDC in raw units) · 2^96 at 2,500 USDC a WETH: sqrt(4 · 10^8) = 20,000. */
const AT_2500 = 20_000n * 2n ** 96n
const AT_10000 = 10_000n * 2n ** 96n
const ONE_ETH = 10n ** 18n

describe('what a swap was worth in US dollars', () => {
  test('a stablecoin leg is worth a dollar a coin, whatever its decimals', () => {
    const usd = new UsdPrices(NETWORKS.ethereum)
    expect(usd.amountUsdMicros(pool(dog, usdc), { amount0: 5n, amount1: -12_345_678n })).toBe(12_345_678n)
    expect(usd.amountUsdMicros(pool(dai, dog), { amount0: 25n * 10n ** 17n, amount1: -1n })).toBe(2_500_000n)
  })

  test('wrapped and native currency are worth the spot price after the latest swap of their reference pool', () => {
    const usd = new UsdPrices(NETWORKS.ethereum)
    usd.observe(reference, AT_2500, 100)
    expect(usd.amountUsdMicros(pool(dog, weth), { amount0: 1n, amount1: -ONE_ETH })).toBe(2_500_000_000n)
    expect(usd.amountUsdMicros(pool(eth, dog), { amount0: -ONE_ETH, amount1: 1n })).toBe(2_500_000_000n)
    usd.observe(reference, AT_10000, 100)
    expect(usd.amountUsdMicros(pool(dog, weth), { amount0: 1n, amount1: -ONE_ETH })).toBe(10_000_000_000n)
  })

  test('two known legs count with their mean, none with 0', () => {
    const usd = new UsdPrices(NETWORKS.ethereum)
    usd.observe(reference, AT_2500, 100)
    expect(usd.amountUsdMicros(reference, { amount0: 2_400_000_000n, amount1: -ONE_ETH })).toBe(2_450_000_000n)
    expect(usd.amountUsdMicros(reference, { amount0: 2_400_000_001n, amount1: -ONE_ETH })).toBe(2_450_000_001n)
    expect(usd.amountUsdMicros(pool(dog, dog), { amount0: 1n, amount1: -1n })).toBe(0n)
  })

  test('values are the same as by exact arithmetic alone, to the nearest, a half upwards', () => {
    const usd = new UsdPrices(NETWORKS.ethereum)
    const sizes = fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 128n }), fc.bigInt({ min: 0n, max: 10n ** 20n }))
    const roots = fc.oneof(fc.bigInt({ min: 2n ** 100n, max: 2n ** 120n }), fc.constant(AT_2500))
    fc.assert(
      fc.property(sizes, roots, (size, root) => {
        usd.observe(reference, root, 100)
        const [numerator, denominator] = [size * 2n ** 192n, root * root]
        const exact = (numerator * 2n + denominator) / (denominator * 2n)
        expect(usd.amountUsdMicros(pool(dog, weth), { amount0: 1n, amount1: -size })).toBe(exact)
      }),
      { numRuns: 3_000 },
    )
  })

  test('only stablecoins count before the reference pool has shown a price', () => {
    const usd = new UsdPrices(NETWORKS.ethereum)
    expect(usd.unknown()).toEqual([DAY_POOL])
    expect(usd.amountUsdMicros(reference, { amount0: 2_400_000_000n, amount1: -ONE_ETH })).toBe(2_400_000_000n)
  })

  test('an unknown token’s own pool prices nothing, nor does a reference pool of no stablecoin', () => {
    const usd = new UsdPrices(NETWORKS.ethereum)
    usd.observe(pool(dog, usdc), AT_2500, 100)
    usd.observe(pool(dog, weth, DAY_POOL), AT_2500, 100)
    expect(usd.amountUsdMicros(pool(dog, weth), { amount0: ONE_ETH, amount1: -ONE_ETH })).toBe(0n)
  })

  test('a rollback takes back what it undid, and finality keeps what a rollback may need', () => {
    const usd = new UsdPrices(NETWORKS.ethereum)
    const worth = () => usd.amountUsdMicros(pool(dog, weth), { amount0: 1n, amount1: ONE_ETH })
    usd.observe(reference, AT_2500, 100)
    usd.observe(reference, AT_10000, 105)
    usd.finalize(104)
    usd.rollBack(104)
    expect(worth()).toBe(2_500_000_000n)
  })

  test('Polygon prices both its own wrapped currency and bridged WETH', () => {
    expect(new UsdPrices(NETWORKS.polygon).unknown()).toHaveLength(2)
  })
})
