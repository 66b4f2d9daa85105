/** The dollar value of a swap does not depend on when it was read: live, after a restart, by a late listener or by a backfill. */
import { numberToHex } from 'viem'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { connectChain } from '../../infra/rpc/chain-client.ts'
import { backfill } from '../../ingest/backfill/backfill.ts'
import { NETWORKS } from '../../ingest/model/networks.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { openPipeline, type Pipeline } from '../support/pipeline.ts'
import { DAY, DAY_POOL, madeUpHash } from '../support/recorded.ts'
import { recordedDayChain } from '../support/recorded-day.ts'
import { rowsOf } from '../support/rows.ts'
import { type RecordedChain, type RpcServer, startRpcServer } from '../support/rpc-server.ts'

const network = NETWORKS.ethereum
/** A pool of WETH and an unpriced token: its swaps are valued by the reference pool. */
const OTHER_POOL = `0x${'0d'.repeat(20)}` as const
const DOG = `0x${'0e'.repeat(20)}` as const

/** Blocks of the recording: some with a price, then as many of the other pool alone, then both. */
const PART = 150
/** So many empty blocks come after the first part. */
const GAP = 250_000
const FIRST = DAY.firstBlock - GAP
/** The first block after the gap, and the first after that with a price. */
const SILENT = DAY.firstBlock + PART
const PRICED = SILENT + PART
const LAST = PRICED + PART

/** Every second swap is the other pool's. The first part was a quarter of a million blocks earlier. */
function quietChain(): RecordedChain {
  const day = recordedDayChain()
  let swaps = 0
  const logs = day.logs.flatMap((log) => {
    const recorded = Number(log.blockNumber)
    const isOther = log.topics.length === 3 && ++swaps % 2 === 0
    if (recorded > LAST || (!isOther && recorded >= SILENT && recorded < PRICED)) return []
    const number = recorded < SILENT ? recorded - GAP : recorded
    const address = isOther ? OTHER_POOL : DAY_POOL
    return [{ ...log, address, blockNumber: numberToHex(number), blockHash: madeUpHash(number) }]
  })
  const { factory } = network.v3
  return {
    ...day,
    head: LAST,
    finalized: LAST,
    logs,
    contracts: {
      ...day.contracts,
      [OTHER_POOL]: { kind: 'v3-pool', factory, token0: DOG, token1: network.wrappedNative, fee: 3_000 },
      [DOG]: { kind: 'token', symbol: 'DOG', name: 'Dog', decimals: 18 },
    },
    timestampOf: (block) =>
      Number(logs.findLast((log) => Number(log.blockNumber) <= block)?.blockTimestamp ?? DAY.start),
  }
}

describe.skipIf(withoutClickHouse)('the dollar value of a swap', () => {
  let rpc: RpcServer
  const opened: { pipeline: Pipeline; database: TestDatabase }[] = []
  /** Values by a listener that ran from the start and read all but the first part live. */
  let live: Awaited<ReturnType<typeof rowsIn>>

  beforeAll(async () => {
    rpc = await startRpcServer(quietChain())
    const { pipeline, database } = await open({ firstBlock: FIRST, finalized: SILENT - 1, head: SILENT - 1 })
    await untilStored(pipeline, SILENT - 1)
    await grow(pipeline, LAST)
    live = await rowsIn(database)
  })

  afterEach(async () => {
    await Promise.all(opened.map(({ pipeline }) => pipeline.stop()))
    await Promise.all([...new Set(opened.map(({ database }) => database))].map((database) => database.drop()))
    opened.length = 0
  })

  afterAll(async () => {
    await rpc?.stop()
  })

  async function open(
    { firstBlock, ...view }: { firstBlock: number; finalized: number; head: number },
    database?: TestDatabase,
  ) {
    Object.assign(rpc.chain, view)
    const store = database ?? (await freshDatabase())
    const pipeline = await openPipeline({ network, url: rpc.url, database: store, firstBlock, headerProof: 'off' })
    opened.push({ pipeline, database: store })
    return { pipeline, database: store }
  }

  function untilStored(pipeline: Pipeline, number: number) {
    return pipeline.untilStored({ number, hash: madeUpHash(number) })
  }

  /** None of it final. */
  async function grow(pipeline: Pipeline, to: number): Promise<void> {
    while (rpc.chain.head < to) {
      rpc.chain.head = Math.min(to, rpc.chain.head + 25)
      await untilStored(pipeline, rpc.chain.head)
    }
  }

  test('a swap of silent blocks has a value by the last price, a quarter of a million blocks before', () => {
    const silent = live.ticks.filter(({ block }) => Number(block) >= SILENT && Number(block) < PRICED)
    expect(silent.length).toBeGreaterThan(50)
    for (const { pool, amount1, amount_usd } of silent) {
      expect(pool).toBe(OTHER_POOL)
      expect(Number(amount_usd) / (Math.abs(Number(amount1)) / 1e18)).toBeCloseTo(2_270, -2)
    }
  })

  test('a process that restarts long after the last price stores the same values', async () => {
    const { pipeline, database } = await open({ firstBlock: FIRST, finalized: SILENT - 1, head: SILENT - 1 })
    await untilStored(pipeline, SILENT - 1)
    await grow(pipeline, SILENT + 50)
    await pipeline.stop()
    const again = await open({ firstBlock: FIRST, finalized: SILENT + 20, head: SILENT + 50 }, database)
    await grow(again.pipeline, LAST)
    expect(await rowsIn(database)).toEqual(live)
  })

  test('a listener that starts long after the last price stores the same values', async () => {
    const from = SILENT + 50
    const { pipeline, database } = await open({ firstBlock: from, finalized: LAST - 10, head: LAST })
    await untilStored(pipeline, LAST)
    const { ticks, candles } = await rowsIn(database)
    expect(ticks).toEqual(live.ticks.filter(({ block }) => Number(block) >= from))
    // All but the first of its minutes are whole.
    const first = ticks[0]?.['time'] ?? ''
    const isWhole = ({ resolution, time = '' }: Row) => resolution === '1' || (resolution === '60' && time > first)
    const isLater = ({ time = '' }: Row) => time >= first
    expect(candles.filter(isWhole)).toEqual(live.candles.filter(isLater).filter(isWhole))
  })

  test('a backfill stores the same values', async () => {
    const { pipeline, database } = await open({ firstBlock: LAST, finalized: LAST, head: LAST })
    await untilStored(pipeline, LAST)
    const signal = new AbortController().signal
    const report = () => undefined
    const { endpoints } = connectChain([rpc.url], { network, headerProof: 'off', report, signal })
    const job = { network, job: 1, pools: undefined, concurrency: 2, log: pipeline.history, report, signal }
    // In two ranges, of which the second begins with nothing but what it looks up itself.
    const ranges = [
      { from: FIRST, to: SILENT + 50 },
      { from: SILENT + 51, to: LAST },
    ]
    await backfill(endpoints, { ...job, ranges })
    expect(await rowsIn(database)).toEqual(live)
  })
})

type Row = Record<string, string>

/** As text: dollars are compared to the last digit, and all the rest. */
async function rowsIn({ client }: TestDatabase): Promise<{ ticks: Row[]; candles: Row[] }> {
  const [ticks, candles] = await Promise.all([rowsOf(client, 'ticks'), rowsOf(client, 'candles')])
  const parse = (rows: string[]) => rows.map((row) => JSON.parse(row) as Row)
  return { ticks: parse(ticks), candles: parse(candles) }
}
