/** GET /v0/candles */
import type { Request } from 'express'
import type { Accounts } from '../accounts.ts'
import type { AccountHandler } from '../gate.ts'
import { headerText, sendAnswer, setMarket } from '../headers.ts'
import { shownSymbol } from '../market/listing.ts'
import { type Answer, knownCost, type Market } from '../market/market.ts'
import type { Candle } from '../market/orientation.ts'
import type { Range } from '../market/windows.ts'
import { parametersOf } from '../parameters.ts'
import { type CandleQuery, readCandleQuery } from '../query.ts'
import { formatTime } from '../time.ts'

export function getCandles(market: Market, accounts: Accounts): AccountHandler {
  return async function candles(account, req, res) {
    const query = readCandleQuery(parametersOf(req))
    const answer = await accounts.charge(account, knownCost(query), () => market.candles(query))
    setMarket(res, answer)
    if (answer.incomplete.length > 0) res.set('X-Market-Incomplete', intervalsOf(answer.incomplete))
    if (query.symbol !== undefined) res.set('X-API-Suggestion', headerText(suggestion(query, answer)))
    sendAnswer(res, toBody(req, query, answer), answer.closed)
  }
}

function toBody(req: Request, query: CandleQuery, answer: Answer<Candle>) {
  const data = answer.rows.map(({ time, open, high, low, close, volume }) => ({
    time: formatTime(time),
    open,
    high,
    low,
    close,
    volume,
  }))
  if (query.symbol === undefined) return { data, credits_used: answer.cost }
  return { data, credits_used: answer.cost, warning: warning(req, query, answer) }
}

/** Clients take headers of some kilobytes. */
const MOST_INTERVALS = 40

/** As ISO 8601 writes intervals; where they are too many, the last one reaches from the first that is left out to the end. */
function intervalsOf(ranges: readonly Range[]): string {
  const shown = ranges.slice(0, MOST_INTERVALS)
  const [last, end] = [shown.pop(), ranges.at(-1)]
  if (last && end) shown.push({ from: last.from, to: end.to })
  return shown.map(({ from, to }) => `${formatTime(from)}/${formatTime(to)}`).join(', ')
}

function suggestion(query: CandleQuery, { view }: Answer<Candle>): string {
  return `Ask with pool=${view.listing.pool.id} instead of symbol=${query.symbol?.text ?? ''} to use fewer credits.`
}

function warning(req: Request, query: CandleQuery, answer: Answer<Candle>) {
  const { network, pool } = answer.view.listing
  const order = `${shownSymbol(network, pool.token0)}-${shownSymbol(network, pool.token1)}`
  const inverted = answer.view.forward ? '' : ', the inverse of what this answer shows'
  return {
    message: `${query.symbol?.text ?? ''} was answered from the pool ${pool.id} on ${network.name}, which had to be found first. Its on-chain order is ${order}${inverted}.`,
    documentation_url: `${req.protocol}://${req.get('host') ?? 'localhost'}/v0/docs#credits`,
    tip: `Ask with pool=${pool.id} and networks=${network.name}: that skips the search for a pool and costs less. Prices are then in on-chain order, ${order}.`,
  }
}
