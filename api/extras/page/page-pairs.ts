/** GET /page/pairs: the pairs that the page offers, and new pools. With `token=0x…` only pairs of this token, trusted or not. */
import type { Address } from 'viem'
import type { Accounts } from '../../accounts/accounts.ts'
import type { AccountHandler } from '../../http/authenticate.ts'
import { sendAnswer } from '../../http/headers.ts'
import type { Market } from '../../market/market.ts'
import type { NewPool, PairSummary } from '../../market/pools/pairs.ts'
import { invalidParameters, parametersOf } from '../../query/parameters.ts'

export type PairsBody = {
  data: readonly PairSummary[]
  /** Pools of the last week that hold something, newest first; absent for one token. */
  newest?: readonly NewPool[]
}

const ADDRESS = /^0x[0-9a-f]{40}$/

/** Pairs of trusted tokens are cached for a minute and free; a search by token costs a credit. */
export function getPagePairs(market: Market, accounts: Accounts): AccountHandler {
  return async function pagePairs(account, req, res) {
    const [token, ...more] = parametersOf(req).get('token') ?? []
    if (token === undefined) {
      const { pairs, newest } = await market.overview()
      return send({ data: pairs, newest })
    }
    const address = token.toLowerCase()
    if (more.length > 0 || !ADDRESS.test(address))
      throw invalidParameters([{ field: 'token', message: 'must be one address: 0x and 40 hex digits' }])
    const { rows } = await accounts.charge(account, 1, async () => ({
      rows: await market.pairsOf(address as Address),
      cost: 1,
    }))
    return send({ data: rows })

    function send(body: PairsBody): void {
      sendAnswer(res, body, false)
    }
  }
}
