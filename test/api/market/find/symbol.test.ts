import { describe, expect, test, vi } from 'vitest'
import { hasListed, searchesOf } from '../../../../api/market/find/symbol.ts'
import { type Catalogue, NetworkPools, type PoolRow } from '../../../../api/market/pools/network-pools.ts'
import { countPools, fewPools, type PairSearch } from '../../../../api/market/pools/pair-search.ts'
import { CROWDED } from '../../../../api/market/pools/top-pools.ts'
import { splitSymbol } from '../../../../api/query/symbol.ts'
import { NATIVE_CURRENCY, type NetworkName } from '../../../../ingest/model/network.ts'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import { addressOf } from '../../../support/store.ts'

const WETH = '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2'
const USDC = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'
const DAI = '0x6b175474e89094c44da98b954eedeac495271d0f'
const WPOL = '0x0d500b1d8e8ef31e21c99d1db9a6444d3adf1270'
const POLYGON_WETH = '0x7ceb23fd6bc0add59e62ac25578270cff1b9f619'
const POLYGON_USDC = '0x3c499c542cef5e3811e1192ce70d8cc03d5c3359'
const USDC_E = '0x2791bca1f2de4661ed88a30c99a7a9449aa84174'
const FAKE = addressOf('fa')
const HYPHEN = addressOf('f1')

type NetworkRow = PoolRow & { network: NetworkName }

function row(id: string, network: NetworkName, token0: [string, string], token1: [string, string]): NetworkRow {
  return {
    network,
    pool: addressOf(id),
    protocol: 'dex-v3',
    venue: 'uniswap',
    fee: 500,
    initial_sqrt_price: '0',
    first_seen: 0,
    created: 0,
    token0_address: token0[0],
    token0_symbol: token0[1],
    token0_name: token0[1],
    token0_decimals: 18,
    token1_address: token1[0],
    token1_symbol: token1[1],
    token1_name: token1[1],
    token1_decimals: 18,
  }
}

function catalogueOf(rows: readonly NetworkRow[]): Catalogue {
  const catalogue = new Map(Object.values(NETWORKS).map((network) => [network.name, new NetworkPools(network)]))
  for (const { network, ...row } of rows) catalogue.get(network)?.put(row)
  return catalogue
}

const catalogue = catalogueOf([
  row('a1', 'ethereum', [USDC, 'USDC'], [WETH, 'WETH']),
  row('a2', 'ethereum', [NATIVE_CURRENCY, 'ETH'], [USDC, 'USDC']),
  row('a3', 'ethereum', [WETH, 'WETH'], [FAKE, 'USDC']),
  row('a4', 'ethereum', [WETH, 'WETH'], [HYPHEN, 'LP-A']),
  row('a5', 'ethereum', [FAKE, 'A'], [HYPHEN, 'WETH-LP']),
  row('b1', 'polygon', [WPOL, 'WPOL'], [USDC_E, 'USDC']),
  row('b2', 'polygon', [NATIVE_CURRENCY, 'POL'], [POLYGON_USDC, 'USDC']),
  row('b3', 'polygon', [USDC_E, 'USDC'], [POLYGON_WETH, 'WETH']),
  row('b4', 'polygon', [WPOL, 'WPOL'], [POLYGON_WETH, 'WETH']),
])

function find(symbol: string, ...networks: NetworkName[]) {
  const { listed, unlisted, ...rest } = searchesOf(catalogue, splitSymbol(symbol), networks)
  const names = (searches: readonly PairSearch[]) =>
    searches
      .flatMap((search) => fewPools(search, CROWDED) ?? [])
      .map(({ listing, forward }) => `${listing.pool.id.slice(2, 4)}${forward ? '' : ' flipped'}`)
      .sort()
  return { listed: names(listed), unlisted: names(unlisted), ...rest }
}

test('every split of a symbol is tried', () => {
  expect(splitSymbol('A-B-C')).toEqual([
    { base: 'a', quote: 'b-c' },
    { base: 'a-b', quote: 'c' },
  ])
  expect(splitSymbol('A--B')).toEqual([
    { base: 'a', quote: '-b' },
    { base: 'a-', quote: 'b' },
  ])
})

describe('a symbol finds', () => {
  test('pools whatever their order, letter case aside', () => {
    expect(find('weth-usdc', 'ethereum').listed).toEqual(['a1 flipped'])
    expect(find('USDC-WETH', 'ethereum').listed).toEqual(['a1'])
  })
  test('wrapped and native ether for ETH, only wrapped for WETH', () => {
    expect(find('ETH-USDC', 'ethereum').listed).toEqual(['a1 flipped', 'a2'])
  })
  test('bridged ether for ETH on Polygon, whose native token has three names', () => {
    expect(find('ETH-USDC', 'polygon').listed).toEqual(['b3 flipped'])
    for (const name of ['POL', 'MATIC', 'WPOL', 'WMATIC'])
      expect(find(`${name}-USDC`, 'polygon').listed).toEqual(['b1', 'b2'])
  })
  test('a listed token by its curated name and by its name on chain', () => {
    expect(find('USDC.e-WETH', 'polygon').listed).toEqual(['b3'])
    expect(find('USDC-WETH', 'polygon').listed).toEqual(['b3'])
  })
  test('pools on all networks asked', () => {
    expect(find('ETH-USDC', 'ethereum', 'polygon').listed).toEqual(['a1 flipped', 'a2', 'b3 flipped'])
  })
  test('no impostor of a listed token', () => {
    expect(find('WETH-USDC', 'ethereum')).toMatchObject({ listed: ['a1 flipped'], unlisted: [] })
  })
  test('unlisted tokens apart, by any split', () => {
    expect(find('WETH-LP-A', 'ethereum')).toMatchObject({ listed: [], unlisted: ['a4', 'a5 flipped'] })
  })
})

