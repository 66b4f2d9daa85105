import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ReadonlyGroups } from '../../../../api/lib/groups.ts'
import { listingKey } from '../../../../api/market/model/listing.ts'
import { type Catalogue, CatalogueIndex, type PoolRow } from '../../../../api/market/pools/catalogue-index.ts'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import type { PoolId } from '../../../../ingest/model/pool.ts'
import { addressOf } from '../../../support/store.ts'

const WETH = '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2'
const TOKENS = [WETH, addressOf('a1'), addressOf('a2')]
const NETWORK_LIST = [NETWORKS.ethereum, NETWORKS.base]

const row: fc.Arbitrary<PoolRow> = fc
  .record({
    network: fc.constantFrom('ethereum', 'base', 'polygon'),
    pool: fc.constantFrom('01', '02', '03', '04', '05').map(addressOf),
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
      const index = new CatalogueIndex(NETWORK_LIST)
      const left = new Map<string, PoolRow>()
      for (const step of steps) {
        const { network, pool } = 'remove' in step ? step.remove : step
        const key = `${network}:${pool}`
        if ('remove' in step) {
          index.remove(key)
          left.delete(key)
        } else if (index.put(step) !== undefined) left.set(key, step)
      }
      const fresh = new CatalogueIndex(NETWORK_LIST)
      for (const one of left.values()) fresh.put(one)
      expect(plain(index)).toStrictEqual(plain(fresh))
    }),
  )
})

test('an unchanged pool keeps its listing, and pools share the tokens that they have in common', () => {
  const index = new CatalogueIndex(NETWORK_LIST)
  const [one] = fc.sample(
    row.filter(({ network, venue }) => network === 'ethereum' && venue === 'uniswap'),
    1,
  )
  if (one === undefined) throw new Error('there is a row')
  const other = { ...one, pool: addressOf('99') }
  const listing = (id: string) => index.pools.get(listingKey('ethereum', id as PoolId))
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
function plain({ pools, pairs, tokens, tokensBySymbol, curatedBySymbol }: Catalogue) {
  const sorted = <T>(groups: ReadonlyGroups<T>, name: (one: T) => string) =>
    [...groups.keys()]
      .map((key) => [key, groups.get(key).map(name).sort()] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1))
  const id = (listing: { pool: { id: string } }) => listing.pool.id
  return {
    pools: new Map(pools),
    pairs: sorted(pairs, id),
    tokens: sorted(tokens, id),
    tokensBySymbol: sorted(tokensBySymbol, String),
    curatedBySymbol: sorted(curatedBySymbol, String),
  }
}
