/** Changes: which buckets a write touched, told to whoever keeps some of them in memory. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { NetworkName } from '../ingest/network.ts'
import type { CandleVersions } from './owner.ts'
import type { Touched } from './recompute.ts'
import { insertRows } from './store.ts'

/**
 * Written before the ledger shows what changed, and after the candles where nothing on the ledger tells of them. What is read of the
 * candles between the two may be old: a reader looks again once the ledger has passed `last`.
 */
export async function recordChanges(
  client: ClickHouseClient,
  network: NetworkName,
  touched: Iterable<Touched>,
  versions: CandleVersions,
): Promise<void> {
  const sequence = versions.next()
  await insertRows(client, 'changes', (out) => {
    for (const { pool, first, last } of touched) {
      out.string(network).integer(sequence, 128).string(pool).uint32(first).uint32(last)
      out.uint32(Math.floor(Date.now() / 1000))
    }
  })
}
