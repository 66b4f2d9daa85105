/** Tokens that change their name at their address, on a real node: the new name is shown everywhere, and the old one still finds them. */
import { type Address, encodeDeployData, encodeFunctionData, getContractAddress, type Hex, parseAbi } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createReread, type RereadStep } from '../../aggregator/names/reread.ts'
import { ask } from '../../aggregator/store/store.ts'
import { namedTokens } from '../../aggregator/store/stored-tokens.ts'
import { compileSolidity } from '../../infra/devnet/contracts/compile.ts'
import { factoryAbi, tokenAbi, v3PoolAbi } from '../../infra/devnet/contracts/contracts.ts'
import type { DevMarket } from '../../infra/devnet/market/market.ts'
import { marketsOf } from '../../infra/devnet/market/open-markets.ts'
import { connectChain } from '../../infra/rpc/chain-client.ts'
import type { IngestFact } from '../../ingest/model/fact.ts'
import { Candles, Pools, Ticks } from '../api/body.ts'
import { type Service, startService } from '../api/service.ts'
import { deployMarkets, type MinedBlock, startAnvil, type TestAnvil, type TestMarkets } from '../support/anvil.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { openPipeline, type Pipeline } from '../support/pipeline.ts'

const SOURCES = ['../fixtures/contracts/Names.sol', '../../infra/devnet/contracts/Tokens.sol']
const abi = parseAbi([
  'constructor(string name, string symbol)',
  'function rename(string name, string symbol)',
  'function setDecimals(uint8 decimals)',
  'function changeEachBlock()',
])
const Q96 = 2n ** 96n
/** Further than the blocks by which anvil's final block is behind. */
const FINAL_AFTER = 3

type Renamed = { address: Address; pool: DevMarket }

