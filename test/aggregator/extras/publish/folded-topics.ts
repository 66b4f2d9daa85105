/** A reader of publications: keeps the highest version of each identity, as the contract says, and shares nothing with the publisher. */
import type { ClickHouseClient } from '@clickhouse/client'
import { expect } from 'vitest'
import type { Prices } from '../../../../aggregator/candles/candle.ts'
import type {
  Publication,
  PublishedCandle,
  PublishedTick,
  PublishSink,
} from '../../../../aggregator/extras/publish/publication.ts'
import type { NetworkName } from '../../../../ingest/model/network.ts'
import type { TopicReader } from '../../../client/topics.ts'

export type FoldedTopics = {
  publications: Publication[]
  ticks: Map<string, PublishedTick>
  candles: Map<string, PublishedCandle>
  pools: Map<string, string | undefined>
  /** Inserts and retractions in the order of publishing that do not match: empty where every block was published once. */
  sink: PublishSink
}

export function foldTopics(onPublish: () => Promise<void> = async () => {}): FoldedTopics {
  const publications: Publication[] = []
  const ticks: FoldedTopics['ticks'] = new Map()
  const candles: FoldedTopics['candles'] = new Map()
  const pools: FoldedTopics['pools'] = new Map()
  let newest = -1n
  const sink: PublishSink = {
    async publish(publication) {
      await onPublish()
      const [version] = publication.ticks.map((tick) => tick.version)
      expect(version === undefined || version > newest, 'a publication has a version above those before it').toBe(true)
      newest = version ?? newest
      publications.push(publication)
      for (const { id, pool } of publication.pools) pools.set(id, pool && `${pool.token0.symbol}-${pool.token1.symbol}`)
      for (const change of publication.ticks) {
        const identity = `${change.tick.pool} ${change.block.number} ${change.tick.logIndex}`
        if ((ticks.get(identity)?.version ?? -1n) <= change.version) ticks.set(identity, change)
      }
      for (const change of publication.candles) {
        const { pool, resolution, start } = change.bucket
        const identity = `${pool} ${resolution} ${start}`
        if ((candles.get(identity)?.version ?? -1n) <= change.version) candles.set(identity, change)
      }
    },
  }
  return { publications, ticks, candles, pools, sink }
}

/** Rows as text, without an order. */
export type TopicRows = { ticks: readonly string[]; candles: readonly string[] }

export function rowsOfFolded({ ticks, candles }: FoldedTopics): TopicRows {
  return {
    ticks: [...ticks.values()].flatMap(({ op, block, tick }) =>
      op === 'retract'
        ? []
        : JSON.stringify({
            pool: tick.pool,
            time: String(block.timestamp),
            block: String(block.number),
            log_index: String(tick.logIndex),
            hash: tick.transactionHash.slice(2),
            amount0: String(tick.amount0),
            amount1: String(tick.amount1),
            sqrt_price: String(tick.sqrtPriceX96),
            liquidity: String(tick.liquidity),
            pool_tick: String(tick.poolTick),
            fee: String(tick.fee),
            usd: String(tick.amountUsdMicros),
          }),
    ),
    candles: [...candles.values()].flatMap(({ bucket: { pool, resolution, start, candle } }) =>
      candle.trades === 0
        ? []
        : JSON.stringify({
            pool,
            resolution: String(resolution),
            start: String(start),
            ...bitsOfPrices(candle.execution),
            spot_close: bitsOf(candle.spot.close),
            volume0: String(candle.volume0),
            volume1: String(candle.volume1),
            trades: String(candle.trades),
            buys: String(candle.buys),
            buy_volume0: String(candle.buyVolume0),
            buy_volume1: String(candle.buyVolume1),
          }),
    ),
  }
}

/** Records of a real topic, as the reference consumer keeps them. */
export function rowsOfReader({ ticks, candles }: TopicReader): TopicRows {
  return {
    ticks: [...ticks.values()].flatMap(({ op, pool, timestamp, blockNumber, logIndex, transactionHash, raw }) =>
      op === 'retract'
        ? []
        : JSON.stringify({
            pool,
            time: String(Date.parse(timestamp) / 1000),
            block: String(blockNumber),
            log_index: String(logIndex),
            hash: transactionHash.slice(2),
            amount0: raw.amount0,
            amount1: raw.amount1,
            sqrt_price: raw.sqrtPriceX96,
            liquidity: raw.liquidity,
            pool_tick: String(raw.tick),
            fee: String(raw.fee),
            usd: raw.amountUSDMicros,
          }),
    ),
    candles: [...candles.values()].flatMap(({ candle }) =>
      candle === undefined
        ? []
        : JSON.stringify({
            pool: candle.pool,
            resolution: String(candle.resolution),
            start: String(Date.parse(candle.time) / 1000),
            ...bitsOfPrices(candle),
            spot_close: bitsOf(candle.spot.close),
            volume0: candle.raw.volume0,
            volume1: candle.raw.volume1,
            trades: String(candle.trades),
            buys: String(candle.buys),
            buy_volume0: candle.raw.buyVolume0,
            buy_volume1: candle.raw.buyVolume1,
          }),
    ),
  }
}

/** Rows of `ticks` and `candles` beside those that a reader has. */
export async function expectAsStored(
  client: ClickHouseClient,
  network: NetworkName,
  { ticks, candles }: TopicRows,
  name: string,
): Promise<void> {
  const rows = async (query: string) => {
    const answer = await client.query({ query, query_params: { network }, format: 'JSONStringsEachRow' })
    return (await answer.json<Record<string, string>>()).map((row) => JSON.stringify(row))
  }
  const storedTicks = await rows(
    `SELECT pool, toUnixTimestamp(time) AS time, block, log_index, lower(hex(transaction_hash)) AS hash, amount0, amount1,
       sqrt_price, liquidity, pool_tick, fee, toInt256(amount_usd * 1000000) AS usd
     FROM ticks FINAL WHERE network = {network:String}`,
  )
  expectSameRows(ticks, storedTicks, `${name}: ticks`)
  const storedCandles = await rows(
    `SELECT pool, resolution, toUnixTimestamp(time) AS start, hex(open) AS open, hex(high) AS high, hex(low) AS low, hex(close) AS close,
       hex(spot_close) AS spot_close, volume0, volume1, trades, buys, bought0 AS buy_volume0, bought1 AS buy_volume1
     FROM candles FINAL WHERE network = {network:String} AND trades > 0`,
  )
  expectSameRows(candles, storedCandles, `${name}: candles`)
}

function bitsOfPrices({ open, high, low, close }: Prices) {
  return { open: bitsOf(open), high: bitsOf(high), low: bitsOf(low), close: bitsOf(close) }
}

/** ClickHouse prints the bytes in the order of memory. */
function bitsOf(value: number): string {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleLE(value)
  return bytes.toString('hex').toUpperCase()
}

function expectSameRows(found: readonly string[], wanted: readonly string[], what: string): void {
  const [there, stored] = [new Set(found), new Set(wanted)]
  const phantom = found.filter((row) => !stored.has(row))
  const missing = wanted.filter((row) => !there.has(row))
  expect({ rows: found.length, phantom: phantom.slice(0, 3), missing: missing.slice(0, 3) }, what).toStrictEqual({
    rows: wanted.length,
    phantom: [],
    missing: [],
  })
}
