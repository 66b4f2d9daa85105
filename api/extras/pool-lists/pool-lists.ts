/** GET /v0/pools/top and /v0/pools/new: lists of pools, filtered, ordered and paged over figures in memory. */
import type { Accounts } from '../../accounts/accounts.ts'
import type { AccountHandler } from '../../http/authenticate.ts'
import { sendAnswer, setDevnet } from '../../http/headers.ts'
import { plainText } from '../../lib/decimal.ts'
import type { Market } from '../../market/market.ts'
import { areListed, type PoolFigures } from '../../market/pools/pool-figures.ts'
import type { FiguresWithState, PoolLists } from '../../market/pools/pool-lists.ts'
import { parametersOf } from '../../query/parameters.ts'
import { toPool } from '../../routes/pools.ts'
import { readNewPoolsQuery, readTopPoolsQuery, type TopPoolsQuery } from './operation.ts'
import { pageOf, sorted } from './order.ts'
import { changeOf, type ListRow, pairRows, passes, poolRows, symbolsOf } from './rows.ts'

export type PoolListService = { market: Market; accounts: Accounts; clock: () => Date }

/** An answer costs the service nothing but its page: figures are read once a minute for all keys. */
const COST = 1

export function getTopPools(service: PoolListService): AccountHandler {
  return async function topPools(account, req, res) {
    const query = readTopPoolsQuery(parametersOf(req))
    const { token } = query
    await sendList(service, [account, req, res], query, async (lists) =>
      token === undefined ? (await lists.overview()).listed : lists.poolsOf(token),
    )
  }
}

export function getNewPools(service: PoolListService): AccountHandler {
  return async function newPools(account, req, res) {
    const query = readNewPoolsQuery(parametersOf(req))
    await sendList(service, [account, req, res], query, async (lists) => (await lists.overview()).newest)
  }
}

async function sendList(
  { market, accounts, clock }: PoolListService,
  [account, , res]: Parameters<AccountHandler>,
  query: TopPoolsQuery,
  read: (lists: PoolLists) => Promise<readonly PoolFigures[]>,
): Promise<void> {
  const { rows, next, cost } = await accounts.charge(account, COST, async () => {
    const lists = await market.lists(query.networks ?? market.networks.map(({ name }) => name))
    const now = Math.floor(clock().getTime() / 1_000)
    const pools = (await read(lists)).filter((one) => passes(one, query, now))
    const list = sorted(query.per === 'pair' ? pairRows(pools) : poolRows(pools), query)
    const page = pageOf(list, query, { after: query.cursor?.place, limit: query.limit })
    const states = await lists.withStates(page.rows.map(({ lead }) => lead))
    const byPool = new Map(states.map((one) => [one.figures, one]))
    return { ...page, rows: page.rows.flatMap((row) => bodyOf(row, byPool.get(row.lead), query)), cost: COST }
  })
  if (rows.some(({ devnet }) => devnet)) setDevnet(res)
  sendAnswer(res, { data: rows.map(({ body }) => body), next_cursor: next ?? null, credits_used: cost }, false)
}

function bodyOf(row: ListRow, known: FiguresWithState | undefined, { per }: TopPoolsQuery) {
  if (known === undefined) return []
  const { lead } = row
  const { network } = lead.listing
  const body = {
    ...toPool(known.state, ['market']),
    change1h: changeOf(lead, '1h') ?? null,
    change5m: changeOf(lead, '5m') ?? null,
    heldUSD24h: plainText(lead.heldUsd),
    buys24h: lead.sides?.buys ?? null,
    sells24h: lead.sides?.sells ?? null,
    symbol: symbolsOf(lead.listing).join('-'),
    isTrusted: areListed(lead.listing),
    ...(per === 'pair' && { pair: sumsOf(row) }),
  }
  return { body, devnet: network.devnet ?? false }
}

function sumsOf({ count, volumeUsd, valueUsd, heldUsd, sides }: ListRow) {
  return {
    pools: count,
    volumeUSD24h: plainText(volumeUsd),
    totalValueLockedUSD: plainText(valueUsd),
    heldUSD24h: plainText(heldUsd),
    buys24h: sides?.buys ?? null,
    sells24h: sides?.sells ?? null,
  }
}
