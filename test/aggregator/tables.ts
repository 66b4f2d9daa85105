/** Rows of each network, without columns that may differ from run to run: the network's name and versions. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { NetworkName } from '../../ingest/model/network.ts'

const QUESTIONS = {
  blocks: `SELECT * EXCEPT (version, is_deleted) REPLACE (hex(hash) AS hash, hex(parent_hash) AS parent_hash)
    FROM blocks FINAL`,
  ticks:
    'SELECT * EXCEPT (version, is_deleted) REPLACE (hex(transaction_hash) AS transaction_hash, hex(hook_amounts) AS hook_amounts) FROM ticks FINAL',
  candles: 'SELECT * EXCEPT version FROM candles FINAL WHERE trades > 0',
  pools: 'SELECT * EXCEPT (version, is_deleted) FROM pools FINAL',
  liquidity_changes: 'SELECT * EXCEPT (version, is_deleted) FROM liquidity_changes FINAL',
  // Those of other blocks stay, and no query reads them.
  pool_balances: `SELECT * EXCEPT written REPLACE (hex(block_hash) AS block_hash) FROM pool_balances FINAL
    WHERE (network, block, pool_balances.block_hash) IN (SELECT network, number, hash FROM blocks FINAL)`,
  pool_balance_hours: 'SELECT * EXCEPT (version, is_deleted) FROM pool_balance_hours FINAL',
} as const

export type MarketTable = keyof typeof QUESTIONS
/** Rows as text, so that no number is rounded, in the order of all their columns. */
export type Tables = Record<MarketTable, string[]>

export const MARKET_TABLES = Object.keys(QUESTIONS) as MarketTable[]

/** One reading for all networks. */
export async function tablesOf(client: ClickHouseClient): Promise<(network: NetworkName) => Tables> {
  const tables = await Promise.all(
    MARKET_TABLES.map(async (table) => {
      const rows = new Map<string, string[]>()
      const query = `SELECT * FROM (${QUESTIONS[table]}) ORDER BY ALL`
      const answer = await client.query({ query, format: 'JSONStringsEachRow' })
      for (const { network = '', ...row } of await answer.json<Record<string, string>>()) {
        const known = rows.get(network) ?? []
        rows.set(network, known)
        known.push(JSON.stringify(row))
      }
      return [table, rows] as const
    }),
  )
  return (network) => Object.fromEntries(tables.map(([table, rows]) => [table, rows.get(network) ?? []])) as Tables
}

/** Everything that is stored of `from`, tombstones too, under other names. */
export async function copyNetwork(
  client: ClickHouseClient,
  from: NetworkName,
  to: readonly NetworkName[],
): Promise<void> {
  await Promise.all(
    [...MARKET_TABLES, 'owners'].map((table) =>
      client.command({
        query: `INSERT INTO ${table} SELECT * REPLACE (name AS network)
          FROM (SELECT * FROM ${table} WHERE network = {from:String}) ARRAY JOIN {to:Array(String)} AS name`,
        query_params: { from, to },
      }),
    ),
  )
}
