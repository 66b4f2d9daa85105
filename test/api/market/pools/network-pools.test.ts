import fc from 'fast-check'
import type { Address } from 'viem'
import { expect, test } from 'vitest'
import type { Listing } from '../../../../api/market/model/listing.ts'
import { NetworkPools, type PoolRow } from '../../../../api/market/pools/network-pools.ts'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import type { PoolId } from '../../../../ingest/model/pool.ts'
import { addressOf } from '../../../support/store.ts'

const WETH = '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2'
const TOKENS: readonly Address[] = [WETH, addressOf('a1'), addressOf('a2')]
const IDS = ['01', '02', '03', '04', '05'].map(addressOf)

const SYMBOLS = ['WETH', 'ETH', 'FOO', 'BAR']

const row: fc.Arbitrary<PoolRow> = fc
  .record({
    pool: fc.constantFrom(...IDS),
    venue: fc.constantFrom('uniswap', 'uniswap', 'uniswap', 'no-venue'),
    token0: fc.constantFrom(...TOKENS),
    token1: fc.constantFrom(...TOKENS),
    symbols: fc.tuple(fc.constantFrom('WETH', 'Weth', 'FOO'), fc.constantFrom('WETH', 'BAR')),
    first_seen: fc.constantFrom(1, 2),
  })
  .filter(({ token0, token1 }) => token0 !== token1)
  .map(({ token0, token1, symbols, ...rest }) => ({
    ...rest,
    protocol: 'dex-v3',
    fee: 500,
    initial_sqrt_price: '1',
    created: 7,
    token0_address: token0,
    token0_symbol: symbols[0],
    token0_name: symbols[0],
    token0_decimals: 18,
    token1_address: token1,
    token1_symbol: symbols[1],
    token1_name: symbols[1],
    token1_decimals: 18,
  }))

test('after any puts and removals the index is the one of the pools that are left', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(row, fc.record({ remove: row })), { maxLength: 40 }), (steps) => {
      const index = new NetworkPools(NETWORKS.ethereum)
      const left = new Map<string, PoolRow>()
      for (const step of steps) {
        if ('remove' in step) {
          index.remove(step.remove.pool as PoolId)
          left.delete(step.remove.pool)
        } else if (index.put(step) !== undefined) left.set(step.pool, step)
      }
      const fresh = new NetworkPools(NETWORKS.ethereum)
      for (const one of left.values()) fresh.put(one)
      expect(plain(index)).toStrictEqual(plain(fresh))
    }),
  )
})

test('an unchanged pool keeps its listing, and pools share the tokens that they have in common', () => {
  const index = new NetworkPools(NETWORKS.ethereum)
  const [one] = fc.sample(
    row.filter(({ venue }) => venue === 'uniswap'),
    1,
  )
  if (one === undefined) throw new Error('there is a row')
  const other = { ...one, pool: addressOf('99') }
  const listing = (id: string) => index.pool(id as PoolId)
  index.put(one)
  const before = listing(one.pool)
  index.put(other)
  index.put({ ...one })
  expect(listing(one.pool)).toBe(before)
  expect(listing(other.pool)?.pool.token0).toBe(before?.pool.token0)
  index.put({ ...one, fee: 3_000 })
  expect(listing(one.pool)).not.toBe(before)
  expect(listing(one.pool)?.pool.fee).toBe(3_000)
})

/** The order in which pools came says nothing. */
function plain(index: NetworkPools) {
  const sorted = (listings: readonly Listing[]) => listings.map(({ pool }) => pool.id).sort()
  return {
    size: index.size,
    pools: IDS.map((id) => index.pool(id)),
    tokens: TOKENS.map((token) => [index.countOfToken(token), sorted(index.ofToken(token))]),
    pairs: TOKENS.map((token) => TOKENS.map((other) => sorted(index.ofPair(token, other)))),
    symbols: SYMBOLS.map((symbol) => [...index.tokensOf(symbol)].sort()),
    curated: SYMBOLS.map((symbol) => [...index.curatedTokensOf(symbol)].sort()),
  }
}
