/** Tokens and pools made to do harm, on a real node: each is read or skipped, and none takes anything else with it. */
import {
  type Address,
  encodeAbiParameters,
  encodeDeployData,
  encodeFunctionData,
  erc20Abi,
  getContractAddress,
  type Hex,
  parseAbi,
  parseAbiParameters,
  stringToHex,
  toFunctionSelector,
} from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readBytecode } from '../../infra/devnet/contracts/compile.ts'
import { factoryAbi, tokenAbi, v3PoolAbi } from '../../infra/devnet/contracts/contracts.ts'
import type { DevMarket } from '../../infra/devnet/market/market.ts'
import { marketsOf } from '../../infra/devnet/market/open-markets.ts'
import { connectChain } from '../../infra/rpc/chain-client.ts'
import type { SkipReason } from '../../ingest/model/fact.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import { readMany } from '../../ingest/rpc/multicall.ts'
import { Candles, Pools, Ticks } from '../api/body.ts'
import { type Service, startService } from '../api/service.ts'
import { deployMarkets, startAnvil, type TestAnvil, type TestMarkets } from '../support/anvil.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { openPipeline, type Pipeline } from '../support/pipeline.ts'

const mimicAbi = parseAbi([
  'struct Reply { bytes4 selector; uint8 manner; bytes data; }',
  'constructor(Reply[] told)',
  'function pretendSwap()',
])

type Reply = { manner: number; data: Hex }
type Replies = Readonly<Record<string, Reply>>

const answer = (data: Hex): Reply => ({ manner: 0, data })
const REVERT: Reply = { manner: 1, data: '0x' }
const BURN: Reply = { manner: 2, data: '0x' }
const FLOOD: Reply = { manner: 3, data: '0x' }
const text = (value: string) => answer(encodeAbiParameters(parseAbiParameters('string'), [value]))
const bytes = (value: Hex) => answer(encodeAbiParameters(parseAbiParameters('bytes'), [value]))
const word = (value: bigint) => answer(encodeAbiParameters(parseAbiParameters('uint256'), [value]))
const addressWord = (value: Address) => word(BigInt(value))
const token = (symbol: Reply, more: Replies = {}): Replies => ({
  'symbol()': symbol,
  'name()': symbol,
  'decimals()': word(18n),
  ...more,
})

/** Each with the symbol and name that it is to have; undefined where its pool is to be skipped. */
const TOKENS: readonly [what: string, replies: Replies, shown: string | undefined][] = [
  ['an honest neighbour', token(text('FINE')), 'FINE'],
  ['a bytes32 symbol', token(answer(stringToHex('OLD', { size: 32 }))), 'OLD'],
  ['an empty symbol', token(text('')), 'unknown'],
  ['a symbol of 10 kB', token(text('x'.repeat(10_240))), 'x'.repeat(64)],
  ['64 code points of two units each', token(text('🐕'.repeat(100))), '🐕'.repeat(64)],
  ['control characters', token(text('C\u0000T\r\nSet-Cookie: a=b\u001b[31m')), 'CTSet-Cookie: a=b[31m'],
  [
    'marks that turn the reading direction',
    token(text('\u202a\u202b\u202c\u202d\u202eTURN\u2066\u2067\u2068\u2069\u200e\u200f')),
    'TURN',
  ],
  ['characters of no width', token(text('\ufeffZE\u200b\u200c\u200d\u2060\u3164RO')), 'ZERO'],
  ['nothing but what is unseen', token(text('\u202e\u200b\u0000')), 'unknown'],
  ['bytes that are no UTF-8', token(bytes('0x41fffe42c328')), 'AB('],
  ['nothing but such bytes', token(bytes('0xfffefdfcfb')), 'unknown'],
  ['letters outside ASCII, quotes and a percent sign', token(text('柴"犬%0d<b>')), '柴"犬%0d<b>'],
  ['a symbol that reverts', token(REVERT), 'unknown'],
  ['a symbol that answers nothing', token(answer('0x')), 'unknown'],
  ['a symbol that points outside of its answer', token(answer(`0x${'ff'.repeat(96)}`)), 'unknown'],
  ['a symbol that burns all gas', token(BURN), 'unknown'],
  ['a symbol as long as gas allows', token(FLOOD), 'unknown'],
  ['decimals of 77', token(text('MOST'), { 'decimals()': word(77n) }), 'MOST'],
  ['nothing to say, on the curated list', {}, 'LISTED'],
  ['no decimals', { 'symbol()': text('NONE'), 'name()': text('NONE') }, undefined],
  ['decimals that revert', token(text('REV'), { 'decimals()': REVERT }), undefined],
  ['decimals that burn all gas', token(text('BURN'), { 'decimals()': BURN }), undefined],
  ['decimals as long as gas allows', token(text('FLOOD'), { 'decimals()': FLOOD }), undefined],
  ['decimals of 78', token(text('D78'), { 'decimals()': word(78n) }), undefined],
  ['decimals of 255', token(text('D255'), { 'decimals()': word(255n) }), undefined],
  ['decimals of 2^256 - 1', token(text('DMAX'), { 'decimals()': word(2n ** 256n - 1n) }), undefined],
  ['decimals of one byte', token(text('SHORT'), { 'decimals()': answer('0x12') }), undefined],
  ['everything burns all gas', { 'symbol()': BURN, 'name()': BURN, 'decimals()': BURN }, undefined],
]
const FEE = { fee: 3000, tickSpacing: 60 }
const Q96 = 2n ** 96n

