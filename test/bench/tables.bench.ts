/**
 * Cost of the tables as they grow from a million ticks to ten and fifty: how long a live block takes through the aggregator, beside a
 * bare insert of the same ticks, and how many bytes a tick takes on disk, a recorded one too. The first day (23 swaps in each of 43,200
 * blocks over 400 pools) goes through the aggregator; the others are copies of its ticks, candles and ledger, moved by whole days inside
 * the engine, since fifty days through it would take a quarter of an hour. DAYS, SWAPS (a block of the past) and LIVE_BLOCKS scale it.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ClickHouseClient } from '@clickhouse/client'
import { aggregate } from '../../aggregator/aggregate.ts'
import { positionAfterStored } from '../../aggregator/ledger/resume.ts'
import { storedChain } from '../../aggregator/ledger/stored-blocks.ts'
import { ask } from '../../aggregator/store/store.ts'
import { openStore } from '../../infra/clickhouse/store.ts'
import { inProcessLog } from '../../infra/kafka/in-process.ts'
import type { Message } from '../../ingest/model/message.ts'
import { storeDay } from '../tour/day.ts'
import { createBareTable, insertBare, timeOf } from './bare-insert.ts'
import { figure, quantile, title } from './figure.ts'
import { copyFirstDay, storeFirstDay } from './past.ts'
import { blockMessage, type Shape } from './synthetic.ts'

const DAYS = (process.env['DAYS'] ?? '1,10,50').split(',').map(Number)
const SWAPS = Number(process.env['SWAPS'] ?? 23)
const LIVE_BLOCKS = Number(process.env['LIVE_BLOCKS'] ?? 200)
const WARM_UP_BLOCKS = 20
/** Beyond this, merging all of a table into one part takes minutes, and saves as little as it does below. */
const MAX_MERGED_DAYS = 10
const MAX_BYTES_A_TICK = 70
const SHAPE: Shape = { network: 'ethereum', swapsPerBlock: SWAPS, pools: 400, firstTime: Date.UTC(2025, 0, 1) / 1_000 }

const folder = await mkdtemp(join(tmpdir(), 'candlepool-bench-'))
const store = await openStore({ store: { kind: 'embedded' } }, folder, () => {})
const client = store.owner
await createBareTable(client)

await storeFirstDay(client, SHAPE)
let stored = 1
for (const [index, days] of DAYS.entries()) {
  // Live blocks have made a beginning of the day after those before.
  await copyFirstDay(client, SHAPE, stored, days + index)
  stored = days + index + 1
  title(
    `${(await sumOf(client, 'rows', 'ticks')).toLocaleString('en')} ticks stored, ${(await sumOf(client, 'rows', 'candles')).toLocaleString('en')} candles`,
  )
  await live({ ...SHAPE, swapsPerBlock: 20, pools: 20 })
  await live({ ...SHAPE, swapsPerBlock: 300, pools: 100 })
  await printBytes('as they are')
  if (days > MAX_MERGED_DAYS) continue
  for (const table of ['ticks', 'candles']) await client.command({ query: `OPTIMIZE TABLE ${table} FINAL` })
  await printBytes('merged into one part a partition')
}
// A part of candles is one file, which does not say what a column takes: the recorded day has files of their own.
await printColumns(client, 'ticks', 'table ticks, column by column')
await store.close()
await recordedDay()
await rm(folder, { recursive: true, force: true })
process.exit()

/** As after a restart: the first block finds nothing in memory. */
async function live(shape: Shape): Promise<void> {
  const { network, swapsPerBlock, pools } = shape
  const tip = await storedChain(client, network).tip()
  if (!tip) throw new Error('There is no past that a live block could follow.')
  const log = inProcessLog<Message>({ nextOffset: 0 })
  const stopping = new AbortController()
  const position = await positionAfterStored(client, network)
  const aggregating = aggregate(client, {
    network,
    log,
    position,
    report: (fact) => fact.kind === 'store-failed' && console.error(fact),
    signal: stopping.signal,
  })
  const ours: number[] = []
  const bare: number[] = []
  for (let step = 1; step <= WARM_UP_BLOCKS + LIVE_BLOCKS; step++) {
    const message = blockMessage(tip.number + step, shape)
    ours.push(await timeOf(() => log.append([step === 1 ? { ...message, parentHash: tip.hash } : message])))
    bare.push(await timeOf(() => insertBare(client, message)))
  }
  stopping.abort()
  await log.close()
  await aggregating
  const what = `block of ${swapsPerBlock} swaps over ${pools} pools`
  figure(`first ${what} after a start`, ours[0] ?? Number.NaN, 'ms', bare[0])
  const [times, floors] = [ours.slice(WARM_UP_BLOCKS), bare.slice(WARM_UP_BLOCKS)]
  for (const share of [0.5, 0.95]) {
    figure(`live ${what}, p${share * 100}`, quantile(times, share), 'ms', quantile(floors, share))
  }
}

async function printBytes(how: string): Promise<void> {
  const ticks = await sumOf(client, 'rows', 'ticks')
  const [ofTicks = 0, ofCandles = 0] = await Promise.all([
    sumOf(client, 'bytes_on_disk', 'ticks'),
    sumOf(client, 'bytes_on_disk', 'candles'),
  ])
  figure(`table ticks, ${how} (${MAX_BYTES_A_TICK} at the most)`, ofTicks / ticks, 'B/tick', MAX_BYTES_A_TICK)
  figure(`table candles, ${how}`, ofCandles / ticks, 'B/tick')
  figure(`ticks and candles, ${how}`, (ofTicks + ofCandles) / ticks, 'B/tick')
}

/** Bytes of a row. */
async function printColumns(client: ClickHouseClient, table: string, what: string): Promise<void> {
  title(what)
  const columns = await ask<{ name: string; bytes: number }>(
    client,
    `SELECT name, toFloat64(data_compressed_bytes) AS bytes FROM system.columns
     WHERE database = currentDatabase() AND table = {table:String} ORDER BY bytes DESC`,
    { table },
  )
  const rows = await sumOf(client, 'rows', table)
  for (const { name, bytes } of columns) if (bytes > 0) figure(name, bytes / rows, 'B/row')
  figure('all columns', columns.reduce((sum, { bytes }) => sum + bytes, 0) / rows, 'B/row')
}

/** Recorded swaps of one pool, so that no other pool's rows lie between them. */
async function recordedDay(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'candlepool-bench-'))
  const store = await openStore({ store: { kind: 'embedded' } }, folder, () => {})
  await storeDay(store.owner, inProcessLog<Message>({ nextOffset: 0 }))
  // So few rows would share a file, which says nothing of a column.
  const ticks = await sumOf(store.owner, 'rows', 'ticks')
  for (const table of ['ticks', 'candles']) {
    await store.owner.command({ query: `ALTER TABLE ${table} MODIFY SETTING min_bytes_for_wide_part = 0` })
    await store.owner.command({ query: `OPTIMIZE TABLE ${table} FINAL` })
    await printColumns(
      store.owner,
      table,
      `table ${table} of the ${ticks.toLocaleString('en')} swaps of a recorded day`,
    )
  }
  await store.close()
  await rm(folder, { recursive: true, force: true })
}

async function sumOf(client: ClickHouseClient, column: string, table: string): Promise<number> {
  const [row] = await ask<{ value: number }>(
    client,
    `SELECT toFloat64(sum(${column})) AS value FROM system.parts
     WHERE active AND database = currentDatabase() AND table = {table:String}`,
    { table },
  )
  return row?.value ?? Number.NaN
}