test('tokens may be known without a pool', () => {
  expect(find('DAI-USDC', 'ethereum')).toMatchObject({ listed: [], tokensKnown: true })
  expect(find('DAI-NOPE', 'ethereum')).toMatchObject({ listed: [], tokensKnown: false })
  expect(catalogue.get('ethereum')?.countOfToken(DAI)).toBe(0)
})

test('two names of one token are told', () => {
  expect(find('ETH-WETH', 'ethereum').sameToken).toBe(true)
  expect(find('POL-MATIC', 'polygon').sameToken).toBe(true)
  expect(find('USDC-USDC.e', 'polygon')).toMatchObject({ listed: [], tokensKnown: true, sameToken: false })
})

/** `count` tokens of a symbol, each with a pool beside a token of `other`. */
function tokensCalled(symbol: string, count: number, other: (number: number) => [string, string]): NetworkRow[] {
  const digits = (number: number) => number.toString(16).padStart(36, '0')
  return Array.from({ length: count }, (_, number) => ({
    ...row('00', 'ethereum', [`0x0aaa${digits(number)}`, symbol], other(number)),
    pool: `0x0ccc${digits(number)}`,
  }))
}

function searchIn(catalogue: Catalogue, symbol: string): PairSearch {
  const { listed, unlisted } = searchesOf(catalogue, splitSymbol(symbol), ['ethereum'])
  const [search] = [...listed, ...unlisted]
  if (search === undefined) throw new Error(`${symbol} names tokens`)
  return search
}

/** Calls and what they return: a copy of many tokens or pools counts as many. */
function stepsOf(catalogue: Catalogue, steps: () => void): number {
  const pools = catalogue.get('ethereum')
  if (pools === undefined) throw new Error('Ethereum is served')
  let count = 0
  const names = ['ofPair', 'countOfPair', 'ofToken', 'countOfToken', 'tokensOf', 'countOfSymbol', 'isCalled'] as const
  const spies = names.map((name) => vi.spyOn(pools, name))
  steps()
  for (const { mock } of spies)
    for (const { value } of mock.results) count += Array.isArray(value) ? value.length + 1 : 1
  for (const spy of spies) spy.mockRestore()
  return count
}

test('a pair of symbols that many tokens have is found in a number of steps that grows with the pools, not with the pairs', () => {
  const SIDE = 400
  const ham = (number: number): [string, string] => [`0x0bbb${number.toString(16).padStart(36, '0')}`, 'HAM']
  const spam = catalogueOf(tokensCalled('SPAM', SIDE, ham))
  const found = (symbol: string) => fewPools(searchIn(spam, symbol), SIDE) ?? []
  expect(found('SPAM-HAM').map(({ forward }) => forward)).toEqual(Array(SIDE).fill(true))
  expect(found('HAM-SPAM').map(({ forward }) => forward)).toEqual(Array(SIDE).fill(false))
  expect(stepsOf(spam, () => found('SPAM-HAM'))).toBeLessThan(10 * SIDE)
})

test('neither the pools of a pair nor the tokens of a symbol are visited one by one where they are 20,000', () => {
  const MANY = 20_000
  const crowd = catalogueOf([
    ...tokensCalled('SPAM', MANY, () => [WETH, 'WETH']),
    ...tokensCalled('USDC', MANY, () => [WETH, 'WETH']).map((it) => ({
      ...it,
      pool: it.pool.replace('0x0ccc', '0x0ddd'),
      token0_address: USDC,
    })),
  ])
  const steps = stepsOf(crowd, () => {
    const listed = searchIn(crowd, 'WETH-USDC')
    expect(fewPools(listed, CROWDED)).toBeUndefined()
    expect(countPools(listed)).toBe(MANY)
    expect(hasListed(searchesOf(crowd, splitSymbol('WETH-USDC'), ['ethereum']))).toBe(true)
    expect(fewPools(searchIn(crowd, 'SPAM-DAI'), CROWDED)).toEqual([])
    for (const symbol of ['SPAM-WETH', 'WETH-SPAM', 'SPAM-SPAM-WETH', 'SPAM-USDC'])
      for (const search of searchesOf(crowd, splitSymbol(symbol), ['ethereum']).unlisted)
        expect(fewPools(search, CROWDED)).toBeUndefined()
  })
  expect(steps).toBeLessThan(200)
})
