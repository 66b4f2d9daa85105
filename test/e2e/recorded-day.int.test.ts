/** A recorded day of real swaps through the real main job: once in one process, once as three processes over Kafka. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import type { ClickHouseClient } from '@clickhouse/client'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { connect } from '../../infra/clickhouse/client/client.ts'
import { findEngine } from '../../infra/clickhouse/engine/engine-access.ts'
import { type Ask, asker, type Running, run, temporaryFolder, untilReady } from '../support/candlepool.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { DAY, DAY_POOL, recordedDay, recordedMinutes } from '../support/recorded.ts'
import { startRecordedDay } from '../support/recorded-day.ts'
import { MARKET_TABLES, rowsOf } from '../support/rows.ts'
import type { RpcServer } from '../support/rpc-server.ts'
import { until } from '../support/until.ts'

/** The last blocks of the day are not final yet, so that both paths are taken: ranges, then single blocks. */
const FINALIZED = DAY.lastBlock - 40
const KEY = 'a-key-for-the-recorded-day'

let rpc: RpcServer
let folder: Awaited<ReturnType<typeof temporaryFolder>>
let main: Running
let ask: Ask
let store: ClickHouseClient

beforeAll(async () => {
  rpc = await startRecordedDay({ finalized: FINALIZED })
  folder = await temporaryFolder()
  main = run('start', {
    ETHEREUM_RPC_URL: rpc.url,
    ETHEREUM_START: String(DAY.firstBlock),
    DATA_DIR: folder.path,
    PORT: '0',
  })
  const { url, key } = await untilReady(main)
  ask = asker(url, key)
  await until(() => untilTip(ask), 'the day is stored')
  const engine = await findEngine(`${folder.path}/store`)
  if (!engine) throw new Error('The engine of the started process is not to be found.')
  store = connect({ ...engine, ...engine.users.owner })
})

afterAll(async () => {
  await store?.close()
  await main?.stop()
  await folder?.remove()
  await rpc?.stop()
})

type Health = { networks: { network: string; tip: { number: number } | null }[] }

async function untilTip(ask: Ask): Promise<true | undefined> {
  const { networks } = await ask<Health>('/v0/health')
  return networks[0]?.tip?.number === DAY.lastBlock ? true : undefined
}

describe('the recorded day, in one process', () => {
  test('is 6,046 ticks, paged over HTTP', async () => {
    type Tick = { id: string; timestamp: string; amount0: string; amount1: string }
    const ticks = new Map<string, Tick>()
    let to = new Date(DAY.end * 1000)
    for (;;) {
      const { data } = await ask<{ data: Tick[] }>(
        `/v0/ticks?pool=${DAY_POOL}&from=2024-01-05&to=${to.toISOString()}&limit=1000`,
      )
      const known = ticks.size
      for (const tick of data) ticks.set(tick.id, tick)
      if (ticks.size === known || data[0] === undefined) break
      // Ticks that share a second are met again, and told apart by their id.
      to = new Date(Date.parse(data[0].timestamp) + 1_000)
    }
    expect(ticks.size).toBe(6_046)
  })

  test('is one spot candle in USDC per WETH that others have counted too', async () => {
    type Candle = { time: string; open: number; high: number; low: number; close: number; volume: number }
    const { data } = await ask<{ data: Candle[] }>(
      '/v0/candles?symbol=WETH-USDC&interval=1d&from=2024-01-05&to=2024-01-06&price=spot',
    )
    expect(data).toHaveLength(1)
    const [day] = data
    expect(day?.time).toBe('2024-01-05T00:00:00Z')
    expect(day?.open).toBeCloseTo(2269.745824, 6)
    expect(day?.high).toBeCloseTo(2285.499059, 6)
    expect(day?.low).toBeCloseTo(2195.092195, 6)
    expect(day?.close).toBeCloseTo(2269.369572, 6)
    expect(day?.volume).toBe(246966136.903766)
  })

  test('has the minutes of an independent data set of the same logs', async () => {
    type Minute = Record<'minute' | 'open' | 'high' | 'low' | 'close', number> &
      Record<'net0' | 'net1' | 'in0' | 'in1', string>
    const answer = await store.query({
      query: `
        SELECT toUnixTimestamp(toStartOfMinute(time)) AS minute,
               argMin(pool_tick, (block, log_index)) AS open, max(pool_tick) AS high,
               min(pool_tick) AS low, argMax(pool_tick, (block, log_index)) AS close,
               toString(-sum(amount0)) AS net0, toString(-sum(amount1)) AS net1,
               toString(-sum(least(amount0, 0))) AS in0, toString(-sum(least(amount1, 0))) AS in1
        FROM ticks FINAL GROUP BY minute`,
      format: 'JSONEachRow',
    })
    const ours = new Map((await answer.json<Minute>()).map((minute) => [minute.minute, minute]))
    expect(ours.size).toBe(1_408)
    let compared = 0
    for (const theirs of recordedMinutes()) {
      const minute = ours.get(theirs.timestamp)
      // Empty minutes are carried forward over there.
      if (!minute) continue
      expect({ ...minute, minute: 0 }).toEqual({
        minute: 0,
        open: theirs.openTick,
        high: theirs.highestTick,
        low: theirs.lowestTick,
        close: theirs.closeTick,
        net0: theirs.netAmount0.toString(),
        net1: theirs.netAmount1.toString(),
        in0: theirs.inAmount0.toString(),
        in1: theirs.inAmount1.toString(),
      })
      compared += 1
    }
    expect(compared).toBe(1_408)
  })

  test('has minute candles whose spot prices lie in the ticks of those minutes', async () => {
    type Row = { minute: number; open: number; high: number; low: number; close: number }
    const answer = await store.query({
      query: `SELECT toUnixTimestamp(time) AS minute, spot_open AS open, spot_high AS high, spot_low AS low, spot_close AS close
              FROM candles FINAL WHERE resolution = 60 AND trades > 0`,
      format: 'JSONEachRow',
    })
    const theirs = new Map(recordedMinutes().map((minute) => [minute.timestamp, minute]))
    const rows = await answer.json<Row>()
    expect(rows).toHaveLength(1_408)
    for (const row of rows) {
      const minute = theirs.get(row.minute)
      expect(inTick(row.open, minute?.openTick)).toBe(true)
      expect(inTick(row.high, minute?.highestTick)).toBe(true)
      expect(inTick(row.low, minute?.lowestTick)).toBe(true)
      expect(inTick(row.close, minute?.closeTick)).toBe(true)
    }
  })

  test('has the flow of every minute that Python folds from the same logs, in both directions of the pair', async () => {
    const swaps = recordedDay()
      .filter(({ topics }) => topics[0]?.startsWith('0xc42079f9'))
      .map(({ blockTimestamp, data }) => [Number(blockTimestamp), data])
    expect(swaps).toHaveLength(6_046)
    const script = join(import.meta.dirname, 'fold_flow.py')
    const input = JSON.stringify(swaps)
    const folded: Record<string, number[]>[] = JSON.parse(
      execFileSync('python3', [script], { input, encoding: 'utf8' }),
    )
    for (const [base, symbol] of ['USDC-WETH', 'WETH-USDC'].entries()) {
      const ours = await allMinutes(`pool=${DAY_POOL}&symbol=${symbol}&interval=1m&fill=none&include=flow`)
      expect(Object.fromEntries(ours), symbol).toEqual(folded[base])
    }
  })

  test('knows the pool and its tokens by their own word', async () => {
    const { data } = await ask<{ data: object[] }>('/v0/pools?symbol=USDC-WETH')
    expect(data).toMatchObject([
      { id: DAY_POOL, network: 'ethereum', protocolVersion: 'dex-v3', feeTier: '500', txCount: '6169' },
    ])
  })
})

