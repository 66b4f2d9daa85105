/** GET /v0/pools */
import type { Network } from '../../ingest/model/network.ts'
import { hasHookDeltas, type Token } from '../../ingest/model/pool.ts'
import { venueOf } from '../../ingest/model/venue.ts'
import type { Accounts } from '../accounts/accounts.ts'
import type { AccountHandler } from '../http/authenticate.ts'
import { sendAnswer, setDevnet } from '../http/headers.ts'
import { plainText } from '../lib/decimal.ts'
import type { Market } from '../market/market.ts'
import { shownSymbol } from '../market/model/listing.ts'
import type { RankedPool } from '../market/pools/ranked-pools.ts'
import type { POOL_ADDITIONS, PoolAddition } from '../query/include.ts'
import { parametersOf } from '../query/parameters.ts'
import { readPoolQuery } from '../query/query.ts'
import { formatTime } from '../query/time.ts'

export function getPools(market: Market, accounts: Accounts): AccountHandler {
  return async function pools(account, req, res) {
    const query = readPoolQuery(parametersOf(req))
    const answer = await accounts.charge(account, 1, () => market.pools(query))
    if (answer.rows.some((state) => state.listing.network.devnet)) setDevnet(res)
    const { lead } = answer
    if (lead) res.set('X-Market-Lead-Pool', `${lead.network.name}/${lead.pool.id}`)
    if (answer.more > 0) res.set('X-Market-More-Pools', String(answer.more))
    sendAnswer(
      res,
      { data: answer.rows.map((state) => toPool(state, query.include)), credits_used: answer.cost },
      false,
    )
  }
}

/** `included` fields follow the others. */
export function toPool(state: RankedPool, included: readonly PoolAddition[] = []) {
  const { network, pool } = state.listing
  return {
    id: pool.id,
    network: network.name,
    protocolVersion: pool.protocol,
    feeTier: String(state.fee),
    liquidity: String(state.liquidity),
    sqrtPrice: String(state.sqrtPriceX96),
    volumeUSD: state.volumeUsd,
    txCount: String(state.transactions),
    totalValueLockedUSD: plainText(state.valueUsd),
    token0: toToken(network, pool.token0),
    token1: toToken(network, pool.token1),
    ...(included.includes('market') && marketOf(state)),
  }
}

function marketOf({
  listing,
  day,
}: RankedPool): Record<(typeof POOL_ADDITIONS.market)[number], string | number | boolean | null> {
  return {
    price: day?.price ?? null,
    change24h: day?.change ?? null,
    volumeUSD24h: day?.volumeUsd ?? null,
    firstSeen: formatTime(listing.firstSeen),
    venue: venueOf(listing.pool),
    hooks: listing.pool.hooks ?? null,
    hookDeltas: hasHookDeltas(listing.pool),
  }
}

function toToken(network: Network, token: Token) {
  const { name, address, decimals } = token
  return { symbol: shownSymbol(network, token), name, address, decimals }
}
