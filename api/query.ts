/** What users may ask: the parameters of each question and their rules. */
import { z } from 'zod'
import type { UnixSeconds } from '../ingest/message.ts'
import { NETWORK_NAMES, type NetworkName } from '../ingest/network.ts'
import type { PoolId } from '../ingest/pool.ts'
import { INTERVAL_RULE, parseInterval } from './interval.ts'
import { SYMBOL_RULE, splitSymbol } from './market/symbol.ts'
import type { Range } from './market/windows.ts'
import { field, type JointRule, type Parameters, readQuestion } from './parameters.ts'
import { type Instant, isBefore, parseTime, TIME_RULE, wholeSecond } from './time.ts'

export const FILLS = ['previous', 'none'] as const
export type Fill = (typeof FILLS)[number]

/** What the taker paid, or where the swap left the pool. */
export const PRICES = ['execution', 'spot'] as const
export type PriceKind = (typeof PRICES)[number]

const symbol = field(SYMBOL_RULE, (text) => {
  const splits = splitSymbol(text)
  return splits.length === 0 ? undefined : { text, splits }
})
const pool = field('a pool address (0x and 40 hex digits) or a v4 pool id (0x and 64 hex digits)', parsePool)
const time = field(TIME_RULE, parseTime)
const networks = field(`a comma-separated list of ${NETWORK_NAMES.join(', ')}`, parseNetworks)

function limit(most: number, usual: number) {
  return field(`a whole number from 1 to ${most}`, (text) => {
    const count = /^[0-9]{1,9}$/.test(text) ? Number(text) : 0
    return count >= 1 && count <= most ? count : undefined
  }).default(usual)
}
const price = z.enum(PRICES, { error: 'must be execution or spot' }).default('execution')

const CandleShape = z.object({
  symbol: symbol.optional(),
  pool: pool.optional(),
  interval: field(INTERVAL_RULE, parseInterval),
  from: time.optional(),
  to: time.optional(),
  networks: networks.optional(),
  limit: limit(100, 5),
  fill: z.enum(FILLS, { error: 'must be previous or none' }).default('previous'),
  price: price,
})

const TickShape = z.object({
  symbol: symbol.optional(),
  pool: pool.optional(),
  from: time.optional(),
  to: time.optional(),
  networks: networks.optional(),
  limit: limit(1000, 100),
  price: price,
})

const PoolShape = z.object({ symbol })

export type CandleQuery = z.output<typeof CandleShape>
export type TickQuery = z.output<typeof TickShape>
export type PoolQuery = z.output<typeof PoolShape>

export function readCandleQuery(parameters: Parameters): CandleQuery {
  return readQuestion(CandleShape, parameters, marketRules)
}

export function readTickQuery(parameters: Parameters): TickQuery {
  return readQuestion(TickShape, parameters, marketRules)
}

export function readPoolQuery(parameters: Parameters): PoolQuery {
  return readQuestion(PoolShape, parameters)
}

/** Without `from`, as many intervals as candles were asked for: any such range holds exactly that many bucket starts. */
export function candleRange(query: CandleQuery, now: Instant): Range {
  const to = wholeSecond(query.to ?? now)
  return { from: query.from === undefined ? to - query.interval * query.limit : wholeSecond(query.from), to }
}

const HOUR: UnixSeconds = 3_600

/** Without `from`, an hour. */
export function tickRange(query: TickQuery, now: Instant): Range {
  const to = wholeSecond(query.to ?? now)
  return { from: query.from === undefined ? to - HOUR : wholeSecond(query.from), to }
}

const marketRules: JointRule = (given) => {
  const errors = []
  if (given.has('symbol') && given.has('pool'))
    errors.push({ field: 'pool', message: 'must not be given together with symbol: ask for one of them' })
  if (!given.has('symbol') && !given.has('pool'))
    errors.push({ field: 'symbol', message: 'is required, or pool: ask for one of them' })
  const from = parseTime(given.get('from') ?? '')
  const to = parseTime(given.get('to') ?? '')
  if (from !== undefined && to !== undefined && !isBefore(from, to))
    errors.push({ field: 'from', message: 'must be before to' })
  return errors
}

function parsePool(text: string): PoolId | undefined {
  return /^0x(?:[0-9a-f]{40}|[0-9a-f]{64})$/i.test(text) ? (text.toLowerCase() as PoolId) : undefined
}

/** In the order asked, each once. */
function parseNetworks(text: string): readonly NetworkName[] | undefined {
  const names = text.split(',').map((part) => NETWORK_NAMES.find((name) => name === part.trim()))
  const known = names.filter((name) => name !== undefined)
  return known.length === names.length ? [...new Set(known)] : undefined
}
