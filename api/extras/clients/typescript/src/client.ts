/** A client of the HTTP API: one request a method, whole ranges by pages, and streams. */
import { CandlepoolError, type CandlepoolErrorCode } from './error.ts'
import { FoldedRows } from './folded.ts'
import { BARS_AT_ONCE, barsSince, milliseconds, type Ohlcv } from './ohlcv.ts'
import { type ClientOptions, type RequestOptions, send } from './request.ts'
import type { components, paths } from './schema.ts'
import { type StreamEvent, streamOf } from './stream.ts'

export { CandlepoolError, type CandlepoolErrorCode, type ClientOptions, FoldedRows, type Ohlcv, type StreamEvent }
export type CandleParameters = NonNullable<paths['/v0/candles']['get']['parameters']['query']>
export type TickParameters = NonNullable<paths['/v0/ticks']['get']['parameters']['query']>
export type PoolParameters = NonNullable<paths['/v0/pools']['get']['parameters']['query']>
export type TopPoolParameters = NonNullable<paths['/v0/pools/top']['get']['parameters']['query']>
export type NewPoolParameters = NonNullable<paths['/v0/pools/new']['get']['parameters']['query']>
export type AnsweredCandle = components['schemas']['Candle']
export type AnsweredTick = components['schemas']['Tick']
export type AnsweredPool = components['schemas']['Pool']

/** `incomplete`: time that is not stored; `finalUntil`: a reorg changes nothing before it. */
export type AnswerPage<Row> = {
  rows: Row[]
  creditsUsed: number
  network: string
  pool: string
  pair: string
  incomplete: { from: string; to: string }[]
  finalUntil: string | undefined
}

export type CandlepoolClient = ReturnType<typeof createClient>

const MAX_CANDLES = BARS_AT_ONCE
const MAX_TICKS = 1_000

export function createClient(options: ClientOptions) {
  async function page<Row>(path: string, query: Readonly<Record<string, unknown>>, more?: RequestOptions) {
    const answer = await send(options, path, query, more)
    const { data, credits_used } = (await answer.json()) as { data: Row[]; credits_used: number }
    return pageOf(answer.headers, data, credits_used)
  }
  const body = async <Body>(path: string, query = {}, more?: RequestOptions) =>
    (await (await send(options, path, query, more)).json()) as Body
  const candles = (query: CandleParameters, more?: RequestOptions) => page<AnsweredCandle>('/v0/candles', query, more)
  const ticks = (query: TickParameters, more?: RequestOptions) => page<AnsweredTick>('/v0/ticks', query, more)

  return {
    candles,
    ticks,
    pools: (query: PoolParameters, more?: RequestOptions) =>
      body<components['schemas']['Pools']>('/v0/pools', query, more),
    ...poolLists(options),
    usage: (more?: RequestOptions) => body<components['schemas']['Usage']>('/v0/usage', {}, more),
    health: (more?: RequestOptions) => body<components['schemas']['Health']>('/v0/health', {}, more),

    /** Pages of a whole range, the newest first; each page ascends. */
    async *candlePages(query: CandleParameters & { from: string }, more?: RequestOptions) {
      for (let to = query.to; ; ) {
        const one = await candles({ ...query, ...(to && { to }), limit: MAX_CANDLES }, more)
        if (one.rows.length > 0) yield one
        to = one.rows[0]?.time
        if (one.rows.length < MAX_CANDLES || !to || Date.parse(to) <= millisecondOf(query.from)) return
      }
    },
    /** Each tick once. Throws where one second has more ticks than a page. */
    async *tickPages(query: TickParameters & { from: string }, more?: RequestOptions) {
      let known = new Set<string>()
      for (let to = query.to; ; ) {
        const one = await ticks({ ...query, ...(to && { to }), limit: MAX_TICKS }, more)
        const rows = one.rows.filter(({ id }) => !known.has(id))
        if (rows.length > 0) yield { ...one, rows }
        if (one.rows.length < MAX_TICKS) return
        const [oldest] = one.rows
        if (!oldest || oldest.timestamp === one.rows.at(-1)?.timestamp)
          throw new RangeError(`${oldest?.timestamp} has more ticks than a page: read them from an export.`)
        known = new Set(one.rows.map(({ id }) => id))
        to = isoOf(Date.parse(oldest.timestamp) + 1_000)
      }
    },
    streamCandles: (query: StreamedQuery<CandleParameters>, signal?: AbortSignal) =>
      streamOf(options, '/v0/candles', query, signal),
    /** With `include=position` unless the query has another list: `FoldedRows` orders the ticks of one second by it. */
    streamTicks: (query: StreamedQuery<TickParameters>, signal?: AbortSignal) =>
      streamOf(options, '/v0/ticks', { include: 'position', ...query }, signal),

    /** As ccxt has it: `WETH/USDC`, or a pool; the first `limit` bars from `since` (ms) on, else the newest. Any number is paged. */
    async fetchOHLCV(symbol: string, timeframe = '1m', since?: number, limit = MAX_CANDLES): Promise<Ohlcv[]> {
      const market = symbol.startsWith('0x') ? { pool: symbol } : { symbol: symbol.replace('/', '-') }
      const width = milliseconds(timeframe)
      const end = Date.now() + width
      const read = async ({ interval, from, to }: { interval: string; from: number; to: number }) =>
        (await candles({ ...market, interval, from: isoOf(from), to: isoOf(to), limit: MAX_CANDLES })).rows
      const newest = async () => {
        const rows: AnsweredCandle[] = []
        // One more, since the range begins inside a bar.
        const query = { ...market, interval: timeframe, from: isoOf(end - (limit + 1) * width), to: isoOf(end) }
        for await (const one of this.candlePages(query)) rows.unshift(...one.rows)
        return rows.slice(-limit)
      }
      const bars = since === undefined ? await newest() : await barsSince(read, { timeframe, since, end, limit })
      return bars.map(({ time, open, high, low, close, volume }) => [Date.parse(time), open, high, low, close, volume])
    },
  }
}

/** One page each: `cursor: next_cursor` has the next one. */
function poolLists(options: ClientOptions) {
  const page = async (path: string, query: Readonly<Record<string, unknown>>, more?: RequestOptions) =>
    (await (await send(options, path, query, more)).json()) as components['schemas']['PoolList']
  return {
    topPools: (query: TopPoolParameters = {}, more?: RequestOptions) => page('/v0/pools/top', query, more),
    newPools: (query: NewPoolParameters = {}, more?: RequestOptions) => page('/v0/pools/new', query, more),
  }
}

/** Without `to`: a stream has no end. `pool` may be a list of up to 20. */
export type StreamedQuery<Query extends { pool?: string }> = Omit<Query, 'to' | 'pool'> & { pool?: string | string[] }

function pageOf<Row>(headers: Headers, rows: Row[], creditsUsed: number): AnswerPage<Row> {
  const text = (name: string) => headers.get(`X-Market-${name}`) ?? ''
  const incomplete = text('Incomplete')
    .split(', ')
    .flatMap((interval) => {
      const [from, to] = interval.split('/')
      return from && to ? [{ from, to }] : []
    })
  const pair = decodeURIComponent(text('Pair'))
  const finalUntil = text('Final-Until') || undefined
  return { rows, creditsUsed, network: text('Network'), pool: text('Pool'), pair, incomplete, finalUntil }
}

/** A time without a zone is UTC, as for the service. */
function millisecondOf(time: string): number {
  return Date.parse(/T[\d:.]+$/.test(time) ? `${time}Z` : time)
}

function isoOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}
