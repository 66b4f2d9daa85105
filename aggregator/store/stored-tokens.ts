/** The tokens of a network as the tables know them: decimals from the pool that was stored first, and one name each. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Address } from 'viem'
import { pieces } from '../../ingest/lib/pieces.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { Token } from '../../ingest/model/pool.ts'
import type { StoredTokens } from '../../ingest/model/stored-tokens.ts'
import { ask, insertRows, loadSql } from './store.ts'

const storedTokensSql = loadSql(import.meta.url, './stored_tokens.sql')
const tokenNamesSql = loadSql(import.meta.url, './token_names.sql')

/** So many addresses fit the address of a request. */
const TOKENS_PER_QUERY = 100

export type NamedToken = {
  token: Token
  /** Symbols that it had before, or that some of its pools were stored with. */
  otherSymbols: readonly string[]
  /** False where two of its pools name it differently, and no row of `token_names` says which name is right. */
  isOne: boolean
  /** Time since its name was last stored; undefined where it has no row in `token_names`. */
  namedForMs: number | undefined
}

type MetRow = Token & { symbols: readonly string[]; differ: 0 | 1 }
type NameRow = {
  address: Address
  symbol: string
  name: string
  former: readonly string[]
  writtenMs: number
  nowMs: number
}

/** Takes lower-case addresses; returns the stored ones, in any order. */
export async function namedTokens(
  client: ClickHouseClient,
  network: NetworkName,
  addresses: readonly Address[],
): Promise<NamedToken[]> {
  const found: NamedToken[] = []
  for (const tokens of pieces(addresses, TOKENS_PER_QUERY)) {
    const places = { network, tokens }
    const [met, names] = await Promise.all([
      ask<MetRow>(client, storedTokensSql, places),
      ask<NameRow>(client, tokenNamesSql, places),
    ])
    const named = new Map(names.map((row) => [row.address, row]))
    for (const { symbols, differ, ...first } of met) {
      const row = named.get(first.address)
      const token = row ? { ...first, symbol: row.symbol, name: row.name } : first
      const others = new Set([...(row?.former ?? []), ...symbols])
      others.delete(token.symbol)
      const namedForMs = row && row.nowMs - row.writtenMs
      found.push({ token, otherSymbols: [...others], isOne: row !== undefined || differ === 0, namedForMs })
    }
  }
  return found
}

export function storedTokens(client: ClickHouseClient, network: NetworkName): StoredTokens {
  return async (addresses) => (await namedTokens(client, network, addresses)).map(({ token }) => token)
}

/** `block`: a final block at which the token had this name. */
export type TokenNameRow = Pick<Token, 'address' | 'symbol' | 'name'> & { former: readonly string[]; block: number }

/** `shards`: each has all names, since its views join them with its own pools. */
export async function storeNames(
  shards: readonly ClickHouseClient[],
  network: NetworkName,
  names: readonly TokenNameRow[],
): Promise<void> {
  for (const shard of shards)
    await insertRows(shard, 'token_names (network, token, symbol, name, former, block)', (out) => {
      for (const { address, symbol, name, former, block } of names) {
        out.string(network).string(address).string(symbol).string(name).strings(former).uint64(block)
      }
    })
}
