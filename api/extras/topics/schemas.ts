/** The contract of the public topics: one schema for each kind of record. The document at /v0/asyncapi.json is made of them. */
import { z } from 'zod'
import { NETWORK_NAMES } from '../../../ingest/model/network.ts'
import { PROTOCOL_VERSIONS } from '../../../ingest/model/pool.ts'
import { SIDES } from '../../../ingest/model/tick.ts'
import { VENUE_NAMES } from '../../../ingest/model/venue.ts'

/** Grows where a field is removed or changes its meaning; a new field leaves it as it is. */
export const RECORD_SCHEMA_VERSION = 1

const hash = () => z.string().regex(/^0x[0-9a-f]{64}$/)
const address = () => z.string().regex(/^0x[0-9a-f]{40}$/)
const pool = () =>
  z
    .string()
    .regex(/^0x(?:[0-9a-f]{40}|[0-9a-f]{64})$/)
    .describe('A v3 address or a v4 pool id, lower case.')
const time = () => z.iso.datetime({ precision: 0 })
const integer = () => z.string().regex(/^-?[0-9]+$/)
const natural = () => z.string().regex(/^[0-9]+$/)
const decimal = () => z.string().regex(/^-?[0-9]+(?:\.[0-9]+)?$/)
const count = () => z.int().min(0)
const network = () => z.enum(NETWORK_NAMES)
const venue = () => z.enum(VENUE_NAMES).describe('The exchange whose factory made the pool.')
const final = (meaning: string) => z.boolean().describe(meaning)
const version = () =>
  natural().describe(
    '128 bits, decimal. Of two records with one identity the higher version counts; an equal or lower one is a repetition.',
  )

const TopicToken = z.strictObject({
  address: address().describe('The zero address is the native currency of the chain.'),
  symbol: z.string().describe('That of the curated list where the token is in it, else that of the contract.'),
  name: z.string(),
  decimals: z.int().min(0).max(255),
})

export const TickRecordSchema = z
  .strictObject({
    op: z
      .enum(['insert', 'retract'])
      .describe('`retract`: a reorg or a repair removed this swap. All other fields are those of its insert.'),
    version: version(),
    final: final(
      'The chain no longer replaces the block. A swap that was inserted before its block was final is not repeated then.',
    ),
    network: network(),
    pool: pool(),
    protocolVersion: z.enum(PROTOCOL_VERSIONS),
    venue: venue(),
    blockNumber: count(),
    blockHash: hash().nullable().describe('null in a retraction of history that a backfill has read.'),
    logIndex: count(),
    transactionHash: hash(),
    sender: address()
      .nullable()
      .describe(
        'The contract or account that called the pool, most often a router; null in rows of versions that did not keep it.',
      ),
    id: z.string().describe('As in GET /v0/ticks: the transaction and the log index.'),
    timestamp: time().describe('That of the block.'),
    price: z.number().describe('Token1 per token0 that the taker paid, decimal-adjusted, fee included.'),
    spotPrice: z.number().describe('Token1 per token0 after the swap, decimal-adjusted.'),
    side: z
      .enum(SIDES)
      .describe(
        '`buy` where the taker received token0; where that did not move, token1 decides, and `buy` where neither moved.',
      ),
    amount0: decimal().describe('What the taker received of token0; negative where it was paid.'),
    amount1: decimal().describe('What the taker received of token1; negative where it was paid.'),
    amountUSD: z.number().min(0).describe('0 where neither token has a price.'),
    token0: TopicToken,
    token1: TopicToken,
    raw: z
      .strictObject({
        amount0: integer(),
        amount1: integer(),
        amountUSDMicros: natural().describe('Millionths of a US dollar.'),
        sqrtPriceX96: natural().describe('√(token1/token0) of raw units after the swap, times 2^96.'),
        liquidity: natural().describe('In range, after the swap.'),
        tick: z.int().describe("The pool's own tick after the swap."),
        fee: count().describe('Hundredths of a basis point that this swap paid.'),
      })
      .describe('Integers of the chain, from the side of the taker.'),
  })
  .describe('One swap. Its identity is network, pool, blockNumber and logIndex.')

const price = { open: z.number(), high: z.number(), low: z.number(), close: z.number() }

export const CandleRecordSchema = z
  .strictObject({
    version: version(),
    final: final('No later block changes this candle.'),
    network: network(),
    pool: pool(),
    venue: venue(),
    resolution: z.union([z.literal(1), z.literal(60), z.literal(3600), z.literal(86400)]).describe('Seconds.'),
    time: time().describe('The start of the candle.'),
    ...price,
    spot: z.strictObject(price).describe('The same by the spot price after each swap.'),
    volume0: decimal(),
    volume1: decimal(),
    volumeUSD: decimal(),
    buyVolume0: decimal().describe('The part of volume0 that takers bought.'),
    buyVolume1: decimal().describe('The part of volume1 that takers paid for it.'),
    raw: z.strictObject({ volume0: natural(), volume1: natural(), buyVolume0: natural(), buyVolume1: natural() }),
    trades: z.int().min(1),
    buys: count().describe('Trades whose `side` is `buy`; the others are sells.'),
    token0: TopicToken,
    token1: TopicToken,
  })
  .describe(
    'The state of one candle, token1 per token0. Its identity is the key of the record. A candle that lost all its swaps is a tombstone: a key without a value.',
  )

export const PoolRecordSchema = z
  .strictObject({
    final: final('The chain no longer replaces the block.'),
    network: network(),
    id: pool(),
    protocolVersion: z.enum(PROTOCOL_VERSIONS),
    venue: venue(),
    feeTier: count().describe('Hundredths of a basis point; 8388608 where a hook sets it.'),
    blockNumber: count().describe('The block in which the listener met the pool.'),
    token0: TopicToken,
    token1: TopicToken,
  })
  .describe('A pool and its tokens. A pool whose only block a reorg removed is a tombstone: a key without a value.')

export type TickRecord = z.infer<typeof TickRecordSchema>
export type CandleRecord = z.infer<typeof CandleRecordSchema>
export type PoolRecord = z.infer<typeof PoolRecordSchema>
