/** The queries of the API: the parameters of each operation and their rules. */
import { z } from 'zod'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import { NETWORK_NAMES, type NetworkName } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import { CANDLE_ADDITIONS, include, POOL_ADDITIONS, type PoolAddition, TICK_ADDITIONS } from './include.ts'
import { INTERVAL_PATTERN, INTERVAL_RULE, parseInterval } from './interval.ts'
import { nearPair } from './near-pair.ts'
import { field, type JointRule, type RawParameters, readQuery } from './parameters.ts'
import { SYMBOL_RULE, splitSymbol } from './symbol.ts'
import { type Instant, isBefore, parseTime, TIME_PATTERN, TIME_RULE, wholeSecond } from './time.ts'
import type { TimeRange } from './time-range.ts'

export const FILLS = ['previous', 'none'] as const
export type Fill = (typeof FILLS)[number]

/** Prices of the pair. `execution`: what the taker paid, fee included; `spot`: the pool's price after the swap. */
export const PAIR_PRICES = ['execution', 'spot'] as const
export type PairPrice = (typeof PAIR_PRICES)[number]
/** The parameter of interfaces that read candles from the tables alone. */
export const pairPrice = z.enum(PAIR_PRICES, { error: 'must be execution or spot' }).default('execution')
/** `usd`: dollars of the first token of the pair. */
export const PRICES = [...PAIR_PRICES, 'usd'] as const
export type PriceKind = (typeof PRICES)[number]

const symbol = field(
  SYMBOL_RULE,
  (text) => {
    const splits = splitSymbol(text)
    return splits.length === 0 ? undefined : { text, splits }
  },
  { pattern: '^\\S(?:[\\s\\S]*\\S)?-\\S(?:[\\s\\S]*\\S)?$', examples: ['WETH-USDC'] },
  nearPair,
)
const POOL = /^0x(?:[0-9a-fA-F]{40}|[0-9a-fA-F]{64})$/
const pool = field('a pool address (0x and 40 hex digits) or a v4 pool id (0x and 64 hex digits)', parsePool, {
  pattern: POOL.source,
  examples: ['0x88e6a0c2ddd26feeb64f039a2c41296fcb3f5640'],
})
const time = field(TIME_RULE, parseTime, { pattern: TIME_PATTERN, examples: ['2024-01-05T00:00:00Z', '2024-01-05'] })
const NETWORK = `\\s*(?:${NETWORK_NAMES.join('|')})\\s*`
const NETWORKS = new RegExp(`^${NETWORK}(?:,${NETWORK})*$`)
const networks = field(`a comma-separated list of ${NETWORK_NAMES.join(', ')}`, parseNetworks, {
  pattern: NETWORKS.source,
  examples: ['ethereum', 'arbitrum,polygon'],
})

export function limit(most: number, usual: number) {
  const read = (text: string) => {
    const count = /^[0-9]{1,9}$/.test(text) ? Number(text) : 0
    return count >= 1 && count <= most ? count : undefined
  }
  const notation = { type: 'integer', minimum: 1, maximum: most, default: usual, examples: [usual] } as const
  return field(`a whole number from 1 to ${most}`, read, notation)
    .default(usual)
    .describe('How many rows at most; those are kept that are newest.')
}

const named = {
  symbol: symbol
    .optional()
    .describe(
      'The pair: `A-B` is the price of A in B, whatever the order on chain, in any letter case. `ETH` is WETH and native ether alike. Its lead pool answers, or the one that `pool` names. One of `symbol` and `pool` is required.',
    ),
  pool: pool
    .optional()
    .describe(
      'The pool, in any letter case. Answers are in its own order, token1 per token0, or in that of `symbol` where both are given: `symbol` has to name the tokens of the pool then.',
    ),
}
const usual = {
  networks: networks
    .optional()
    .describe(
      'Where to look. If not given, on Ethereum, and where that has no trade in the range on Arbitrum and Polygon as well.',
    ),
  price: z
    .enum(PRICES, { error: 'must be execution, spot or usd' })
    .default('execution')
    .describe(
      '`execution` is what the taker paid, fee included; `spot` is where the swap left the pool; `usd` is dollars of the first token, `amountUSD` by the amount of it, and leaves out swaps of less than a cent or 10,000 units of a token.',
    ),
}
const to = time.optional().describe('The end of the range: before it, not at it. Now if not given.')

