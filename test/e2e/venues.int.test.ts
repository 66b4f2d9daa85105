/** Pools of every venue on one chain: ticks, candles and pools are the chain's, and pools of no enabled venue are not there. */
import { createPublicClient, http, parseAbi, RpcRequestError } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connectChain } from '../../infra/rpc/chain-client.ts'
import type { Swap } from '../../ingest/decode/event.ts'
import type { Network } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import { SwapFees } from '../../ingest/pools/swap-fees.ts'
import type { Endpoints } from '../../ingest/rpc/endpoints/endpoints.ts'
import { algebra } from '../../ingest/venues/algebra.ts'
import { MarketPools } from '../api/body.ts'
import { type Service, startService } from '../api/service.ts'
import { deployMarkets, type MinedBlock, startAnvil, type TestAnvil, type TestMarkets } from '../support/anvil.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { openPipeline, type Pipeline } from '../support/pipeline.ts'
import { rowsOf } from '../support/rows.ts'
import { deployVenues, type VenueMarkets } from '../support/venues.ts'

/** All Swap events of the venues. */
const SWAPS = parseAbi([
  'event Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick)',
  'event Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick, uint128 protocolFeesToken0, uint128 protocolFeesToken1)',
])
const DOLLARS = 10n ** 6n

type TickRow = { pool: string; block: string; log_index: string; fee: string } & Record<
  'amount0' | 'amount1' | 'sqrt_price' | 'liquidity' | 'pool_tick',
  string
>