describe.skipIf(withoutClickHouse)('hostile metadata', () => {
  let anvil: TestAnvil
  let markets: TestMarkets
  let database: TestDatabase
  let pipeline: Pipeline
  let service: Service
  /** In the order of `TOKENS`, then one whose token has no code. */
  let pools: DevMarket[]

  async function send(data: Hex, to?: Address): Promise<void> {
    await anvil.chain.send([{ from: anvil.chain.accounts[0], ...(to && { to }), data }])
  }

  async function deploy(replies: Replies): Promise<Address> {
    const from = anvil.chain.accounts[0]
    const [count] = await anvil.rpc([{ method: 'eth_getTransactionCount', params: [from, 'pending'] }])
    const told = Object.entries(replies).map(([name, reply]) => ({
      selector: toFunctionSelector(`function ${name}`),
      ...reply,
    }))
    await send(encodeDeployData({ abi: mimicAbi, bytecode: readBytecode().Mimic, args: [told] }))
    return getContractAddress({ from, nonce: BigInt(count as Hex) }).toLowerCase() as Address
  }

  function poolWithWeth(address: Address): DevMarket {
    const { deployment } = markets
    const hostile = { symbol: 'HOSTILE', name: '', decimals: 18, shape: 'plain', address } as const
    const weth = deployment.tokens.find(({ symbol }) => symbol === 'WETH')
    const pair = weth && BigInt(address) < BigInt(weth.address) ? ['HOSTILE', 'WETH'] : ['WETH', 'HOSTILE']
    const plan = { protocol: 'v3', pair: pair as [string, string], ...FEE, depth: [] } as const
    const [market] = marketsOf([plan], { ...deployment, tokens: [...deployment.tokens, hostile] })
    if (!market) throw new Error('a plan makes a market')
    return market
  }

  async function open({ id, place, token0, token1 }: DevMarket): Promise<void> {
    if (place.kind !== 'v3') return
    const args = [token0.address, token1.address, FEE.fee] as const
    await send(encodeFunctionData({ abi: factoryAbi, functionName: 'createPool', args }), markets.deployment.factory)
    await send(encodeFunctionData({ abi: v3PoolAbi, functionName: 'initialize', args: [Q96] }), id)
  }

  async function trade(market: DevMarket): Promise<void> {
    const { router } = markets.deployment
    const hostile = [market.token0, market.token1].find(({ symbol }) => symbol === 'HOSTILE')
    const args = [router, 2n ** 100n] as const
    await send(encodeFunctionData({ abi: tokenAbi, functionName: 'mint', args }), hostile?.address)
    await markets.mint(market, { tickLower: -6_000, tickUpper: 6_000, liquidity: 10n ** 20n })
    await markets.swap(market, { zeroForOne: true, amount: 10n ** 18n })
  }

  function poolAt(index: number): DevMarket {
    const pool = pools[index]
    if (!pool) throw new RangeError(`there is no pool ${index}`)
    return pool
  }

  /** The reason of each time that it was skipped. */
  function skipsOf(id: PoolId): SkipReason[] {
    return pipeline.facts.flatMap((fact) => (fact.kind === 'pool-skipped' && fact.pool === id ? [fact.reason] : []))
  }

  async function ask(path: string) {
    const reply = await service.get(path)
    expect(reply.status, JSON.stringify(reply.body)).toBe(200)
    return reply
  }

  beforeAll(async () => {
    ;[anvil, database] = await Promise.all([startAnvil(), freshDatabase()])
    markets = await deployMarkets(anvil)
    const addresses: Address[] = []
    for (const [, replies] of TOKENS) addresses.push(await deploy(replies))
    pools = [...addresses, '0x00000000000000000000000000000000deadbeef' as const].map(poolWithWeth)
    for (const pool of pools) await open(pool)
    await anvil.mine()
    for (const pool of pools.slice(0, TOKENS.length)) await trade(pool)
    // What tells the price of WETH, and so which pools are worth showing.
    await markets.swap(markets.market('v3 USDC/WETH 500'), { zeroForOne: true, amount: 1_000_000n })
    const [tip] = await anvil.mine()
    const listed = addresses[TOKENS.findIndex(([, , shown]) => shown === 'LISTED')] ?? '0x'
    const override = { address: listed, symbols: ['LISTED'], name: 'LISTED', decimals: 9, role: 'listed' } as const
    const network = { ...markets.network, trustedTokens: [...markets.network.trustedTokens, override] }
    pipeline = await openPipeline({ network, url: anvil.wsUrl, database })
    await pipeline.untilStored(tip)
    const clock = () => new Date((tip.timestamp + 60) * 1000)
    service = await startService({ client: database.client, networks: [network], clock })
  })

  afterAll(async () => {
    await service?.stop()
    await pipeline?.stop()
    await anvil?.stop()
    await database?.drop()
  })

  test('whatever is done to it, no endpoint is blamed', () => {
    expect(pipeline.facts.filter((fact) => fact.kind === 'rpc-failed' || fact.kind === 'balances-unread')).toEqual([])
  })

  test.each(TOKENS.map(([what, , shown], index) => [what, shown, index] as const))(
    'a token with %s',
    async (_, shown, index) => {
      const { id } = poolAt(index)
      if (shown === undefined) {
        expect(skipsOf(id)).toEqual(['no-decimals'])
        expect((await service.get(`/v0/candles?pool=${id}&interval=1m`)).status).toBe(404)
        return
      }
      expect(skipsOf(id)).toEqual([])
      const found = await ask(`/v0/pools?symbol=${encodeURIComponent(`${shown}-WETH`)}`)
      const listed = Pools.parse(found.body).data.find((pool) => pool.id === id)
      const hostile = [listed?.token0, listed?.token1].find((it) => it?.symbol !== 'WETH')
      expect(hostile).toMatchObject({ symbol: shown, name: shown })
      expect(listed?.txCount).toBe('2')

      const ticks = await ask(`/v0/ticks?pool=${id}`)
      const candles = await ask(`/v0/candles?pool=${id}&interval=1m&fill=none`)
      expect(Ticks.parse(ticks.body).data).toHaveLength(1)
      const [candle] = Candles.parse(candles.body).data
      expect(candle?.close).toBeGreaterThan(0)
      const pair = [listed?.token0.symbol, listed?.token1.symbol].join('-')
      for (const { headers } of [ticks, candles]) {
        const header = headers.get('x-market-pair') ?? ''
        expect(header).toMatch(/^[\x20-\x7e]+$/)
        expect(decodeURIComponent(header)).toBe(pair)
        expect(headers.get('set-cookie')).toBeNull()
      }
    },
  )

  test('a token without code has no decimals', () => {
    expect(skipsOf(poolAt(TOKENS.length).id)).toEqual(['no-decimals'])
  })

  test('a call that failed for the gas that another one burnt is asked again alone', async () => {
    const burner = await deploy({ 'decimals()': BURN })
    // Reading it takes more than the 64th that a burner leaves, and less than leaves nothing for the call around it.
    const long = await deploy({ 'symbol()': text('x'.repeat(8_000)) })
    await anvil.mine()
    const { endpoints } = connectChain([anvil.httpUrl], {})
    const answers = await endpoints.run((client) =>
      readMany(client, [
        { address: burner, abi: erc20Abi, functionName: 'decimals' },
        { address: long, abi: erc20Abi, functionName: 'symbol' },
      ]),
    )
    expect(answers).toEqual([undefined, 'x'.repeat(8_000)])
  })

  test('a contract that only looks like a pool is dropped, and the real swaps of its block are kept', async () => {
    const { factory } = markets.deployment
    const { token0, token1 } = markets.market('v3 USDC/WETH 500')
    const pool: Replies = {
      'factory()': addressWord(factory),
      'token0()': addressWord(token0.address),
      'token1()': addressWord(token1.address),
      'fee()': word(500n),
    }
    const pretenders = [
      pool,
      { ...pool, 'factory()': addressWord(markets.foreignMarket.token0.address) },
      { ...pool, 'factory()': BURN },
      { ...pool, 'token0()': REVERT },
      { ...pool, 'token0()': FLOOD },
      { ...pool, 'token1()': answer('0x1234') },
      // Addresses and fees are words, of which the ABI uses a part.
      { ...pool, 'token1()': word(2n ** 256n - 1n) },
      { ...pool, 'fee()': word(2n ** 24n) },
      { ...pool, 'fee()': word(2n ** 256n - 1n) },
      {},
    ]
    const impostors: Address[] = []
    for (const replies of pretenders) impostors.push(await deploy(replies))
    const pretendSwap = encodeFunctionData({ abi: mimicAbi, functionName: 'pretendSwap' })
    for (const impostor of impostors) await send(pretendSwap, impostor)
    await markets.swap(poolAt(0), { zeroForOne: true, amount: 10n ** 18n })
    const [block] = await anvil.mine()
    await pipeline.untilStored(block)
    expect(impostors.map(skipsOf)).toEqual(impostors.map(() => ['other-factory']))
    expect(Ticks.parse((await ask(`/v0/ticks?pool=${poolAt(0).id}`)).body).data).toHaveLength(2)
    expect(pipeline.facts.filter((fact) => fact.kind === 'rpc-failed')).toEqual([])
  })
})
