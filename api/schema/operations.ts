/** The operations: for each path its parameters, answer, headers and errors. */
import type { z } from 'zod'
import type { ProblemCode } from '../lib/problem.ts'
import { CandleShape, PoolShape, TickShape } from '../query/query.ts'
import type { HeaderName } from './headers.ts'

export type OperationPlan = {
  id: string
  summary: string
  description: string
  /** The rule of its cost, as text. */
  credits: string
  parameters: z.ZodObject | undefined
  /** The name of a schema. */
  answer: string
  headers: readonly HeaderName[]
  problems: readonly ProblemCode[]
  needsKey: boolean
}

const ANY = ['bad_request', 'uri_too_long', 'headers_too_large', 'internal', 'store_unavailable', 'overloaded'] as const
const KEYED = [...ANY, 'unauthorized', 'too_many_failures'] as const
const PAID = [...KEYED, 'invalid_parameters', 'minute_credits_exceeded', 'month_credits_exceeded'] as const
/** Problems of an operation that reads what is stored of networks. */
export const STORED = [...PAID, 'nothing_stored'] as const
/** Problems of an operation that finds one pool by a symbol or an id. */
export const SEARCHED = [...STORED, 'unknown_pool', 'unknown_symbol', 'no_pool'] as const
const MARKET = [...SEARCHED, 'no_usd_price', 'too_many_streams', 'stream_ended'] as const

/** Name the pool that answered, and what is missing or in doubt. */
export const MARKET_HEADERS = [
  'X-Market-Network',
  'X-Market-Pool',
  'X-Market-Venue',
  'X-Market-Pair',
  'X-Market-Hook-Deltas',
  'X-Market-Lead',
  'X-Market-Incomplete',
  'X-Market-Unproven',
  'X-Market-Final-Until',
  'X-Candlepool-Devnet',
] as const
const ROW_HEADERS = [...MARKET_HEADERS, 'X-Credits-Used', 'ETag'] as const
const FORMS =
  ' With `Accept: text/event-stream` and without `to`, the answer stays open: the events `snapshot`, `candle` or `tick`, `retract`, `tip` and `error`, each with an `id` by which the header `Last-Event-ID` resumes. `pool` may be repeated then. A further minute costs 1. With `Accept: text/csv` or `application/x-ndjson` the answer is its bare rows, and `X-Credits-Used` is the cost.'
const CREDITS =
  '1, plus 1 for each network that is searched for a symbol, plus 1 for each full 1,000 swaps, plus 1 for each full 7 days from the oldest row of the answer to the end of the range. A refusal that took a search for a pool (`unknown_symbol`, `no_pool`, `unknown_pool`, `no_usd_price`, one token under two names, too many swaps for `price=usd`) costs 1, every other error nothing.'

export const OPERATIONS: Readonly<Record<string, OperationPlan>> = {
  '/v0/candles': {
    id: 'candles',
    summary: 'OHLCV candles of a pair or a pool',
    description:
      'Candles begin at multiples of the interval and are never cut to the range; one counts where it starts in the range. The one in progress changes with every trade. A pool without trades in the range answers with an empty list.' +
      FORMS,
    credits: CREDITS,
    parameters: CandleShape,
    answer: 'Candles',
    headers: [...ROW_HEADERS, 'X-API-Suggestion'],
    problems: MARKET,
    needsKey: true,
  },
  '/v0/pools': {
    id: 'pools',
    summary: 'The pools of a pair, or one pool, on all networks',
    description:
      'At most 100, by `totalValueLockedUSD`, the most valuable first; `X-Market-More-Pools` says how many more there are. A pair that nothing trades has an empty list.',
    credits: '1, plus 1 for each full 20 pools.',
    parameters: PoolShape,
    answer: 'Pools',
    headers: ['X-Market-Lead-Pool', 'X-Market-More-Pools', 'X-Candlepool-Devnet'],
    problems: [...STORED, 'unknown_pool'],
    needsKey: true,
  },
  '/v0/ticks': {
    id: 'ticks',
    summary: 'Swaps, one by one',
    description:
      'Swaps of one block share a second, so the next page of a long history ends one second after the oldest swap of the last one, and known ids are dropped.' +
      FORMS,
    credits: CREDITS,
    parameters: TickShape,
    answer: 'Ticks',
    headers: ROW_HEADERS,
    problems: MARKET,
    needsKey: true,
  },
  '/v0/usage': {
    id: 'usage',
    summary: 'Credits and calls of the key',
    description: 'Answered when all credits are used, too.',
    credits: 'None.',
    parameters: undefined,
    answer: 'Usage',
    headers: [],
    problems: KEYED,
    needsKey: true,
  },
  '/v0/health': {
    id: 'health',
    summary: 'How far each network is stored',
    description: 'Needs no key.',
    credits: 'None.',
    parameters: undefined,
    answer: 'Health',
    headers: ['X-Candlepool-Devnet'],
    problems: ANY,
    needsKey: false,
  },
}
