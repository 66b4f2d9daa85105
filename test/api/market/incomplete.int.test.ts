/** Time that was not read from the chain: it is listed, and no close is carried over it, until a job has read it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { beginRecord, writeRecord } from '../../../aggregator/history/audit-record.ts'
import { inProcessLog } from '../../../infra/kafka/in-process.ts'
import type { RangeOverwrite } from '../../../ingest/model/message.ts'
import { NETWORKS } from '../../../ingest/model/networks.ts'
import { startAggregator } from '../../aggregator/running.ts'
import { asBlocks, asRestatement, type BlockPlan, type Chain, mine } from '../../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { until } from '../../support/until.ts'
import { buyEther, minute, POOLS, START } from '../scenario.ts'
import { type Service, startService } from '../service.ts'

const { side: POOL, main: MADE_LATER } = POOLS
const MINUTES = 60
/** Minutes in which `POOL` traded. */
const TRADED = new Set([0, 2, 14, 44, 50])

const empty = { secondsLater: 60, ticks: [], pools: [], liquidity: [], balances: [] }
const plans: BlockPlan[] = Array.from({ length: MINUTES }, (_, at) => ({
  ...empty,
  // What a job states of a pool it says itself.
  pools: at === 0 || at === 40 ? [POOL] : at === 45 ? [MADE_LATER] : [],
  ticks: TRADED.has(at) ? [buyEther(POOL, 10n ** 18n, BigInt(2_000 + at))] : [],
}))
/** A block a minute. */
const CHAIN: Chain = mine([], plans).map((block, at) => ({ ...block, timestamp: minute(at) }))
const shown = (at: number) => `${new Date(minute(at) * 1_000).toISOString().slice(0, 19)}Z`

describe.skipIf(withoutClickHouse)('time that is not stored', () => {
  let database: TestDatabase
  let service: Service
  let aggregator: Awaited<ReturnType<typeof startAggregator>>
  const history = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
  let now = minute(MINUTES - 1) + 30

  beforeAll(async () => {
    database = await freshDatabase()
    const { client } = database
    aggregator = await startAggregator(client, { network: 'ethereum', history })
    // The listener began at minute 40; a job has read the first ten, for this pool.
    await aggregator.append(asBlocks('ethereum', CHAIN.slice(40)))
    await read(0, 10, 1)
    service = await startService({ client, networks: [NETWORKS.ethereum], clock: () => new Date(now * 1_000) })
  })

  afterAll(async () => {
    await service?.stop()
    await aggregator?.stop()
    await history.close()
    await database?.drop()
  })

  const read = (from: number, to: number, job: number) =>
    history.append([asRestatement('ethereum', CHAIN.slice(from, to), { job, pools: [POOL.id] })])

  async function candles(to: number, { pool = POOL, limit = 100 } = {}) {
    const path = `/v0/candles?pool=${pool.id}&interval=1m&limit=${limit}&from=${shown(0)}&to=${shown(to)}`
    const { status, body, headers } = await service.get(path)
    expect({ status, body }).toMatchObject({ status: 200 })
    const { data } = body as { data: { time: string }[] }
    const minutes = data.map(({ time }) => (Date.parse(time) / 1_000 - START) / 60)
    const incomplete = headers.get('X-Market-Incomplete')
    // Swaps are as whole as the candles that are made of them.
    const ticks = await service.get(`/v0/ticks?pool=${pool.id}&limit=1000&from=${shown(0)}&to=${shown(to)}`)
    expect({ status: ticks.status, incomplete: ticks.headers.get('X-Market-Incomplete') }).toEqual({
      status: 200,
      incomplete,
    })
    return { minutes, incomplete }
  }

  const span = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index)

  test('time that is not stored is named, and not filled', async () => {
    const { minutes, incomplete } = await candles(60)
    expect(minutes).toEqual([...span(0, 9), ...span(44, 60)])
    expect(incomplete).toBe(`${shown(9).replace(':00Z', ':01Z')}/${shown(40)}`)
  })

  test('time that is not stored does not shorten an answer: the newest rows before it count', async () => {
    const { minutes } = await candles(60, { limit: 20 })
    expect(minutes).toEqual([...span(5, 9), ...span(44, 60)])
  })

  test('no time is named where a range is whole', async () => {
    expect((await candles(9)).incomplete).toBeNull()
  })

  test('no time before a pool was made is incomplete', async () => {
    expect(await candles(60, { pool: MADE_LATER })).toEqual({ minutes: [], incomplete: null })
  })

  test('the time after the tip is named once the ledger is late', async () => {
    now += 3_600
    try {
      const { minutes, incomplete } = await candles(70)
      expect(minutes.at(-1)).toBe(59)
      expect(incomplete).toMatch(new RegExp(`, ${shown(59).replace(':00Z', ':01Z')}/${shown(70)}$`))
    } finally {
      now -= 3_600
    }
  })

  test('a block whose logs no endpoint proves is named apart, in the answers about it', async () => {
    const record = beginRecord({ network: 'ethereum', job: 0, pools: undefined, from: 40, to: 60 })
    const undecidedTimes = new Map([50, 44, 45].map((at) => [at, minute(at)]))
    await writeRecord(database.client, { ...record, undecided: [50, 44, 45, 46], undecidedTimes })
    const block = (at: number) => `${shown(at)}/${shown(at).replace(':00Z', ':01Z')}`
    const unproven = async (path: string) => (await service.get(path)).headers.get('X-Market-Unproven')
    const candlesFrom = (from: number, to: number) =>
      `/v0/candles?pool=${POOL.id}&interval=1m&limit=100&from=${shown(from)}&to=${shown(to)}`
    await until(async () => (await unproven(candlesFrom(40, 60))) ?? undefined, 'it is known')
    expect(await unproven(candlesFrom(40, 60))).toBe([44, 45, 50].map(block).join(', '))
    expect(await unproven(candlesFrom(45, 50))).toBe(block(45))
    expect(await unproven(candlesFrom(46, 50))).toBeNull()
    expect(await unproven(`/v0/ticks?pool=${POOL.id}&from=${shown(46)}&to=${shown(51)}`)).toBe(block(50))
    expect(await unproven(`/v0/pools?pool=${POOL.id}`)).toBeNull()
    await writeRecord(database.client, { ...record, version: 1 })
    await until(async () => ((await unproven(candlesFrom(40, 60))) === null ? true : undefined), 'it is decided')
  })

  test('a range is whole once a job has read it', async () => {
    await read(10, 40, 2)
    const isWhole = async () => ((await candles(60)).incomplete === null ? true : undefined)
    await until(isWhole, 'the range is whole')
    expect((await candles(60)).minutes).toEqual(span(0, 60))
  })
})

