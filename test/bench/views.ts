/** The alternative to our candles: incremental materialized views over a table of ticks, which fold whatever is inserted. */
import type { ClickHouseClient } from '@clickhouse/client'
import { type Candle, RESOLUTIONS } from '../../aggregator/candles/candle.ts'
import { insertRows } from '../../aggregator/store/store.ts'
import { tickRow } from '../../aggregator/write/rows.ts'
import type { BlockMessage } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import { candleKey, candleOf } from '../aggregator/candles.ts'

/** How the views hang together, and what is inserted for a block that a reorg took away. */
export const VIEWS = {
  /** Four views of the ticks. */
  parallel: { source: 'parallel_ticks', minutes: 'parallel_candles', nets: false },
  /** One view of the ticks, each other one of the next finer. */
  chained: { source: 'chained_ticks', minutes: 'chained_candles_60', nets: false },
  /** As parallel, where a tick that is taken back is inserted once more with sign −1: sums come right, the rest cannot. */
  netted: { source: 'netted_ticks', minutes: 'netted_candles', nets: true },
} as const
export type Views = keyof typeof VIEWS

const PRICE = 'argMin, Float64, Tuple(UInt64, UInt32)'
const COLUMNS = `network LowCardinality(String), pool String, resolution UInt32, time DateTime('UTC'),
  open AggregateFunction(${PRICE}), high SimpleAggregateFunction(max, Float64), low SimpleAggregateFunction(min, Float64),
  close AggregateFunction(${PRICE.replace('argMin', 'argMax')}),
  spot_open AggregateFunction(${PRICE}), spot_high SimpleAggregateFunction(max, Float64),
  spot_low SimpleAggregateFunction(min, Float64), spot_close AggregateFunction(${PRICE.replace('argMin', 'argMax')}),
  volume0 SimpleAggregateFunction(sum, Int256), volume1 SimpleAggregateFunction(sum, Int256),
  volume_usd SimpleAggregateFunction(sum, Decimal(76, 6)), trades SimpleAggregateFunction(sum, Int64)`

export async function createViews(client: ClickHouseClient, views: Views): Promise<void> {
  const { source, nets } = VIEWS[views]
  await command(client, `CREATE TABLE ${source} AS ticks`)
  if (nets) await command(client, `ALTER TABLE ${source} ADD COLUMN sign Int8`)
  for (const [index, resolution] of RESOLUTIONS.entries()) {
    const finer = views === 'chained' ? RESOLUTIONS[index - 1] : undefined
    const into = views === 'chained' ? `chained_candles_${resolution}` : `${views}_candles`
    await command(
      client,
      `CREATE TABLE IF NOT EXISTS ${into} (${COLUMNS}) ENGINE = AggregatingMergeTree ORDER BY (network, pool, resolution, time)`,
    )
    const select = finer ? fromCandles(`chained_candles_${finer}`, resolution) : fromTicks(source, resolution, nets)
    await command(client, `CREATE MATERIALIZED VIEW ${views}_view_${resolution} TO ${into} AS ${select}`)
  }
}

const bucket = (resolution: number) =>
  `toDateTime(intDiv(toUnixTimestamp(t.time), ${resolution}) * ${resolution}, 'UTC') AS bucket`

function fromTicks(source: string, resolution: number, nets: boolean): string {
  const times = nets ? '* sign' : ''
  return `SELECT network, pool, toUInt32(${resolution}) AS resolution, bucket AS time,
    argMinState(price, (block, log_index)) AS open, max(price) AS high, min(price) AS low,
    argMaxState(price, (block, log_index)) AS close,
    argMinState(spot_price, (block, log_index)) AS spot_open, max(spot_price) AS spot_high, min(spot_price) AS spot_low,
    argMaxState(spot_price, (block, log_index)) AS spot_close,
    sum(abs(amount0) ${times}) AS volume0, sum(abs(amount1) ${times}) AS volume1, sum(amount_usd ${times}) AS volume_usd,
    ${nets ? 'sum(sign)' : 'toInt64(count())'} AS trades
    FROM (SELECT *, price, spot_price, ${bucket(resolution)} FROM ${source} AS t) GROUP BY network, pool, bucket`
}

function fromCandles(finer: string, resolution: number): string {
  return `SELECT network, pool, toUInt32(${resolution}) AS resolution, bucket AS time,
    argMinMergeState(open) AS open, max(high) AS high, min(low) AS low, argMaxMergeState(close) AS close,
    argMinMergeState(spot_open) AS spot_open, max(spot_high) AS spot_high, min(spot_low) AS spot_low,
    argMaxMergeState(spot_close) AS spot_close,
    sum(volume0) AS volume0, sum(volume1) AS volume1, sum(volume_usd) AS volume_usd, sum(trades) AS trades
    FROM (SELECT *, ${bucket(resolution)} FROM ${finer} AS t) GROUP BY network, pool, bucket`
}

export function insertViewed(client: ClickHouseClient, views: Views, block: BlockMessage, sign: 1 | -1): Promise<void> {
  const { source, nets } = VIEWS[views]
  return insertRows(client, source, (out) => {
    for (const tick of block.ticks) {
      tickRow(out, { network: block.network, block, version: 1n }, tick)
      if (nets) out.uint8(sign & 0xff)
    }
  })
}

/** One-minute candles, by `pool resolution time`. */
export async function viewedMinutes(
  client: ClickHouseClient,
  views: Views,
  network: NetworkName,
): Promise<Record<string, Candle>> {
  const answer = await client.query({
    query: `SELECT pool, toUnixTimestamp(time) AS start, argMinMerge(open) AS open, max(high) AS high, min(low) AS low,
        argMaxMerge(close) AS close, argMinMerge(spot_open) AS spot_open, max(spot_high) AS spot_high,
        min(spot_low) AS spot_low, argMaxMerge(spot_close) AS spot_close,
        sum(volume0) AS volume0, sum(volume1) AS volume1, sum(volume_usd) AS volume_usd, sum(trades) AS trades
      FROM ${VIEWS[views].minutes} WHERE network = {network:String} AND resolution = 60
      GROUP BY pool, start HAVING trades != 0`,
    query_params: { network },
    format: 'JSONStringsEachRow',
  })
  const rows = await answer.json<Parameters<typeof candleOf>[0]>()
  return Object.fromEntries(rows.map((row) => [candleKey(row.pool, 60, Number(row['start'])), candleOf(row)]))
}

async function command(client: ClickHouseClient, query: string): Promise<void> {
  await client.command({ query })
}
