/** Records of the public topics: rows of the tables in the meaning of the API, beside the raw integers. schemas.ts has their contract. */
import type { Candle, Prices } from '../../../aggregator/candles/candle.ts'
import type { PublishedCandle, PublishedPool, PublishedTick } from '../../../aggregator/extras/publish/publication.ts'
import type { Network } from '../../../ingest/model/network.ts'
import type { Pool, Token } from '../../../ingest/model/pool.ts'
import { sideOf } from '../../../ingest/model/tick.ts'
import { venueOf } from '../../../ingest/model/venue.ts'
import { decimalNumber, decimalText } from '../../lib/decimal.ts'
import { shownSymbol } from '../../market/model/listing.ts'
import { formatTime } from '../../query/time.ts'
import type { CandleRecord, PoolRecord, TickRecord } from './schemas.ts'

const USD_DECIMALS = 6

export function tickRecord(network: Network, change: PublishedTick): TickRecord {
  const { op, version, pool, block, tick, isFinal } = change
  const { token0, token1 } = pool
  return {
    op,
    version: String(version),
    final: isFinal,
    network: network.name,
    pool: tick.pool,
    protocolVersion: pool.protocol,
    venue: venueOf(pool),
    blockNumber: block.number,
    blockHash: block.hash ?? null,
    logIndex: tick.logIndex,
    transactionHash: tick.transactionHash,
    sender: tick.sender ?? null,
    id: `${tick.transactionHash}-${tick.logIndex}`,
    timestamp: formatTime(block.timestamp),
    price: tick.price,
    spotPrice: tick.spotPrice,
    side: sideOf(tick),
    amount0: decimalText(tick.amount0, token0.decimals),
    amount1: decimalText(tick.amount1, token1.decimals),
    amountUSD: decimalNumber(tick.amountUsdMicros, USD_DECIMALS),
    token0: tokenOf(network, token0),
    token1: tokenOf(network, token1),
    raw: {
      amount0: String(tick.amount0),
      amount1: String(tick.amount1),
      amountUSDMicros: String(tick.amountUsdMicros),
      sqrtPriceX96: String(tick.sqrtPriceX96),
      liquidity: String(tick.liquidity),
      tick: tick.poolTick,
      fee: tick.fee,
    },
  }
}

export function candleRecord(network: Network, { bucket, pool, version, isFinal }: PublishedCandle): CandleRecord {
  const { resolution, start, candle } = bucket
  return {
    version: String(version),
    final: isFinal,
    network: network.name,
    pool: pool.id,
    venue: venueOf(pool),
    resolution,
    time: formatTime(start),
    ...pricesOf(candle.execution),
    spot: pricesOf(candle.spot),
    ...volumesOf(candle, pool),
    trades: candle.trades,
    buys: candle.buys,
    token0: tokenOf(network, pool.token0),
    token1: tokenOf(network, pool.token1),
  }
}

export function poolRecord(network: Network, pool: Pool, { block, isFinal }: PublishedPool): PoolRecord {
  return {
    final: isFinal,
    network: network.name,
    id: pool.id,
    protocolVersion: pool.protocol,
    venue: venueOf(pool),
    feeTier: pool.fee,
    blockNumber: block,
    token0: tokenOf(network, pool.token0),
    token1: tokenOf(network, pool.token1),
  }
}

function pricesOf({ open, high, low, close }: Prices): Prices {
  return { open, high, low, close }
}

function volumesOf(candle: Candle, { token0, token1 }: Pool) {
  const { volume0, volume1, volumeUsdMicros, buyVolume0, buyVolume1 } = candle
  return {
    volume0: decimalText(volume0, token0.decimals),
    volume1: decimalText(volume1, token1.decimals),
    volumeUSD: decimalText(volumeUsdMicros, USD_DECIMALS),
    buyVolume0: decimalText(buyVolume0, token0.decimals),
    buyVolume1: decimalText(buyVolume1, token1.decimals),
    raw: {
      volume0: String(volume0),
      volume1: String(volume1),
      buyVolume0: String(buyVolume0),
      buyVolume1: String(buyVolume1),
    },
  }
}

/** The curated symbol where there is one, as the API answers. */
function tokenOf(network: Network, token: Token) {
  const { address, name, decimals } = token
  return { address, symbol: shownSymbol(network, token), name, decimals }
}
