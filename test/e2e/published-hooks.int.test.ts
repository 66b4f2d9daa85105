/** Hooks on OpenZeppelin's published bases: the amounts of a tick and those of its hook are what the account's balances changed by. */
import { type Address, encodeFunctionData, numberToHex, parseUnits } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask } from '../../aggregator/store/store.ts'
import { finalRowVersion } from '../../aggregator/store/version.ts'
import { tokenAbi } from '../../infra/devnet/contracts/contracts.ts'
import { type DevMarket, type SwapOrder, swapCall } from '../../infra/devnet/market/market.ts'
import { listCryoFiles } from '../../infra/files/cryo-files.ts'
import { fileSource } from '../../infra/files/file-source.ts'
import { type BackfillOptions, backfill } from '../../ingest/backfill/backfill.ts'
import type { RpcLog } from '../../ingest/rpc/rpc.ts'
import { HookedTicks } from '../api/body.ts'
import { type Service, startService } from '../api/service.ts'
import { deployMarkets, type MinedBlock, startAnvil, type TestAnvil, type TestMarkets } from '../support/anvil.ts'
import { temporaryFolder } from '../support/candlepool.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { cryoRowsOf, writeCryoFiles } from '../support/cryo-files.ts'
import { openPipeline, type Pipeline } from '../support/pipeline.ts'
import { type PlacedHooks, type PublishedHook, placeHooks } from '../support/published-hooks.ts'
import { rowsOf } from '../support/rows.ts'
import { until } from '../support/until.ts'
import { type ChainReader, openChainReader } from './on-chain.ts'

const FEES = { ShareTaker: 771, TargetTaker: 772, ConstantPrice: 773, InputTaker: 774 } as const
const DOLLAR = 10n ** 6n
const ETHER = 10n ** 18n
const FUNDS = 10n ** 24n

/** Exact input is positive, exact output negative. */
const ORDERS: readonly SwapOrder[] = [
  { zeroForOne: true, amount: 1_000n * DOLLAR },
  { zeroForOne: true, amount: -ETHER / 3n },
  { zeroForOne: false, amount: ETHER / 7n },
  { zeroForOne: false, amount: -777n * DOLLAR },
]