describe.skipIf(withoutClickHouse)('a token that is renamed at its address', () => {
  let anvil: TestAnvil
  let markets: TestMarkets
  let database: TestDatabase
  let pipeline: Pipeline
  let service: Service
  let step: RereadStep
  let bytecode: Hex
  let tip: MinedBlock
  const facts: IngestFact[] = []

  beforeAll(async () => {
    ;[anvil, database] = await Promise.all([startAnvil({ slotsInAnEpoch: 1 }), freshDatabase()])
    markets = await deployMarkets(anvil)
    const compiled = await compileSolidity(SOURCES.map((file) => new URL(file, import.meta.url)))
    bytecode = compiled['RenamedToken']?.bytecode ?? '0x'
    pipeline = await openPipeline({ network: markets.network, url: anvil.wsUrl, database })
    await markets.swap(markets.market('v3 USDC/WETH 500'), { zeroForOne: true, amount: 1_000_000n })
    await mine()
    service = await serve()
    step = reread()
  })

  afterAll(async () => {
    await service?.stop()
    await pipeline?.stop()
    await anvil?.stop()
    await database?.drop()
  })

  function serve(): Promise<Service> {
    const clock = () => new Date((tip.timestamp + 60) * 1_000)
    return startService({ client: database.client, networks: [markets.network], clock })
  }

  /** Without rests, so that each step reads all tokens. */
  function reread(urls: readonly string[] = [anvil.httpUrl]): RereadStep {
    const { network } = markets
    const { endpoints } = connectChain(urls, { network })
    const report = (fact: IngestFact) => void facts.push(fact)
    return createReread(database.client, endpoints, {
      network,
      shards: [database.client],
      restMs: 0,
      renameRestMs: 0,
      report,
    })
  }

  async function mine(blocks = 1): Promise<void> {
    tip = (await anvil.mine(blocks)).at(-1) as MinedBlock
    await pipeline.untilStored(tip)
  }

  /** Reads names at a final block that has all that was sent. */
  async function readAgain(): Promise<void> {
    await mine(FINAL_AFTER)
    await step()
  }

  async function send(data: Hex, to?: Address): Promise<void> {
    await anvil.chain.send([{ from: anvil.chain.accounts[0], ...(to && { to }), data }])
  }

  const rename = ({ address }: Renamed, symbol: string) =>
    send(encodeFunctionData({ abi, functionName: 'rename', args: [symbol, symbol] }), address)

  /** A token with a pool against WETH that holds enough to be trusted. */
  async function deploy(symbol: string, fee = 3000, depth = 10n ** 20n): Promise<Renamed> {
    const from = anvil.chain.accounts[0]
    const [count] = await anvil.rpc([{ method: 'eth_getTransactionCount', params: [from, 'pending'] }])
    await send(encodeDeployData({ abi, bytecode, args: [symbol, symbol] }))
    const address = getContractAddress({ from, nonce: BigInt(count as Hex) }).toLowerCase() as Address
    return { address, pool: await openPool(address, fee, depth) }
  }

  async function openPool(address: Address, fee: number, depth = 10n ** 20n): Promise<DevMarket> {
    const { deployment } = markets
    const token = { symbol: 'RENAMED', name: '', decimals: 18, shape: 'plain', address } as const
    const weth = deployment.tokens.find(({ symbol }) => symbol === 'WETH')
    const pair = weth && BigInt(address) < BigInt(weth.address) ? ['RENAMED', 'WETH'] : ['WETH', 'RENAMED']
    const plan = { protocol: 'v3', pair: pair as [string, string], fee, tickSpacing: 60, depth: [] } as const
    const [market] = marketsOf([plan], { ...deployment, tokens: [...deployment.tokens, token] })
    if (!market) throw new Error('a plan makes a market')
    const { token0, token1 } = market
    const args = [token0.address, token1.address, fee] as const
    await send(encodeFunctionData({ abi: factoryAbi, functionName: 'createPool', args }), deployment.factory)
    await send(encodeFunctionData({ abi: v3PoolAbi, functionName: 'initialize', args: [Q96] }), market.id)
    await send(
      encodeFunctionData({ abi: tokenAbi, functionName: 'mint', args: [deployment.router, 2n ** 100n] }),
      address,
    )
    await markets.mint(market, { tickLower: -6_000, tickUpper: 6_000, liquidity: depth })
    await markets.swap(market, { zeroForOne: true, amount: 10n ** 15n })
    return market
  }

  async function poolsOf(pair: string, of = service) {
    const { status, body } = await of.get(`/v0/pools?symbol=${encodeURIComponent(pair)}`)
    if (status !== 200) return (body as { error?: { code?: string } }).error?.code ?? status
    return Pools.parse(body).data.map(({ id }) => id)
  }

  async function shownIn({ address, pool }: Renamed, of = service): Promise<string | undefined> {
    const { body } = await of.get(`/v0/pools?pool=${pool.id}`)
    const [{ token0, token1 } = { token0: undefined, token1: undefined }] = Pools.parse(body).data
    return [token0, token1].find((token) => token?.address === address)?.symbol
  }

  /** Names beside WETH. */
  async function pairsInView(view: string, { pool }: Renamed): Promise<string[]> {
    const query = `SELECT DISTINCT pair FROM ${view} WHERE pool = {pool:String}`
    const rows = await ask<{ pair: string }>(database.client, query, { pool: pool.id })
    return rows.map(({ pair }) => pair.replace(/^WETH-|-WETH$/, ''))
  }

  function namesStored({ address }: Renamed): Promise<{ symbol: string; former: string[] }[]> {
    const query = 'SELECT symbol, former FROM token_names FINAL WHERE token = {token:String}'
    return ask(database.client, query, { token: address })
  }

  const renames = (address: Address) =>
    facts.filter((fact) => fact.kind === 'token-renamed' && fact.token === address).length

  test('has the new name wherever it is shown, and both names find it', async () => {
    const token = await deploy('GOVN')
    await mine()
    expect(await poolsOf('GOVN-WETH')).toEqual([token.pool.id])
    await rename(token, 'SKYN')
    await readAgain()
    expect(await shownIn(token)).toBe('GOVN')
    await readAgain()
    expect(renames(token.address)).toBe(1)

    const check = async (of: Service) => {
      expect(await shownIn(token, of)).toBe('SKYN')
      for (const pair of ['SKYN-WETH', 'WETH-SKYN', 'GOVN-WETH']) {
        expect(await poolsOf(pair, of)).toEqual([token.pool.id])
        const candles = await of.get(`/v0/candles?symbol=${pair}&interval=1m`)
        expect(Candles.parse(candles.body).data.length).toBeGreaterThan(0)
        const shown = pair.startsWith('WETH') ? 'WETH-SKYN' : 'SKYN-WETH'
        expect(candles.headers.get('x-market-pair')).toBe(shown)
        const [tick] = Ticks.parse((await of.get(`/v0/ticks?symbol=${pair}`)).body).data
        expect([tick?.token0, tick?.token1].join('-')).toBe(shown)
      }
    }
    await check(service)
    const restarted = await serve()
    await check(restarted)
    await restarted.stop()
    expect(await pairsInView('market_pools', token)).toEqual(['SKYN'])
    expect(await pairsInView('market_ticks', token)).toEqual(['SKYN'])
  })

  test('keeps its name and its decimals in a pool that a restart meets', async () => {
    const token = await deploy('OLDN')
    await mine()
    await rename(token, 'NEWN')
    await send(encodeFunctionData({ abi, functionName: 'setDecimals', args: [6] }), token.address)
    await mine()
    await pipeline.stop()
    pipeline = await openPipeline({ network: markets.network, url: anvil.wsUrl, database })
    const pool = await openPool(token.address, 500)
    await mine()
    const other = { address: token.address, pool }
    expect([await shownIn(token), await shownIn(other)]).toEqual(['OLDN', 'OLDN'])
    const [stored] = await namedTokens(database.client, 'ethereum', [token.address])
    expect(stored).toMatchObject({ token: { symbol: 'OLDN', decimals: 18 }, isOne: true })
    const { body } = await service.get(`/v0/pools?pool=${pool.id}`)
    const [shown] = Pools.parse(body).data
    expect([shown?.token0.decimals, shown?.token1.decimals]).toEqual([18, 18])

    // Its answers are not used while its decimals differ, and it is blamed once.
    for (let reading = 0; reading < 3; reading++) await readAgain()
    expect(await shownIn(token)).toBe('OLDN')
    const blames = facts.filter((fact) => fact.kind === 'decimals-changed')
    expect(blames).toEqual([
      {
        kind: 'decimals-changed',
        network: 'ethereum',
        token: token.address,
        symbol: 'OLDN',
        decimals: 18,
        answered: 6,
      },
    ])
    await send(encodeFunctionData({ abi, functionName: 'setDecimals', args: [18] }), token.address)
    for (let reading = 0; reading < 2; reading++) await readAgain()
    expect([await shownIn(token), await shownIn(other)]).toEqual(['NEWN', 'NEWN'])
    expect((await poolsOf('OLDN-WETH')).toString()).toContain(pool.id)
  })

  test('has no new name while that changes with each block', async () => {
    const token = await deploy('CHURN')
    await mine()
    await send(encodeFunctionData({ abi, functionName: 'changeEachBlock' }), token.address)
    for (let reading = 0; reading < 5; reading++) await readAgain()
    expect(renames(token.address)).toBe(0)
    expect(await shownIn(token)).toBe('CHURN')
    expect(await namesStored(token)).toEqual([])
  })

  test('does not count as a listed token, neither by a copied symbol nor by one that it had before', async () => {
    const token = await deploy('HONEST')
    await mine()
    const listed = await poolsOf('USDC-WETH')
    for (const symbol of ['USDC', 'USDC\u200b', 'AFTER']) {
      await rename(token, symbol)
      for (let reading = 0; reading < 2; reading++) await readAgain()
      expect(await shownIn(token)).toBe(symbol.replace('\u200b', ''))
      expect(await poolsOf('USDC-WETH')).toEqual(listed)
    }
    // No pool of the listed USDC has this token.
    expect(await poolsOf('USDC-HONEST')).toEqual([])
    expect(await poolsOf('HONEST-WETH')).toEqual([token.pool.id])
    expect(await namesStored(token)).toEqual([{ symbol: 'AFTER', former: ['USDC', 'HONEST'] }])
  })

  test('is not found by an old name before a token that has it now', async () => {
    const token = await deploy('FIRST')
    await mine()
    await rename(token, 'MOVED')
    for (let reading = 0; reading < 2; reading++) await readAgain()
    expect(await poolsOf('FIRST-WETH')).toEqual([token.pool.id])
    // One whose pool holds next to nothing does not take the name.
    const dust = await deploy('FIRST', 3000, 10n ** 12n)
    await mine()
    expect(await poolsOf('FIRST-WETH')).toEqual([token.pool.id])
    const bearer = await deploy('FIRST')
    await mine()
    expect(await poolsOf('FIRST-WETH')).toEqual([bearer.pool.id])
    expect(await shownIn(dust)).toBe('FIRST')
    // With its pool the old name gives the direction.
    const { headers } = await service.get(`/v0/candles?symbol=WETH-FIRST&pool=${token.pool.id}&interval=1m`)
    expect(headers.get('x-market-pair')).toBe('WETH-MOVED')
  })

  test('keeps four old names, however often it changes', async () => {
    const token = await deploy('N0')
    await mine()
    for (let index = 1; index <= 6; index++) {
      await rename(token, `N${index}`)
      for (let reading = 0; reading < 2; reading++) await readAgain()
    }
    expect(await namesStored(token)).toEqual([{ symbol: 'N6', former: ['N5', 'N4', 'N3', 'N2'] }])
    expect(await poolsOf('N1-WETH')).toEqual([])
    expect(await poolsOf('N2-WETH')).toEqual([token.pool.id])
  })
})