/** The flow of each minute of the day, as the Python script has it, by its second. */
async function allMinutes(query: string): Promise<Map<string, unknown[]>> {
  type Row = { time: string } & Record<(typeof FLOW)[number], number>
  const minutes = new Map<string, unknown[]>()
  for (let from = DAY.start; from < DAY.end; from += 6_000) {
    const range = `from=${isoOf(from)}&to=${isoOf(Math.min(from + 6_000, DAY.end))}&limit=100`
    const { data } = await ask<{ data: Row[] }>(`/v0/candles?${query}&${range}`)
    for (const row of data)
      minutes.set(
        String(Date.parse(row.time) / 1000),
        FLOW.map((name) => row[name]),
      )
  }
  return minutes
}

const FLOW = ['trades', 'buys', 'sells', 'volumeBase', 'volumeQuote', 'buyVolume', 'vwap'] as const

function isoOf(second: number): string {
  return new Date(second * 1000).toISOString()
}

/** Whether a spot price (WETH per USDC, decimal-adjusted) lies in a pool tick, but for the last bits of a double. */
function inTick(price: number, tick: number | undefined): boolean {
  const exact = Math.log(price * 1e12) / Math.log(1.0001)
  return tick !== undefined && exact > tick - 1e-6 && exact < tick + 1 + 1e-6
}

const kafka = inject('kafka')
const brokers = kafka && 'brokers' in kafka ? kafka.brokers : undefined

describe.skipIf(withoutClickHouse || !brokers)('the recorded day, as three processes over Kafka', () => {
  let database: TestDatabase
  const stages: Running[] = []

  beforeAll(async () => {
    database = await freshDatabase()
    const { url, username, password } = database.connection
    const shared = {
      ETHEREUM_RPC_URL: rpc.url,
      ETHEREUM_START: String(DAY.firstBlock),
      KAFKA_BROKERS: (brokers ?? []).join(','),
      CLICKHOUSE_URL: url,
      CLICKHOUSE_USER: username,
      CLICKHOUSE_PASSWORD: password,
      CLICKHOUSE_DATABASE: database.database,
      BOOTSTRAP_API_KEY: KEY,
      PORT: '0',
    }
    for (const stage of ['ingest', 'aggregate', 'api'] as const) stages.push(run(stage, shared))
    const [, port] = (await stages[2]?.untilPrinted(/"port":(\d+),"msg":"server listening/)) ?? []
    const asked = asker(`http://127.0.0.1:${port}`, KEY)
    await until(() => untilTip(asked), 'the day is stored')
  })

  afterAll(async () => {
    await Promise.all(stages.map((stage) => stage.stop()))
    await database?.drop()
  })

  test.each(MARKET_TABLES)('leaves the same %s', async (table) => {
    const [inOneProcess, inThree] = await Promise.all([rowsOf(store, table), rowsOf(database.client, table)])
    expect(inThree).toEqual(inOneProcess)
  })
})
