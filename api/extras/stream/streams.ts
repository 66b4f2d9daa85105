/** GET /v0/candles and /v0/ticks with `Accept: text/event-stream`: a snapshot, then its changes. */
import type { Request } from 'express'
import type { Report } from '../../../ingest/model/report.ts'
import type { Account, Accounts } from '../../accounts/accounts.ts'
import type { AccountHandler } from '../../http/authenticate.ts'
import type { ClientAddress } from '../../http/client-address.ts'
import { setMarket } from '../../http/headers.ts'
import type { ApiFact } from '../../lib/fact.ts'
import { PLANS } from '../../lib/plan.ts'
import { PROBLEMS, Problem } from '../../lib/problem.ts'
import { knownCost, type MarketAnswer } from '../../market/answer.ts'
import type { Market } from '../../market/market.ts'
import { viewPair } from '../../market/model/orientation.ts'
import { invalidParameters, parametersOf, type RawParameters } from '../../query/parameters.ts'
import { type CandleQuery, readCandleQuery, readTickQuery, type TickQuery } from '../../query/query.ts'
import { candleReader } from './candle-reader.ts'
import { type EventStream, eventStream } from './event-stream.ts'
import type { FeedMember } from './feed.ts'
import type { Feeds } from './feeds.ts'
import { tickReader } from './tick-reader.ts'

const MAX_POOLS = 20
const MINUTE_MS = 60_000
/** A revoked key ends its streams within this time. */
const KEY_CHECK_MS = 5_000

export type StreamOptions = {
  market: Market
  accounts: Accounts
  feeds: Feeds
  addressOf: ClientAddress
  clock: () => Date
  report: Report<ApiFact>
  /** Open streams by account. */
  open: Map<Account['id'], number>
}

type StreamKind<Query extends CandleQuery | TickQuery> = {
  read(parameters: RawParameters): Query
  answer(query: Query): Promise<MarketAnswer<unknown>>
  member(query: Query, answer: MarketAnswer<unknown>): FeedMember
}

export function streamCandles(options: StreamOptions): AccountHandler {
  const { market, clock } = options
  return streamOf<CandleQuery>(options, {
    read: readStreamedCandles,
    answer: market.candles,
    member: (query, answer) => ({
      ...placeOf(answer),
      reader: candleReader(market, answer.view.listing, atPool(query, answer), clock),
    }),
  })
}

export function streamTicks(options: StreamOptions): AccountHandler {
  const { market, clock } = options
  return streamOf<TickQuery>(options, {
    read: readTickQuery,
    answer: (query) => market.ticks(query),
    member(query, answer) {
      const place = placeOf(answer)
      return { ...place, reader: tickReader(market, place.network, atPool(query, answer), clock) }
    },
  })
}

/** A stream reads its candles after each block. */
function readStreamedCandles(parameters: RawParameters): CandleQuery {
  const query = readCandleQuery(parameters)
  if (query.price !== 'usd') return query
  const message = 'must be execution or spot in a stream of candles; a stream of ticks may have usd'
  throw invalidParameters([{ field: 'price', message }])
}

function streamOf<Query extends CandleQuery | TickQuery>(
  options: StreamOptions,
  kind: StreamKind<Query>,
): AccountHandler {
  const { accounts, feeds, open, report } = options
  return async function stream(account, req, res) {
    const queries = queriesOf(parametersOf(req), kind.read)
    const count = (change: 1 | -1) => {
      open.set(account.id, (open.get(account.id) ?? 0) + change)
      report({ kind: 'streams-open', change })
    }
    requireFree(open.get(account.id) ?? 0, account)
    const events = eventStream(res)
    if (events.closed.aborted) return
    count(1)
    events.closed.addEventListener('abort', () => count(-1))
    const known = queries.reduce((sum, query) => sum + knownCost(query), 0)
    await accounts.charge(account, known, async () => {
      const answers = await Promise.all(queries.map(kind.answer))
      const members = () => answers.map((answer, index) => kind.member(queries[index] as Query, answer))
      const feed = feeds.open(keyOf(req, queries, answers), members)
      const cost = answers.reduce((sum, answer) => sum + answer.cost, 0)
      const isResumed = await feed.join(events, req.get('Last-Event-ID'), cost)
      events.closed.addEventListener('abort', () => feed.leave(events))
      if (events.closed.aborted) feed.leave(events)
      const [first] = answers
      if (first) setMarket(res, first)
      return { cost: isResumed ? 1 : cost }
    })
    if (events.closed.aborted) return
    events.open()
    chargeMinutes(options, account, req, events)
  }
}

/** One for each `pool`; all other parameters are the same. */
function queriesOf<Query extends CandleQuery | TickQuery>(
  parameters: RawParameters,
  read: (parameters: RawParameters) => Query,
): readonly Query[] {
  if (parameters.has('to'))
    throw invalidParameters([{ field: 'to', message: 'must be left out of a stream: it has no end' }])
  const pools = [...new Set(parameters.get('pool') ?? [])]
  if (pools.length > MAX_POOLS)
    throw invalidParameters([{ field: 'pool', message: `must be given at most ${MAX_POOLS} times` }])
  if (pools.length < 2) return [read(parameters)]
  return pools.map((pool) => read(new Map([...parameters, ['pool', [pool]]])))
}

function placeOf({ view }: MarketAnswer<unknown>): Omit<FeedMember, 'reader'> {
  const { network, pool } = view.listing
  return { network: network.name, pool: pool.id, pair: viewPair(view).join('-') }
}

/** The same query without a search: a stream stays at the pool that answered first. */
function atPool<Query extends CandleQuery | TickQuery>(query: Query, { view }: MarketAnswer<unknown>): Query {
  const { network, pool } = view.listing
  return { ...query, pool: pool.id, networks: [network.name] }
}

/** Equal for requests that are answered alike. */
function keyOf(req: Request, queries: readonly (CandleQuery | TickQuery)[], answers: readonly MarketAnswer<unknown>[]) {
  const [first] = queries
  if (!first) return ''
  const { symbol, ...rest } = first
  const direction = symbol?.text.toLowerCase()
  return JSON.stringify([req.path, { ...rest, pool: undefined, networks: undefined }, direction, answers.map(placeOf)])
}

function requireFree(streams: number, { plan }: Account): void {
  const { streams: limit } = PLANS[plan]
  if (streams < limit) return
  throw new Problem('too_many_streams', `This key has ${streams} open streams, and ${limit} are the most: close one.`, {
    headers: { 'Retry-After': '1' },
  })
}

/** One credit for each minute that begins after the first. A key that is revoked, or has no credit left, ends the stream. */
function chargeMinutes(
  { accounts, addressOf }: StreamOptions,
  account: Account,
  req: Request,
  events: EventStream,
): void {
  const endOn = (error: unknown) => {
    // A failure of the service does not end a stream that is paid for.
    if (error instanceof Problem && PROBLEMS[error.code].status < 500) events.end(error)
  }
  const charge = () => accounts.charge(account, 1, async () => ({ cost: 1 })).catch(endOn)
  const checkKey = async () => {
    const found = await accounts.find(req.get('X-API-KEY') ?? '', addressOf(req))
    if (!found) throw new Problem('unauthorized', 'The key in X-API-KEY is no longer known.')
  }
  const timers = [setInterval(charge, MINUTE_MS), setInterval(() => checkKey().catch(endOn), KEY_CHECK_MS)]
  events.closed.addEventListener('abort', () => timers.forEach(clearInterval))
}
