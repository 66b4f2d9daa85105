/**
 * Tables with a past: one made-up day through the aggregator, then copies of it, moved inside the engine by whole days and from pool to
 * pool. Candles move as their ticks do, so that every copy is what the aggregator would have written (`verify` finds no wrong candle in
 * them); only transactions and blocks have hashes of their own.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import { aggregate } from '../../aggregator/aggregate.ts'
import { queryRows } from '../../api/lib/store.ts'
import { inProcessLog } from '../../infra/kafka/in-process.ts'
import type { Message } from '../../ingest/model/message.ts'
import { rangeMessage, SECONDS_A_BLOCK, type Shape } from './synthetic.ts'

const DAY = 86_400
export const BLOCKS_A_DAY = DAY / SECONDS_A_BLOCK
const BLOCKS_A_RANGE = 400
/** Copied in one statement: what it sorts is held in memory. */
const DAYS_AT_ONCE = 3

/** `shape.firstTime` is a midnight. The blocks of day n are numbered from n · BLOCKS_A_DAY. */
export async function storeFirstDay(client: ClickHouseClient, shape: Shape): Promise<void> {
  const log = inProcessLog<Message>({ nextOffset: 0 })
  const stopping = new AbortController()
  const position = { generation: 0, offset: 0 }
  const aggregating = aggregate(client, {
    network: shape.network,
    log,
    position,
    report: () => {},
    signal: stopping.signal,
  })
  for (let from = 0; from < BLOCKS_A_DAY; from += BLOCKS_A_RANGE) {
    await log.append([rangeMessage(from, from + BLOCKS_A_RANGE - 1, shape)])
  }
  stopping.abort()
  await log.close()
  await aggregating
}

/** Days from `from` up to, not with, `to`, as copies of day 0, each moved by so many pools against the day before. */
export async function copyFirstDay(
  client: ClickHouseClient,
  shape: Shape,
  from: number,
  to: number,
  poolsADay = POOLS_A_DAY,
): Promise<void> {
  for (let first = from; first < to; first += DAYS_AT_ONCE) {
    const days = Math.min(DAYS_AT_ONCE, to - first)
    for (const [table, moved] of Object.entries(movedColumns(shape, poolsADay))) {
      const query = `INSERT INTO ${table} SELECT * EXCEPT day REPLACE (${moved.join(', ')}) FROM ${table} ARRAY JOIN range(${first}, ${first + days}) AS day
        WHERE network = '${shape.network}' AND ${table}.time < toDateTime(${shape.firstTime + DAY}, 'UTC')`
      await client.command({ query, clickhouse_settings: ONE_PART })
    }
  }
  await merged(client)
}

/** Resolves once the engine leaves the parts as they are: what is timed afterwards is read from what it makes of them, and not beside that. */
async function merged(client: ClickHouseClient): Promise<void> {
  for (let quiet = 0; quiet < QUIET_SECONDS; quiet++) {
    await sleep(1_000)
    const [row] = await queryRows<{ merges: string }>(client, 'SELECT count() AS merges FROM system.merges')
    if (row?.merges !== '0') quiet = 0
  }
}

/** By day 0's pool so many places before it: days of one pool that were alike would be stored as one by the compression. */
const POOLS_A_DAY = 37

function movedPool({ pools }: Shape, poolsADay: number): string {
  const index = 'reinterpretAsUInt16(reverse(unhex(substring(pool, 3, 4)))) - 1'
  const digits = `leftPad(lower(hex((${index} + day * ${poolsADay}) % ${pools} + 1)), 4, '0')`
  return `concat('0x', repeat(${digits}, 10)) AS pool`
}

const LATER = {
  time: `time + day * ${DAY} AS time`,
  block: `block + day * ${BLOCKS_A_DAY} AS block`,
  number: `number + day * ${BLOCKS_A_DAY} AS number`,
  first: `first + day * ${BLOCKS_A_DAY} AS first`,
}

function movedColumns(shape: Shape, poolsADay: number): Record<string, string[]> {
  const pool = movedPool(shape, poolsADay)
  return {
    ticks: [pool, LATER.time, LATER.block, 'randomFixedString(32) AS transaction_hash'],
    candles: [pool, LATER.time],
    blocks: [LATER.time, LATER.number, LATER.first, 'randomFixedString(32) AS hash'],
  }
}

/** Large parts from the start, so that less is left to merge. */
const ONE_PART = { min_insert_block_size_rows: '10000000', min_insert_block_size_bytes: '0' } as const
const QUIET_SECONDS = 10