describe.skipIf(withoutClickHouse)('venues beside Uniswap', () => {
  let anvil: TestAnvil
  let markets: TestMarkets
  let venues: VenueMarkets
  let network: Network
  let database: TestDatabase
  let pipeline: Pipeline
  let service: Service
  let tip: MinedBlock
  const opened: { pipeline: Pipeline; database: TestDatabase }[] = []

  beforeAll(async () => {
    anvil = await startAnvil({ slotsInAnEpoch: 1 })
    markets = await deployMarkets(anvil)
    venues = await deployVenues(anvil, markets)
    network = { ...markets.network, venues: venues.venues }
    ;({ pipeline, database } = await open(network))
    service = await serviceOf(network, database)
  })

  afterAll(async () => {
    await service?.stop()
    await Promise.all(opened.map(({ pipeline }) => pipeline.stop()))
    await anvil?.stop()
    await Promise.all(opened.map(({ database }) => database.drop()))
  })

  async function open(read: Network, firstBlock = 0) {
    const fresh = await freshDatabase()
    const entry = {
      database: fresh,
      pipeline: await openPipeline({ network: read, url: anvil.wsUrl, database: fresh, firstBlock }),
    }
    opened.push(entry)
    return entry
  }

  function serviceOf(read: Network, { client }: TestDatabase): Promise<Service> {
    return startService({ client, networks: [read], clock: () => new Date((tip.timestamp + 1) * 1_000) })
  }

  async function mine(): Promise<void> {
    ;[tip] = await anvil.mine()
    await pipeline.untilStored(tip)
  }

  const all = () => venues.pools.map(({ id }) => id)
  const poolOf = (kind: string) => venues.pools.find((it) => it.kind === kind)?.id as PoolId

  /** Each pool is traded, in both directions in every second block. */
  async function trade(rounds: number): Promise<void> {
    const paid = (zeroForOne: boolean, round: number) =>
      zeroForOne ? BigInt(1_000 + round) * DOLLARS : BigInt(5 + round) * 10n ** 17n
    for (let round = 0; round < rounds; round++) {
      const directions = round % 2 === 0 ? [true, false] : [round % 3 === 0]
      for (const zeroForOne of directions) {
        await venues.swap(all().map((pool) => ({ pool, zeroForOne, amount: paid(zeroForOne, round) })))
      }
      // PancakeSwap's trades most.
      await venues.swap([{ pool: poolOf('pancake'), zeroForOne: true, amount: 10_000_000n * DOLLARS }])
      await mine()
    }
  }

  async function ticksIn({ client }: TestDatabase): Promise<TickRow[]> {
    const answer = await client.query({
      query: `SELECT pool, block, log_index, fee, amount0, amount1, sqrt_price, liquidity, pool_tick FROM ticks FINAL
              WHERE pool IN {pools:Array(String)} ORDER BY block, log_index`,
      query_params: { pools: all() },
      format: 'JSONStringsEachRow',
    })
    return answer.json<TickRow>()
  }

  async function expectTicksAsOnChain(): Promise<void> {
    const client = createPublicClient({ transport: http(anvil.httpUrl) })
    const logs = await client.getLogs({ address: all(), events: SWAPS, fromBlock: 0n })
    const expected = logs.map(({ address, blockNumber, logIndex, args }) => ({
      pool: address.toLowerCase(),
      block: String(blockNumber),
      log_index: String(logIndex),
      amount0: String(-(args.amount0 ?? 0n)),
      amount1: String(-(args.amount1 ?? 0n)),
      sqrt_price: String(args.sqrtPriceX96),
      liquidity: String(args.liquidity),
      pool_tick: String(args.tick),
    }))
    const ticks = await ticksIn(database)
    expect(expected.length).toBeGreaterThan(20)
    expect(ticks.map(({ fee: _, ...tick }) => tick)).toEqual(expected)
    for (const tick of ticks) expect(Number(tick.fee), JSON.stringify(tick)).toBe(await feeOnChain(tick))
  }

  /** Algebra: the fee after the block, which its first swap has set and the others share. */
  async function feeOnChain({ pool, block }: TickRow): Promise<number> {
    const { id, fee, kind } = venues.pools.find((it) => it.id === pool) as (typeof venues.pools)[number]
    if (fee !== undefined) return fee
    expect(['v1', 'integral']).toContain(kind)
    return Number((await venues.stateAt(id, Number(block)))[2])
  }

  test('their ticks are the swaps of the chain, each with the fee that was paid', async () => {
    await mine()
    await trade(6)
    await venues.setFee(1_234)
    // V1's fee follows how much the price moves.
    for (const zeroForOne of [true, false, true]) {
      await venues.swap([
        { pool: poolOf('v1'), zeroForOne, amount: zeroForOne ? 10_000_000n * DOLLARS : 3_000n * 10n ** 18n },
      ])
      await mine()
    }
    await venues.swap([{ pool: poolOf('v1'), zeroForOne: false, amount: 10n ** 20n }])
    await trade(4)
    await expectTicksAsOnChain()
    const fees = new Set((await ticksIn(database)).filter(({ pool }) => pool === poolOf('v1')).map(({ fee }) => fee))
    expect(fees.size).toBeGreaterThan(1)
  })

  test('their pools name the venue, and the most traded of them leads', async () => {
    await mine()
    const { body } = await service.get('/v0/pools?symbol=USDC-WETH&include=market')
    const { data } = MarketPools.parse(body)
    const named = new Map(data.map(({ id, venue }) => [id, venue]))
    for (const { id, venue } of venues.pools) expect(named.get(id)).toBe(venue)
    expect(named.get(markets.market('v3 USDC/WETH 500').id)).toBe('uniswap')
    for (const pool of data) expect(pool.protocolVersion).toBe(pool.id.length === 42 ? 'dex-v3' : 'dex-v4')
    const tier = data.find(({ id }) => id === poolOf('integral'))?.feeTier
    expect(tier).toBe('1234')
    const lead = await service.get('/v0/candles?symbol=USDC-WETH&interval=1h')
    expect(lead.status).toBe(200)
    expect(lead.headers.get('X-Market-Pool')).toBe(poolOf('pancake'))
    expect(lead.headers.get('X-Market-Venue')).toBe('pancake')
  })

  test('a late listener and one that met a reorg tell the same', async () => {
    const snapshot = await anvil.snapshot()
    await trade(2)
    await anvil.revert(snapshot)
    await venues.setFee(777)
    await trade(3)
    await expectTicksAsOnChain()
    const late = await open(network, tip.number - 1)
    await late.pipeline.untilStored(tip)
    const ofLate = await ticksIn(late.database)
    const first = Number(ofLate[0]?.block)
    const before = await ticksIn(database)
    expect(first).toBeGreaterThan(Number(before[0]?.block))
    expect(ofLate).toEqual(before.filter(({ block }) => Number(block) >= first))
    const whole = await open(network)
    await whole.pipeline.untilStored(tip)
    for (const table of ['ticks', 'candles', 'pools', 'liquidity_changes'] as const) {
      expect(await rowsOf(whole.database.client, table), table).toEqual(await rowsOf(database.client, table))
    }
  })

  test('a fee that was set before the first swap is found, without its Fee event and without old states too', async () => {
    const pool = poolOf('integral')
    const { endpoints } = connectChain([anvil.httpUrl], { network, report: () => {} })
    let refused = 0
    const withoutStates: Endpoints = {
      ...endpoints,
      run: (task, options) =>
        endpoints.run((client) => {
          const request = (async (args: { method: string; params?: [unknown, string?] }) => {
            const isOld = args.method === 'eth_call' && args.params?.[1] !== 'latest'
            const error = { code: -32000, message: 'missing trie node 1b2c (path ) state is not available' }
            if (isOld) refused += 1
            if (isOld) throw new RpcRequestError({ body: args, error, url: 'a node' })
            return client.request(args as never)
          }) as typeof client.request
          return task({ ...client, request })
        }, options),
    }
    const swap = { kind: 'swap', pool, amount0: -1n } as Swap
    for (const asked of [endpoints, withoutStates]) {
      const fees = new SwapFees(asked)
      expect(fees.take(swap)).toBe(0)
      await fees.learn([{ block: tip.number, event: swap }], () => algebra.eventFees, tip)
      expect(fees.take(swap)).toBe(777)
      fees.observe({ kind: 'plugin-fee', pool, override: 50, added: 7 }, tip.number)
      expect(fees.take(swap)).toBe(57)
      expect(fees.take({ ...swap, plugin: { override: 0, added: 3 } })).toBe(780)
      fees.observe({ kind: 'fee', pool, fees: [100, 200] }, tip.number + 1)
      expect([fees.take(swap), fees.take({ ...swap, amount0: 1n })]).toEqual([100, 200])
      fees.rollBack(tip.number)
      expect(fees.take(swap)).toBe(0)
    }
    expect(refused).toBeGreaterThan(0)
  })

  test('a pool whose factory does not know it is refused', async () => {
    await venues.pretend()
    await markets.swap(markets.foreignMarket, { zeroForOne: true, amount: 10n * DOLLARS })
    await mine()
    const refused = [...venues.impostors, markets.foreignMarket.id]
    const skipped = pipeline.facts.filter((fact) => fact.kind === 'pool-skipped').map(({ pool }) => pool)
    expect(skipped).toEqual(expect.arrayContaining(refused))
    const { body } = await service.get('/v0/pools?symbol=USDC-WETH&include=market')
    for (const { id } of MarketPools.parse(body).data) expect(refused).not.toContain(id)
    for (const { pool } of await ticksIn(database)) expect(refused).not.toContain(pool)
  })

  test('venues that are not enabled neither lead nor are listed, though the tables have their pools', async () => {
    const plain = await serviceOf(markets.network, database)
    try {
      const { body } = await plain.get('/v0/pools?symbol=USDC-WETH&include=market')
      const { data } = MarketPools.parse(body)
      expect(new Set(data.map(({ venue }) => venue))).toEqual(new Set(['uniswap']))
      const lead = await plain.get('/v0/candles?symbol=USDC-WETH&interval=1h')
      expect(lead.headers.get('X-Market-Venue')).toBe('uniswap')
      expect((await plain.get(`/v0/candles?pool=${poolOf('pancake')}&interval=1h`)).status).toBe(404)
    } finally {
      await plain.stop()
    }
    const { pipeline: listener, database: own } = await open(markets.network)
    await listener.untilStored(tip)
    expect(await ticksIn(own)).toEqual([])
  })

  test('a dollar value is Uniswap’s reference price, whatever a fork’s pool says', async () => {
    // It moves PancakeSwap's price alone.
    await venues.swap([{ pool: poolOf('pancake'), zeroForOne: false, amount: 3_000n * 10n ** 18n }])
    await venues.swap([{ pool: poolOf('sushi'), zeroForOne: false, amount: 10n ** 17n }])
    await mine()
    const { body } = await service.get(`/v0/ticks?pool=${poolOf('sushi')}&limit=1`)
    const [tick] = (body as { data: { amountUSD: string; amount0: string }[] }).data
    expect(Number(tick?.amountUSD) / Math.abs(Number(tick?.amount0))).toBeCloseTo(1, 1)
  })
})
