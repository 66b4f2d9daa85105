/** Candles two ways: as the tables hold them, and as the core folds them from a chain's ticks. */
import type { ClickHouseClient } from '@clickhouse/client'
import { bucketStart, type Candle, fromTick, merge, RESOLUTIONS } from '../../aggregator/candles/candle.ts'
import type { BlockContent } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'

/** By `pool resolution time`. */
export type Candles = Record<string, Candle>

export function candleKey(pool: PoolId, resolution: number, time: number): string {
  return `${pool} ${resolution} ${new Date(time * 1000).toISOString()}`
}

export function foldedCandles(blocks: readonly BlockContent[]): Candles {
  const candles = new Map<string, Candle>()
  for (const { timestamp, ticks } of blocks) {
    for (const tick of ticks) {
      for (const resolution of RESOLUTIONS) {
        const key = candleKey(tick.pool, resolution, bucketStart(timestamp, resolution))
        const earlier = candles.get(key)
        candles.set(key, earlier ? merge(earlier, fromTick(tick)) : fromTick(tick))
      }
    }
  }
  return Object.fromEntries(candles)
}

type Row = Record<string, string> & { pool: PoolId }

/** Candles with trades, and the keys of buckets that lost all their ticks. */
export async function storedCandles(
  client: ClickHouseClient,
  network: NetworkName,
): Promise<{ shown: Candles; empty: string[] }> {
  const answer = await client.query({
    query: `SELECT * REPLACE (toUnixTimestamp(time) AS time) FROM candles FINAL WHERE network = {network:String}`,
    query_params: { network },
    format: 'JSONStringsEachRow',
    clickhouse_settings: { asterisk_include_alias_columns: 1 },
  })
  const shown: Candles = {}
  const empty: string[] = []
  for (const row of await answer.json<Row>()) {
    const key = candleKey(row.pool, Number(row['resolution']), Number(row['time']))
    if (row['trades'] === '0') empty.push(key)
    else shown[key] = candleOf(row)
  }
  return { shown, empty }
}

/** ClickHouse writes a Float64 in the fewest digits that give its bits back. */
export function candleOf(row: Row): Candle {
  const number = (column: string) => Number(row[column])
  const prices = (prefix: string) => ({
    open: number(`${prefix}open`),
    high: number(`${prefix}high`),
    low: number(`${prefix}low`),
    close: number(`${prefix}close`),
  })
  return {
    execution: prices(''),
    spot: prices('spot_'),
    volume0: BigInt(row['volume0'] ?? ''),
    volume1: BigInt(row['volume1'] ?? ''),
    volumeUsdMicros: microsOf(row['volume_usd'] ?? ''),
    trades: number('trades'),
    buys: number('buys'),
    buyVolume0: BigInt(row['bought0'] ?? ''),
    buyVolume1: BigInt(row['bought1'] ?? ''),
    unexecuted: number('unexecuted'),
  }
}

/** `12.34` is 12,340,000 millionths. */
export function microsOf(decimal: string): bigint {
  const [whole = '', fraction = ''] = decimal.split('.')
  return BigInt(whole + fraction.padEnd(6, '0'))
}
