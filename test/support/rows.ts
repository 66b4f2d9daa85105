/** A store's content by row, without what may differ from run to run: versions, and where a listener first saw a pool. */
import type { ClickHouseClient } from '@clickhouse/client'

export type MarketTable = 'blocks' | 'ticks' | 'candles' | 'pools' | 'liquidity_changes'

const QUESTIONS: Readonly<Record<MarketTable, string>> = {
  // Ranges leave only some blocks, and which ones depends on how history was cut: the tip says what matters.
  blocks: 'SELECT number, hash, time FROM blocks FINAL ORDER BY blocks.number DESC LIMIT 1',
  ticks: `SELECT * EXCEPT (version, is_deleted, hook_amounts), hooked0, hooked1 FROM ticks FINAL
    ORDER BY network, pool, time, block, log_index`,
  candles: 'SELECT * EXCEPT version FROM candles FINAL WHERE trades > 0 ORDER BY network, pool, resolution, time',
  pools: 'SELECT DISTINCT * EXCEPT (version, is_deleted, block, time) FROM pools FINAL ORDER BY ALL',
  liquidity_changes:
    'SELECT * EXCEPT (version, is_deleted) FROM liquidity_changes FINAL ORDER BY network, pool, block, log_index',
}

/** As text: no number is rounded on its way. */
export async function rowsOf(client: ClickHouseClient, table: MarketTable): Promise<string[]> {
  const answer = await client.query({ query: QUESTIONS[table], format: 'JSONStringsEachRow' })
  return (await answer.text()).trim().split('\n')
}

export const MARKET_TABLES = Object.keys(QUESTIONS) as MarketTable[]