export const CandleShape = z.object({
  ...named,
  interval: field(INTERVAL_RULE, parseInterval, {
    pattern: INTERVAL_PATTERN,
    examples: ['1h', '45s', '7m', '1d'],
  }).describe('The width of a candle. Candles begin at multiples of it, counted from 1970.'),
  from: time.optional().describe('The start of the range: at it or later. `limit` intervals before `to` if not given.'),
  to,
  limit: limit(100, 5),
  ...usual,
  fill: z
    .enum(FILLS, { error: 'must be previous or none' })
    .default('previous')
    .describe(
      'Candles without a trade: `previous` carries the last close forward with volume 0, never before the first stored trade and never past what is stored; `none` leaves them out.',
    ),
  include: include(CANDLE_ADDITIONS),
})

export const TickShape = z.object({
  ...named,
  from: time.optional().describe('The start of the range: at it or later. An hour before `to` if not given.'),
  to,
  limit: limit(1000, 100),
  ...usual,
  include: include(TICK_ADDITIONS),
})

export const PoolShape = z.object({
  symbol: symbol
    .optional()
    .describe(
      'The pair, in either order and any letter case. `ETH` is WETH and native ether alike. One of `symbol` and `pool` is required.',
    ),
  pool: pool.optional().describe('One pool, on each network that has it.'),
  include: include(POOL_ADDITIONS),
})

export type CandleQuery = z.output<typeof CandleShape>
export type TickQuery = z.output<typeof TickShape>
export type PoolQuery = ({ symbol: NonNullable<z.output<typeof PoolShape>['symbol']> } | { pool: PoolId }) & {
  include?: readonly PoolAddition[] | undefined
}

export function readCandleQuery(parameters: RawParameters): CandleQuery {
  return readQuery(CandleShape, parameters, marketRules)
}

export function readTickQuery(parameters: RawParameters): TickQuery {
  return readQuery(TickShape, parameters, marketRules)
}

export function readPoolQuery(parameters: RawParameters): PoolQuery {
  const { symbol, pool, include } = readQuery(PoolShape, parameters, poolRules)
  if (pool !== undefined) return { pool, include }
  if (symbol !== undefined) return { symbol, include }
  throw new Error('A query names a symbol or a pool: the rules ensure it.')
}

const poolRules: JointRule = (given) => {
  if (given.has('symbol') !== given.has('pool')) return []
  return given.has('symbol')
    ? [{ field: 'pool', message: 'must not be given beside symbol' }]
    : [{ field: 'symbol', message: 'is required, or pool: ask for one of them' }]
}

/** Without `from`, `limit` intervals before `to`: such a range holds exactly that many bucket starts. */
export function candleRange(query: CandleQuery, now: Instant): TimeRange {
  const to = wholeSecond(query.to ?? now)
  return { from: query.from === undefined ? to - query.interval * query.limit : wholeSecond(query.from), to }
}

const HOUR: UnixSeconds = 3_600

/** Without `from`, an hour. */
export function tickRange(query: TickQuery, now: Instant): TimeRange {
  const newest = newestHour(query.to ?? now)
  return query.from === undefined ? newest : { ...newest, from: wholeSecond(query.from) }
}

/** The hour that ends at `end`. */
export function newestHour(end: Instant): TimeRange {
  const to = wholeSecond(end)
  return { from: to - HOUR, to }
}

/** One of `symbol` and `pool`, and `from` before `to`. */
export const marketRules: JointRule = (given) => {
  const errors = []
  if (!given.has('symbol') && !given.has('pool'))
    errors.push({ field: 'symbol', message: 'is required, or pool: ask for one of them' })
  const from = parseTime(given.get('from') ?? '')
  const to = parseTime(given.get('to') ?? '')
  if (from !== undefined && to !== undefined && !isBefore(from, to))
    errors.push({ field: 'from', message: 'must be before to' })
  return errors
}

function parsePool(text: string): PoolId | undefined {
  return POOL.test(text) ? (text.toLowerCase() as PoolId) : undefined
}

/** In the order of the query, without repetitions. */
function parseNetworks(text: string): readonly NetworkName[] | undefined {
  if (!NETWORKS.test(text)) return undefined
  const asked = text.split(',').map((part) => part.trim())
  return [...new Set(asked)].flatMap((part) => NETWORK_NAMES.find((name) => name === part) ?? [])
}
