/**
 * GET /v0/udf/*: candles for chart libraries that speak UDF, TradingView's protocol of datafeeds. The key comes in the header, as everywhere:
 * the adapter's requester takes headers.
 */
import type { Account, Accounts } from '../../accounts/accounts.ts'
import type { AccountHandler } from '../../http/authenticate.ts'
import { sendAnswer, sendText, setMarket } from '../../http/headers.ts'
import { knownCost, type MarketAnswer } from '../../market/answer.ts'
import type { Market } from '../../market/market.ts'
import { type CandleView, viewPair } from '../../market/model/orientation.ts'
import { MAX_INTERVAL } from '../../query/interval.ts'
import { parametersOf } from '../../query/parameters.ts'
import type { CandleQuery } from '../../query/query.ts'
import { instantOf } from '../../query/time.ts'
import { tokenFile, usualPair } from '../page/tokens.ts'
import { sorted } from '../pool-lists/order.ts'
import { pairRows, symbolsOf } from '../pool-lists/rows.ts'
import {
  readUdfHistory,
  readUdfSearch,
  readUdfSymbol,
  UDF_RESOLUTIONS,
  type UdfHistoryQuery,
  type UdfSymbol,
} from './udf-query.ts'

/** Bars of one answer: chart libraries request more by pages. A hundred bars cost as much as a request of a hundred candles. */
const MAX_BARS = 2_000
const BARS_A_CREDIT = 100
/** Digits that a price of 1 has after its point. */
const PRICE_DIGITS = 5
const MAX_PRICE_DIGITS = 15

export function udfRoutes(
  market: Market,
  accounts: Accounts,
  clock: () => Date,
): Readonly<Record<string, AccountHandler>> {
  const candles = (account: Account, query: CandleQuery) => {
    const more = Math.ceil(query.limit / BARS_A_CREDIT) - 1
    return accounts.charge(account, knownCost(query) + more, async () => {
      const answer = await market.candles(query)
      return { ...answer, cost: answer.cost + Math.max(0, Math.ceil(answer.rows.length / BARS_A_CREDIT) - 1) }
    })
  }
  return {
    '/v0/udf/config': async (_account, _req, res) => sendAnswer(res, CONFIGURATION, false),
    '/v0/udf/time': async (_account, _req, res) =>
      sendText(res, { text: String(instantOf(clock()).seconds), type: 'text/plain', closed: false }),
    '/v0/udf/symbols': async (account, req, res) => {
      const symbol = readUdfSymbol(parametersOf(req))
      const newest = {
        ...namesOf(symbol),
        interval: MAX_INTERVAL,
        limit: 1,
        price: 'execution',
        fill: 'previous',
      } as const
      sendAnswer(res, symbolInfo(await candles(account, newest)), false)
    },
    '/v0/udf/search': async (account, req, res) => {
      const { query, limit } = readUdfSearch(parametersOf(req))
      const { found } = await accounts.charge(account, 1, async () => ({
        found: await search(market, query, limit),
        cost: 1,
      }))
      sendAnswer(res, found, false)
    },
    '/v0/udf/history': async (account, req, res) => {
      const answer = await candles(account, candleQuery(readUdfHistory(parametersOf(req))))
      setMarket(res, answer)
      sendAnswer(res, toHistory(answer.rows), answer.closed)
    },
  }
}

const CONFIGURATION = {
  supported_resolutions: UDF_RESOLUTIONS,
  supports_search: true,
  supports_group_request: false,
  supports_marks: false,
  supports_timescale_marks: false,
  supports_time: true,
}

function namesOf({ symbol, pool, networks }: UdfSymbol) {
  return { symbol, pool, networks }
}

/** The newest bars before `to`, even where they are older than `from`: a chart asks for so many, and knows no gaps. */
function candleQuery({ symbol, interval, to, countback }: UdfHistoryQuery): CandleQuery {
  const limit = Math.min(Math.max(countback, 1), MAX_BARS)
  const range = {
    from: { seconds: symbol.pool === undefined ? Math.max(0, to - limit * interval) : 0, fraction: '' },
    to: { seconds: to, fraction: '' },
  }
  return { ...namesOf(symbol), ...range, interval, limit, price: 'execution', fill: 'previous' }
}

function toHistory(rows: readonly CandleView[]) {
  if (rows.length === 0) return { s: 'no_data' }
  const column = (name: 'time' | 'open' | 'high' | 'low' | 'close' | 'volume') => rows.map((row) => row[name])
  return {
    s: 'ok',
    t: column('time'),
    o: column('open'),
    h: column('high'),
    l: column('low'),
    c: column('close'),
    v: column('volume'),
  }
}

/** `ticker` names pool and direction, so that all bars of a chart come from one pool. */
function symbolInfo({ view, rows }: MarketAnswer<CandleView>) {
  const { network, pool } = view.listing
  const pair = viewPair(view).join('-')
  const multipliers = (letter: RegExp) =>
    UDF_RESOLUTIONS.flatMap((one) => (letter.test(one) ? [String(Number.parseInt(one, 10))] : []))
  return {
    name: pair,
    ticker: `${network.name}:${pool.id}:${pair}`,
    description: `${pair} on ${network.name}, ${pool.protocol}`,
    type: 'crypto',
    exchange: network.name,
    listed_exchange: network.name,
    session: '24x7',
    timezone: 'Etc/UTC',
    minmov: 1,
    pricescale: 10 ** digitsOf(rows.at(-1)?.close ?? 1),
    has_seconds: true,
    seconds_multipliers: multipliers(/S$/),
    has_intraday: true,
    intraday_multipliers: multipliers(/^\d+$/),
    has_daily: true,
    has_weekly_and_monthly: false,
    supported_resolutions: UDF_RESOLUTIONS,
    visible_plots_set: 'ohlcv',
    volume_precision: 2,
    data_status: 'streaming',
  }
}

/** As many as show five further digits of a price near 1, and more of a smaller one. */
function digitsOf(price: number): number {
  const magnitude = Number.isFinite(price) && price > 0 ? Math.floor(Math.log10(price)) : 0
  return Math.min(MAX_PRICE_DIGITS, Math.max(2, PRICE_DIGITS - magnitude))
}

/** Pairs of the curated tokens, in the direction that the page shows, where the query does not name the other one. */
async function search(market: Market, query: string, limit: number) {
  const wanted = query.trim().toLowerCase()
  const { tokens } = tokenFile(market.networks)
  const { listed } = await (await market.lists([])).overview()
  return sorted(pairRows(listed), { sort: 'volume', per: 'pair', changeOver: '24h' })
    .flatMap(({ row: { lead } }) => {
      const { network, pool } = lead.listing
      const [one, other] = symbolsOf(lead.listing)
      const usual = usualPair(one, other, tokens)
      const inverse = usual === `${one}-${other}` ? `${other}-${one}` : `${one}-${other}`
      const symbol = [usual, inverse].find((name) => isCalled(name, wanted))
      return symbol === undefined ? [] : [{ symbol, network: network.name, pool: pool.id }]
    })
    .slice(0, limit)
    .map(({ symbol, network, pool }) => ({
      symbol,
      full_name: `${network}:${symbol}`,
      ticker: `${network}:${pool}:${symbol}`,
      description: `${symbol} on ${network}`,
      exchange: network,
      type: 'crypto',
    }))
}

/** A pair of the native currency is found by the wrapped form's name, too. */
function isCalled(symbol: string, wanted: string): boolean {
  return [symbol, symbol.replace(/\b(?:ETH|POL)\b/g, 'W$&')].some((name) => name.toLowerCase().includes(wanted))
}
