/** GET /v0/ticks */
import type { Accounts } from '../accounts/accounts.ts'
import type { AccountHandler } from '../http/authenticate.ts'
import { sendRows } from '../http/forms.ts'
import { setMarket } from '../http/headers.ts'
import { knownCost } from '../market/answer.ts'
import { tickColumns, tickRow } from '../market/answer-rows.ts'
import type { Market } from '../market/market.ts'
import { viewPair } from '../market/model/orientation.ts'
import { parametersOf } from '../query/parameters.ts'
import { readTickQuery } from '../query/query.ts'

export function getTicks(market: Market, accounts: Accounts): AccountHandler {
  return async function ticks(account, req, res) {
    const query = readTickQuery(parametersOf(req))
    const answer = await accounts.charge(account, knownCost(query), () => market.ticks(query))
    setMarket(res, answer)
    const pair = viewPair(answer.view)
    const data = () => answer.rows.map((tick) => tickRow(tick, pair, query.include))
    const text = () => ({ text: JSON.stringify({ data: data(), credits_used: answer.cost }) })
    sendRows(req, res, answer, { data, columns: tickColumns(query.include), text })
  }
}
