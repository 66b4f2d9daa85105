/** GET /v0/ticks */
import type { Accounts } from '../accounts/accounts.ts'
import type { AccountHandler } from '../http/authenticate.ts'
import { sendAnswer, setIncomplete, setMarket } from '../http/headers.ts'
import { knownCost, type MarketAnswer } from '../market/answer.ts'
import type { Market } from '../market/market.ts'
import { type TickView, viewPair } from '../market/model/orientation.ts'
import { parametersOf } from '../query/parameters.ts'
import { readTickQuery } from '../query/query.ts'
import { formatTime } from '../query/time.ts'

export function getTicks(market: Market, accounts: Accounts): AccountHandler {
  return async function ticks(account, req, res) {
    const query = readTickQuery(parametersOf(req))
    const answer = await accounts.charge(account, knownCost(query), () => market.ticks(query))
    setMarket(res, answer)
    setIncomplete(res, answer.incomplete)
    sendAnswer(res, toBody(answer), answer.closed)
  }
}

function toBody(answer: MarketAnswer<TickView>) {
  const [token0, token1] = viewPair(answer.view)
  const data = answer.rows.map((tick) => ({
    id: tick.id,
    timestamp: formatTime(tick.time),
    price: tick.price,
    side: tick.side,
    amount0: tick.amount0,
    amount1: tick.amount1,
    amountUSD: tick.amountUsd,
    token0,
    token1,
  }))
  return { data, credits_used: answer.cost }
}