describe.skipIf(withoutClickHouse)('a store of backfills alone', () => {
  let database: TestDatabase
  let service: Service
  let aggregator: Awaited<ReturnType<typeof startAggregator>>
  const history = inProcessLog<RangeOverwrite>({ nextOffset: 0 })

  beforeAll(async () => {
    database = await freshDatabase()
    const { client } = database
    aggregator = await startAggregator(client, { network: 'ethereum', history })
    const pools = [POOL.id]
    await history.append([asRestatement('ethereum', CHAIN.slice(0, 20), { job: 1, pools })])
    await history.append([asRestatement('ethereum', CHAIN.slice(40, 46), { job: 2, pools })])
    const clock = () => new Date(minute(MINUTES) * 1_000)
    service = await startService({ client, networks: [NETWORKS.ethereum], clock })
  })

  afterAll(async () => {
    await service?.stop()
    await aggregator?.stop()
    await history.close()
    await database?.drop()
  })

  test.each([
    // Filled up to the newest block of each job: of the minute that it lies in, what is known is not the whole.
    ['', [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 44, 45]],
    ['&fill=none', [0, 2, 14, 44]],
  ])('answers the candles of what they have read%s', async (query, expected) => {
    const path = `/v0/candles?pool=${POOL.id}&interval=1m&limit=100&from=${shown(0)}&to=${shown(MINUTES)}${query}`
    const { status, body, headers } = await service.get(path)
    expect({ status, body }).toMatchObject({ status: 200 })
    const { data } = body as { data: { time: string }[] }
    expect(data.map(({ time }) => (Date.parse(time) / 1_000 - START) / 60)).toEqual(expected)
    const after = (at: number) => shown(at).replace(':00Z', ':01Z')
    expect(headers.get('X-Market-Incomplete')).toBe(`${after(19)}/${shown(40)}, ${after(45)}/${shown(MINUTES)}`)
  })

  test('calls candles closed that they have read whole', async () => {
    const path = `/v0/candles?pool=${POOL.id}&interval=1m&from=${shown(0)}&to=${shown(19)}&limit=100`
    const { body, headers } = await service.get(path)
    expect((body as { data: unknown[] }).data).toHaveLength(19)
    expect(headers.get('X-Market-Incomplete')).toBeNull()
    expect(headers.get('Cache-Control')).toBe('private, no-cache')
  })
})