describe.skipIf(withoutClickHouse)('ticks of pools with published hooks', () => {
  let anvil: TestAnvil
  let hooks: PlacedHooks
  let markets: TestMarkets
  let database: TestDatabase
  let pipeline: Pipeline
  let service: Service
  let chain: ChainReader
  let tip: MinedBlock

  beforeAll(async () => {
    ;[anvil, database] = await Promise.all([startAnvil({ slotsInAnEpoch: 1 }), freshDatabase()])
    hooks = await placeHooks(anvil)
    const plans = (Object.keys(FEES) as PublishedHook[]).map((name) => ({
      ...({ protocol: 'v4', pair: ['USDC', 'WETH'], fee: FEES[name], tickSpacing: 60 } as const),
      depth: name === 'ConstantPrice' ? [] : [{ usd: 10_000_000 }],
      hooks: hooks[name].address,
    }))
    markets = await deployMarkets(anvil, plans)
    const { address } = hooks.ConstantPrice
    for (const token of [marketOf('ConstantPrice').token0, marketOf('ConstantPrice').token1])
      await send(token.address, encodeFunctionData({ abi: tokenAbi, functionName: 'mint', args: [address, FUNDS] }))
    await call('ConstantPrice', 'fund', [FUNDS, FUNDS])
    ;[tip] = await anvil.mine()
    const { network } = markets
    pipeline = await openPipeline({ network, url: anvil.wsUrl, database })
    const clock = () => new Date((tip.timestamp + 1) * 1000)
    service = await startService({ client: database.client, networks: [network], clock })
    chain = openChainReader(anvil.httpUrl, network)
  })

  afterAll(async () => {
    await service?.stop()
    await pipeline?.stop()
    await anvil?.stop()
    await database?.drop()
  })

  function marketOf(name: PublishedHook): DevMarket {
    return markets.market(`v4 USDC/WETH ${FEES[name]}`)
  }

  async function send(to: Address, data: `0x${string}`): Promise<void> {
    await anvil.chain.send([{ from: anvil.chain.accounts[0], to, data }])
  }

  async function call(name: PublishedHook, functionName: string, args: readonly unknown[]): Promise<void> {
    const { address, abi } = hooks[name]
    await send(address, encodeFunctionData({ abi, functionName, args }))
  }

  async function mine(): Promise<void> {
    ;[tip] = await anvil.mine()
    await pipeline.untilStored(tip)
  }

  async function lastTick(name: PublishedHook, options = '') {
    const { body } = await service.get(`/v0/ticks?pool=${marketOf(name).id}&limit=1&include=hooks${options}`)
    const [tick] = HookedTicks.parse(body).data
    if (!tick) throw new Error('The swap left no tick.')
    return tick
  }

  /** The router's change of balances in the newest block, in raw units. */
  async function changes({ token0, token1 }: DevMarket): Promise<[bigint, bigint]> {
    const { router } = markets.deployment
    const changeOf = async (token: DevMarket['token0']) => {
      const [after, before] = await Promise.all([0, 1].map((ago) => chain.balanceOf(router, token, tip.number - ago)))
      return (after ?? 0n) - (before ?? 0n)
    }
    return [await changeOf(token0), await changeOf(token1)]
  }

  /** Trades, and compares what is answered with the router's balances. */
  async function expectPaid(name: PublishedHook, order: SwapOrder) {
    const market = marketOf(name)
    await markets.swap(market, order)
    await mine()
    const [change0, change1] = await changes(market)
    const tick = await lastTick(name)
    const { amount0, amount1, hookAmount0, hookAmount1 } = tick
    expect(parseUnits(amount0, 6) + parseUnits(hookAmount0 ?? '', 6)).toBe(change0)
    expect(parseUnits(amount1, 18) + parseUnits(hookAmount1 ?? '', 18)).toBe(change1)
    return { tick, change0, change1, price: Math.abs(Number(change1) / 1e18 / (Number(change0) / 1e6)) }
  }

  test.each(ORDERS)('a share of the unspecified amount, %o', async (order) => {
    const { tick, price } = await expectPaid('ShareTaker', order)
    const unspecified = order.zeroForOne === order.amount > 0n ? tick.hookAmount1 : tick.hookAmount0
    expect(Number(unspecified)).toBeLessThan(0)
    expect(tick.effectivePrice).toBeCloseTo(price, 15)
    expect(Math.abs((tick.effectivePrice ?? 0) / tick.price - 1)).toBeCloseTo(0.0025, 4)
  })

  test.each(ORDERS)('what is better than a target, %o', async (order) => {
    const isInput = order.amount > 0n
    // An output that is too good, or an input that is too small.
    const target = order.zeroForOne === isInput ? ETHER / (isInput ? 20n : 2n) : (isInput ? 100n : 9_000n) * DOLLAR
    await call('TargetTaker', 'setTarget', [target, true])
    const { tick, change0, change1, price } = await expectPaid('TargetTaker', order)
    const sizes = [change0, change1].map((change) => (change < 0n ? -change : change))
    expect(sizes).toContain(target)
    expect(tick.effectivePrice).toBeCloseTo(price, 12)
  })

  test('nothing is known of a swap of which such a hook says nothing', async () => {
    await call('TargetTaker', 'setTarget', [0n, false])
    await markets.swap(marketOf('TargetTaker'), { zeroForOne: true, amount: DOLLAR })
    await mine()
    expect(await lastTick('TargetTaker')).toMatchObject({ hookAmount0: null, hookAmount1: null, effectivePrice: null })
  })

  test.each(ORDERS)('a whole trade of a hook with a fee, %o', async (order) => {
    await call('ConstantPrice', 'setFee', [1_000n])
    const { tick, price } = await expectPaid('ConstantPrice', order)
    expect(tick).toMatchObject({ amount0: '0', amount1: '0' })
    expect(tick.effectivePrice).toBeCloseTo(price, 15)
    expect(price).toBeCloseTo(0.0005, 9)
  })

  test('the direction of a trade that names no fee is not guessed', async () => {
    await call('ConstantPrice', 'setFee', [0n])
    await markets.swap(marketOf('ConstantPrice'), { zeroForOne: true, amount: DOLLAR })
    await mine()
    expect(await lastTick('ConstantPrice')).toMatchObject({
      ...{ amount0: '0', amount1: '0', hookAmount0: null, hookAmount1: null, effectivePrice: null },
    })
  })

  test.each(ORDERS.filter(({ amount }) => amount > 0n))('an input without an output, %o', async (order) => {
    const { tick, change0, change1 } = await expectPaid('InputTaker', order)
    expect([change0, change1]).toContain(0n)
    expect(tick).toMatchObject({ amount0: '0', amount1: '0', effectivePrice: null })
  })

  test('events of a contract that is not the pool’s hook count nothing', async () => {
    const [from] = anvil.chain.accounts
    const { abi, bytecode } = hooks.crier
    await anvil.chain.send([{ from, data: bytecode }])
    await mine()
    const [hash] = tip.transactions
    const [receipt] = await anvil.rpc([{ method: 'eth_getTransactionReceipt', params: [hash] }])
    const crier = (receipt as { contractAddress: Address }).contractAddress
    const { router } = markets.deployment
    for (const name of ['ShareTaker', 'ConstantPrice', 'InputTaker'] as const) {
      await call('ConstantPrice', 'setFee', [5_000n])
      const market = marketOf(name)
      const swap = swapCall(market, { zeroForOne: true, amount: 100n * DOLLAR })
      const args = [router, swap, market.id, router]
      await send(crier, encodeFunctionData({ abi, functionName: 'cry', args }))
      await mine()
      const [change0, change1] = await changes(market)
      const { amount0, amount1, hookAmount0, hookAmount1 } = await lastTick(name)
      expect(parseUnits(amount0, 6) + parseUnits(hookAmount0 ?? '', 6), name).toBe(change0)
      expect(parseUnits(amount1, 18) + parseUnits(hookAmount1 ?? '', 18), name).toBe(change1)
    }
    const plain = markets.market('v4 USDC/WETH 3000')
    const swap = swapCall(plain, { zeroForOne: true, amount: DOLLAR })
    await send(crier, encodeFunctionData({ abi, functionName: 'cry', args: [router, swap, plain.id, router] }))
    await mine()
    const { body } = await service.get(`/v0/ticks?pool=${plain.id}&limit=1&include=hooks`)
    const [tick] = HookedTicks.parse(body).data
    expect(tick).toMatchObject({ hookAmount0: '0', hookAmount1: '0', effectivePrice: tick?.price })
  })

  test('a fee of added liquidity is not that of the swap before it', async () => {
    const market = marketOf('ShareTaker')
    await call('ShareTaker', 'setShare', [0])
    await markets.swap(market, { zeroForOne: true, amount: DOLLAR })
    await markets.mint(market, { tickLower: -887_220, tickUpper: 887_220, liquidity: 10n ** 12n })
    await mine()
    expect(await lastTick('ShareTaker')).toMatchObject({ hookAmount0: null, hookAmount1: null })
    await call('ShareTaker', 'setShare', [2_500])
    await mine()
  })

  test('a reorg takes what a hook took along with its swap', async () => {
    const before = await lastTick('ShareTaker')
    const snapshot = await anvil.snapshot()
    await expectPaid('ShareTaker', { zeroForOne: true, amount: 5n * DOLLAR })
    await anvil.revert(snapshot)
    ;[tip] = await anvil.mine(2, [tip.timestamp + 7])
    tip = await anvil.block('latest')
    await pipeline.untilStored(tip)
    expect(await lastTick('ShareTaker')).toEqual(before)
    await expectPaid('ShareTaker', { zeroForOne: true, amount: 6n * DOLLAR })
  })

  /** Reads all final blocks again, of all pools or of some, and waits until their rows are those of the job. */
  async function overwrite(job: number, { pools, source }: Pick<Partial<BackfillOptions>, 'pools' | 'source'> = {}) {
    const { number: to } = await anvil.block('finalized')
    const log = pipeline.history
    await backfill(pipeline.endpoints, {
      ...{ network: markets.network, job, pools, source, ranges: [{ from: 0, to }], concurrency: 2, log },
      report: (fact) => pipeline.facts.push(fact),
      signal: AbortSignal.timeout(50_000),
    })
    const older = `SELECT toUInt32(count()) AS rows FROM ticks FINAL WHERE version < {version:UInt64} AND block <= {to:UInt64}
      AND (empty({pools:Array(String)}) OR pool IN {pools:Array(String)})`
    const parameters = { version: finalRowVersion(job), to, pools: pools ?? [] }
    await until(async () => {
      const [left] = await ask<{ rows: number }>(database.client, older, parameters)
      return left?.rows === 0 || undefined
    }, 'the rows are those of the job')
  }

  test('a backfill reads what the stream has read, of all pools and of some', async () => {
    await anvil.mine(80)
    tip = await anvil.block('latest')
    await pipeline.untilStored(tip)
    const live = await rowsOf(database.client, 'ticks')
    expect(live.filter((row) => /"hooked[01]":"-/.test(row)).length).toBeGreaterThan(10)
    await overwrite(1)
    expect(await rowsOf(database.client, 'ticks')).toEqual(live)
    await overwrite(2, { pools: [marketOf('ShareTaker').id, marketOf('ConstantPrice').id] })
    expect(await rowsOf(database.client, 'ticks')).toEqual(live)
  })

  test('files of the chain give what the stream has read', async () => {
    const live = await rowsOf(database.client, 'ticks')
    const { number: to } = await anvil.block('finalized')
    const { chainId } = markets.network
    const [logs] = await anvil.rpc([
      { method: 'eth_getLogs', params: [{ fromBlock: '0x0', toBlock: numberToHex(to) }] },
    ])
    const folder = await temporaryFolder()
    try {
      const rows = await cryoRowsOf({ url: anvil.httpUrl, chain: { chainId, logs: logs as RpcLog[] } }, 0, to)
      await writeCryoFiles(database.client, folder.path, rows, { from: 0, to, chunk: 100 })
      const files = await listCryoFiles(folder.path)
      await overwrite(3, { source: fileSource({ server: database.connection, files, chainId, proofShare: 1 }) })
    } finally {
      await folder.remove()
    }
    expect(await rowsOf(database.client, 'ticks')).toEqual(live)
  })

  test('a listener of some pools reads their hooks', async () => {
    const some = new Set([marketOf('ShareTaker').id, marketOf('ConstantPrice').id])
    const isWanted = (row: string) => [...some].some((pool) => row.includes(pool))
    const live = (await rowsOf(database.client, 'ticks')).filter(isWanted)
    const other = await freshDatabase()
    const listener = await openPipeline({ network: markets.network, url: anvil.wsUrl, database: other, pools: some })
    await listener.untilStored(tip)
    const stored = await rowsOf(other.client, 'ticks')
    await listener.stop()
    await other.drop()
    expect(stored).toEqual(live)
  })
})
