/**
 * A start after a backfill, with nothing on the ledger yet: how long until the aggregator takes live blocks, and until the API has answered
 * candles. 100,000 swaps over 400 pools are stated as a job does; more are copies of them, moved by whole days inside the engine. SWAPS
 * scales it.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ClickHouseClient } from '@clickhouse/client'
import { aggregate } from '../../aggregator/aggregate.ts'
import { positionAfterStored } from '../../aggregator/ledger/resume.ts'
import { openStore } from '../../infra/clickhouse/store.ts'
import { inProcessLog } from '../../infra/kafka/in-process.ts'
import type { Message, RangeOverwrite } from '../../ingest/model/message.ts'
import { NETWORKS } from '../../ingest/model/networks.ts'
import { startService } from '../api/service.ts'
import { figure, quantile, title } from './figure.ts'
import { blockAt, poolId, poolsOf, type Shape } from './synthetic.ts'

const SWAPS = (process.env['SWAPS'] ?? '100000,1000000,10000000').split(',').map(Number)
const ROUNDS = 15
/** The first ones compile the code. */
const WARM_UP_ROUNDS = 3
const DAY = 86_400
/** Copied in one statement: what it sorts is held in memory. */
const DAYS_AT_ONCE = 10
const BLOCKS = 5_000
const SHAPE: Shape = { network: 'ethereum', swapsPerBlock: 20, pools: 400, firstTime: Date.UTC(2025, 0, 1) / 1_000 }
const SWAPS_A_DAY = BLOCKS * SHAPE.swapsPerBlock

type Started = { aggregator: number; candles: number }
type Filled = { client: ClickHouseClient; days: number; rounds: Started[]; close(): Promise<void> }

const filled: Filled[] = []
for (const swaps of SWAPS) filled.push(await fill(Math.max(1, Math.round(swaps / SWAPS_A_DAY))))
// One after the other in each round: what changes with the time of day changes for all of them.
for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
  for (const { client, days, rounds } of filled) {
    const started = await start(client, days)
    if (round >= 0) rounds.push(started)
  }
}
for (const { days, rounds } of filled) {
  title(`a start after a backfill of ${(days * SWAPS_A_DAY).toLocaleString('en')} swaps`)
  const p50 = (of: keyof Started) =>
    quantile(
      rounds.map((started) => started[of]),
      0.5,
    )
  figure('the aggregator takes live blocks', p50('aggregator'), 'ms')
  figure('candles are answered', p50('candles'), 'ms')
}
for (const { close } of filled) await close()
process.exit()

/** Tables of their own, with so many days of swaps. */
async function fill(days: number): Promise<Filled> {
  const folder = await mkdtemp(join(tmpdir(), 'candlepool-bench-'))
  const store = await openStore({ store: { kind: 'embedded' } }, folder, () => {})
  await stateFirstDay(store.owner)
  await copyDays(store.owner, 1, days)
  const close = async () => {
    await store.close()
    await rm(folder, { recursive: true, force: true })
  }
  return { client: store.owner, days, rounds: [], close }
}

/** As a process does it: the aggregator and the API of one start at once. */
async function start(client: ClickHouseClient, days: number): Promise<Started> {
  const began = performance.now()
  const [aggregator, candles] = await Promise.all([startAggregator(client), askCandles(client, days)])
  return { aggregator: aggregator - began, candles: candles - began }
}

async function startAggregator(client: ClickHouseClient): Promise<number> {
  const log = inProcessLog<Message>({ nextOffset: 0 })
  const history = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
  const stopping = new AbortController()
  const { network } = SHAPE
  const position = await positionAfterStored(client, network)
  let startedAt = Number.NaN
  await new Promise<void>((resolve, reject) => {
    const report = ({ kind }: { kind: string }) => {
      if (kind !== 'aggregator-started') return
      startedAt = performance.now()
      stopping.abort()
    }
    const { signal } = stopping
    aggregate(client, { network, log, history, position, report, signal }).then(resolve, reject)
  })
  await Promise.all([log.close(), history.close()])
  return startedAt
}

async function askCandles(client: ClickHouseClient, days: number): Promise<number> {
  const end = SHAPE.firstTime + (days - 1) * DAY + BLOCKS * 2
  const service = await startService({ client, networks: [NETWORKS.ethereum], clock: () => new Date(end * 1_000) })
  const to = new Date(end * 1_000).toISOString()
  const { status, body } = await service.get(`/v0/candles?pool=${poolId(0)}&interval=1m&limit=100&to=${to}`)
  const answeredAt = performance.now()
  if (status !== 200 || (body as { data: unknown[] }).data.length < 99)
    throw new Error(`No candles were answered: ${JSON.stringify(body)}`)
  await service.stop()
  return answeredAt
}

async function stateFirstDay(client: ClickHouseClient): Promise<void> {
  const log = inProcessLog<Message>({ nextOffset: 0 })
  const history = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
  const stopping = new AbortController()
  const position = { generation: 0, offset: 0 }
  const { network } = SHAPE
  const aggregating = aggregate(client, { network, log, history, position, report: () => {}, signal: stopping.signal })
  const blocks = Array.from({ length: BLOCKS }, (_, number) => blockAt(number, SHAPE)).map((block) =>
    block.number === 0 ? { ...block, pools: poolsOf(SHAPE.pools) } : block,
  )
  const to = BLOCKS - 1
  const newest = blockAt(to, SHAPE)
  const { timestamp, hash } = newest
  const firstTimestamp = SHAPE.firstTime
  await history.append([
    { kind: 'restatement', network, job: 1, pools: undefined, from: 0, to, firstTimestamp, timestamp, hash, blocks },
  ])
  stopping.abort()
  await Promise.all([log.close(), history.close()])
  await aggregating
}

/** Days from `from` up to, not with, `to`, as copies of day 0; blocks continue those of the day before. */
async function copyDays(client: ClickHouseClient, from: number, to: number): Promise<void> {
  const moved = {
    ticks: [`time + day * ${DAY} AS time`, `block + day * ${BLOCKS} AS block`],
    candles: [`time + day * ${DAY} AS time`],
    coverage: [
      ...[`first + day * ${BLOCKS} AS first`, `last + day * ${BLOCKS} AS last`],
      ...[`first_time + day * ${DAY} AS first_time`, `last_time + day * ${DAY} AS last_time`],
    ],
  }
  const firstDay: Record<keyof typeof moved, string> = {
    ticks: `block < ${BLOCKS}`,
    candles: `time < toDateTime(${SHAPE.firstTime + DAY}, 'UTC')`,
    coverage: `first < ${BLOCKS}`,
  }
  for (let day = from; day < to; day += DAYS_AT_ONCE) {
    for (const table of ['ticks', 'candles', 'coverage'] as const) {
      const query = `INSERT INTO ${table} SELECT * EXCEPT day REPLACE (${moved[table].join(', ')})
        FROM (SELECT * FROM ${table} WHERE ${firstDay[table]}) ARRAY JOIN range(${day}, ${Math.min(to, day + DAYS_AT_ONCE)}) AS day`
      await client.command({ query })
    }
  }
  for (const table of Object.keys(moved)) await client.command({ query: `OPTIMIZE TABLE ${table} FINAL` })
}
