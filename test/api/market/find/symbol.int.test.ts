import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { countListed, searchesOf } from '../../../../api/market/find/symbol.ts'
import { countPools, fewPools, type PairSearch } from '../../../../api/market/pools/pair-search.ts'
import { openPools, type PoolLookups } from '../../../../api/market/pools/pool-lookups.ts'
import { CROWDED } from '../../../../api/market/pools/top-pools.ts'
import { splitSymbol } from '../../../../api/query/symbol.ts'
import { NATIVE_CURRENCY, type NetworkName } from '../../../../ingest/model/network.ts'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { insertMany, insertPoolRows, poolRow as row } from '../../../support/pool-rows.ts'
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

const ROWS = [
  row('a1', 'ethereum', [USDC, 'USDC'], [WETH, 'WETH']),
  row('a2', 'ethereum', [NATIVE_CURRENCY, 'ETH'], [USDC, 'USDC']),
  row('a3', 'ethereum', [WETH, 'WETH'], [FAKE, 'USDC']),
  row('a4', 'ethereum', [WETH, 'WETH'], [HYPHEN, 'LP-A']),
  row('a5', 'ethereum', [FAKE, 'A'], [HYPHEN, 'WETH-LP']),
  row('b1', 'polygon', [WPOL, 'WPOL'], [USDC_E, 'USDC']),
  row('b2', 'polygon', [NATIVE_CURRENCY, 'POL'], [POLYGON_USDC, 'USDC']),
  row('b3', 'polygon', [USDC_E, 'USDC'], [POLYGON_WETH, 'WETH']),
  row('b4', 'polygon', [WPOL, 'WPOL'], [POLYGON_WETH, 'WETH']),
]

describe('the splits of a symbol', () => {
  test('are all tried', () => {
    expect(splitSymbol('A-B-C')).toEqual([
      { base: 'a', quote: 'b-c' },
      { base: 'a-b', quote: 'c' },
    ])
    expect(splitSymbol('A--B')).toEqual([
      { base: 'a', quote: '-b' },
      { base: 'a-', quote: 'b' },
    ])
  })
})

describe.skipIf(withoutClickHouse)('a symbol', () => {
  let database: TestDatabase
  let pools: PoolLookups

  beforeAll(async () => {
    database = await freshDatabase()
    await insertPoolRows(database.client, ROWS)
    pools = openPools(database.client, Object.values(NETWORKS), 60_000)
    await pools.refresh()
  })
  afterAll(() => database?.drop())

  async function find(symbol: string, ...networks: NetworkName[]) {
    const { listed, unlisted, ...rest } = await searchesOf(pools, splitSymbol(symbol), networks)
    return { listed: await namesOf(listed), unlisted: await namesOf(unlisted), ...rest }
  }

  async function namesOf(searches: readonly PairSearch[]) {
    const found = await Promise.all(searches.map((search) => fewPools(pools, search, CROWDED)))
    return found
      .flatMap((matches) => matches ?? [])
      .map(({ listing, forward }) => `${listing.pool.id.slice(2, 4)}${forward ? '' : ' flipped'}`)
      .sort()
  }

  test('finds pools whatever their order, letter case aside', async () => {
    expect((await find('weth-usdc', 'ethereum')).listed).toEqual(['a1 flipped'])
    expect((await find('USDC-WETH', 'ethereum')).listed).toEqual(['a1'])
  })

  test('finds wrapped and native ether for ETH, only wrapped for WETH', async () => {
    expect((await find('ETH-USDC', 'ethereum')).listed).toEqual(['a1 flipped', 'a2'])
  })

  test('finds bridged ether for ETH on Polygon, whose native token has three names', async () => {
    expect((await find('ETH-USDC', 'polygon')).listed).toEqual(['b3 flipped'])
    for (const name of ['POL', 'MATIC', 'WPOL', 'WMATIC'])
      expect((await find(`${name}-USDC`, 'polygon')).listed).toEqual(['b1', 'b2'])
  })

  test('finds a listed token by its curated name and by its name on chain', async () => {
    expect((await find('USDC.e-WETH', 'polygon')).listed).toEqual(['b3'])
    expect((await find('USDC-WETH', 'polygon')).listed).toEqual(['b3'])
  })

  test('finds pools on all networks that are asked for', async () => {
    expect((await find('ETH-USDC', 'ethereum', 'polygon')).listed).toEqual(['a1 flipped', 'a2', 'b3 flipped'])
  })

  test('finds no impostor of a listed token', async () => {
    expect(await find('WETH-USDC', 'ethereum')).toMatchObject({ listed: ['a1 flipped'], unlisted: [] })
  })

  test('finds unlisted tokens apart, by any split', async () => {
    expect(await find('WETH-LP-A', 'ethereum')).toMatchObject({ listed: [], unlisted: ['a4', 'a5 flipped'] })
  })

  test('may name tokens that are known without a pool', async () => {
    expect(await find('DAI-USDC', 'ethereum')).toMatchObject({ listed: [], tokensKnown: true })
    expect(await find('DAI-NOPE', 'ethereum')).toMatchObject({ listed: [], tokensKnown: false })
  })

  test('is told apart where it names one token twice', async () => {
    expect((await find('ETH-WETH', 'ethereum')).sameToken).toBe(true)
    expect((await find('POL-MATIC', 'polygon')).sameToken).toBe(true)
    expect(await find('USDC-USDC.e', 'polygon')).toMatchObject({ listed: [], tokensKnown: true, sameToken: false })
  })

  test('stands for its tokens where these are 20,000, so that nothing of them is visited one by one', async () => {
    const MANY = 20_000
    await insertMany(database.client, { symbol: 'SPAM', tokens: MANY, pools: MANY, other: [WETH, 'WETH'] })
    await insertMany(database.client, { symbol: 'DAI', tokens: 1, pools: MANY, other: [WETH, 'WETH'], token: DAI })
    const crowd = openPools(database.client, [NETWORKS.ethereum], 60_000)
    await crowd.refresh()
    const on = crowd.on('ethereum')
    const searches = async (symbol: string) => searchesOf(crowd, splitSymbol(symbol), ['ethereum'])
    const [listed] = (await searches('WETH-DAI')).listed
    if (listed === undefined) throw new Error('WETH-DAI names listed tokens')
    expect(await fewPools(crowd, listed, CROWDED)).toBeUndefined()
    expect(await countPools(crowd, listed)).toBe(MANY)
    expect(await countListed(crowd, await searches('WETH-DAI'))).toBe(MANY)
    expect(await on?.called('spam')).toMatchObject({ now: [], areMany: true })
    for (const symbol of ['SPAM-WETH', 'WETH-SPAM', 'SPAM-SPAM-WETH', 'SPAM-USDC'])
      for (const search of (await searches(symbol)).unlisted)
        expect(await fewPools(crowd, search, CROWDED)).toBeUndefined()
  })
})
