/** GET /v0/candles */
import type { Request } from 'express'
import type { Accounts } from '../accounts/accounts.ts'
import type { AccountHandler } from '../http/authenticate.ts'
import { sendRows } from '../http/forms.ts'
import { headerText, setMarket } from '../http/headers.ts'
import type { KeptBodies, KeptBody } from '../http/kept-bodies.ts'
import { knownCost, type MarketAnswer } from '../market/answer.ts'
import { candleColumns, candleRow } from '../market/answer-rows.ts'
import type { Market } from '../market/market.ts'
import { shownSymbol } from '../market/model/listing.ts'
import type { CandleView } from '../market/model/orientation.ts'
import { parametersOf } from '../query/parameters.ts'
import { type CandleQuery, readCandleQuery } from '../query/query.ts'

/** `onClosed` is called with each query without a symbol whose answer new blocks do not change. */
export function getCandles(
  market: Market,
  accounts: Accounts,
  bodies: KeptBodies,
  onClosed: (url: string, query: CandleQuery) => void,
): AccountHandler {
  return async function candles(account, req, res) {
    const query = readCandleQuery(parametersOf(req))
    const answer = await accounts.charge(account, knownCost(query), () => market.candles(query))
    setMarket(res, answer)
    if (query.symbol !== undefined) res.set('X-API-Suggestion', headerText(suggestion(query, answer)))
    const data = () => answer.rows.map(candleRow)
    const text = () =>
      query.symbol === undefined
        ? candlesBody(bodies, answer)
        : { text: JSON.stringify({ ...toBody(answer), warning: warning(req, query, answer) }) }
    if (answer.closed && query.symbol === undefined) onClosed(req.url, query)
    sendRows(req, res, answer, { data, columns: candleColumns(query.include), text })
  }
}

/** The body of a query without a symbol: a warning would depend on the host of the request and on the pools of the pair. */
export function candlesBody(bodies: KeptBodies, answer: MarketAnswer<CandleView>): KeptBody {
  return bodies(answer, () => toBody(answer))
}

function toBody(answer: MarketAnswer<CandleView>) {
  return { data: answer.rows.map(candleRow), credits_used: answer.cost }
}

/** The same query without a search: `symbol` stays where the pool's own order is the inverse. */
function cheaper(query: CandleQuery, { view }: MarketAnswer<CandleView>): string {
  const { network, pool } = view.listing
  const symbol = view.forward ? '' : `, symbol=${query.symbol?.text ?? ''}`
  return `pool=${pool.id}${symbol} and networks=${network.name}`
}

function suggestion(query: CandleQuery, answer: MarketAnswer<CandleView>): string {
  if (query.pool !== undefined)
    return `symbol=${query.symbol?.text ?? ''} gives the direction; the pool is not searched for.`
  const instead = answer.view.forward ? ` instead of symbol=${query.symbol?.text ?? ''}` : ''
  return `Ask with ${cheaper(query, answer)}${instead} to use fewer credits.`
}

function warning(req: Request, query: CandleQuery, answer: MarketAnswer<CandleView>) {
  const { network, pool } = answer.view.listing
  const symbol = query.symbol?.text ?? ''
  const order = `${shownSymbol(network, pool.token0)}-${shownSymbol(network, pool.token1)}`
  const inverted = answer.view.forward ? '' : ', the inverse of what this answer shows'
  const found = query.pool === undefined ? ', which had to be found first' : ''
  const keeps = answer.view.forward ? 'pool' : 'symbol beside pool'
  return {
    message: `${symbol} was answered from the pool ${pool.id} on ${network.name}${found}. Its on-chain order is ${order}${inverted}.`,
    documentation_url: `${req.protocol}://${req.get('host') ?? 'localhost'}/v0/docs#credits`,
    tip:
      query.pool === undefined
        ? `Ask with ${cheaper(query, answer)}: that skips the search for a pool and costs less. With ${keeps} prices keep this direction.`
        : 'This question names its pool and costs no search. Without symbol, prices are in on-chain order.',
  }
}
