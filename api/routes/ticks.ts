/** GET /v0/ticks */
import type { Accounts } from '../accounts/accounts.ts'
import type { AccountHandler } from '../http/authenticate.ts'
import { sendAnswer, setIncomplete, setMarket } from '../http/headers.ts'
import { knownCost, type MarketAnswer } from '../market/answer.ts'
import { tickRow } from '../market/answer-rows.ts'
import type { Market } from '../market/market.ts'
import { type TickView, viewPair } from '../market/model/orientation.ts'
import { parametersOf } from '../query/parameters.ts'
import { readTickQuery } from '../query/query.ts'

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
  const pair = viewPair(answer.view)
  const data = answer.rows.map((tick) => tickRow(tick, pair))
  return { data, credits_used: answer.cost }
}
