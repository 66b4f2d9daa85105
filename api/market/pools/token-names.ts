/** Names of tokens that were renamed, put into the pools of a network: all of them once, then those that are new. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Address } from 'viem'
import type { NetworkName } from '../../../ingest/model/network.ts'
import { queryRows, readSql } from '../../lib/store.ts'
import type { NetworkPools } from './network-pools.ts'

const NAMES = readSql(new URL('./token-names.sql', import.meta.url))
const STATE = readSql(new URL('./names-state.sql', import.meta.url))

/** Servers of a cluster, and inserts that overtake each other, stamp rows so far apart. */
const OVERLAP_MS = 10_000

type TokenNameOfRow = { token: Address; symbol: string; name: string; former: readonly string[]; block: number }
type NamesState = { network: NetworkName; rows: number; newest: number }

/** Reads the names of some tokens. */
export async function putNamesOf(
  client: ClickHouseClient,
  pools: NetworkPools,
  tokens: readonly Address[],
): Promise<void> {
  if (tokens.length > 0) await putNames(client, pools, { tokens, since: 0 })
}

export class TokenNames {
  readonly #states = new Map<NetworkName, NamesState>()

  /** Rows that are deleted change no name. */
  async read(client: ClickHouseClient, catalogue: ReadonlyMap<NetworkName, NetworkPools>): Promise<void> {
    for (const state of await queryRows<NamesState>(client, STATE)) {
      const pools = catalogue.get(state.network)
      const known = this.#states.get(state.network)
      if (pools === undefined || (known?.rows === state.rows && known.newest === state.newest)) continue
      await putNames(client, pools, { tokens: [], since: known ? Math.max(0, known.newest - OVERLAP_MS) : 0 })
      this.#states.set(state.network, state)
    }
  }
}

async function putNames(
  client: ClickHouseClient,
  pools: NetworkPools,
  places: { tokens: readonly Address[]; since: number },
): Promise<void> {
  const rows = await queryRows<TokenNameOfRow>(client, NAMES, { network: pools.network.name, ...places })
  for (const { token, ...name } of rows) pools.rename(token, name)
}
