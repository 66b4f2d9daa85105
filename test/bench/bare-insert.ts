/** The floor of storing a block: its ticks alone, in one insert, into a table without other writers. */
import type { ClickHouseClient } from '@clickhouse/client'
import { insertRows } from '../../aggregator/store/store.ts'
import { tickRow } from '../../aggregator/write/rows.ts'
import type { BlockContent } from '../../ingest/model/message.ts'

export async function createBareTable(client: ClickHouseClient): Promise<void> {
  await client.command({ query: 'CREATE TABLE bare_ticks AS ticks' })
}

export function insertBare(client: ClickHouseClient, block: BlockContent): Promise<void> {
  return insertRows(client, 'bare_ticks', (out) => {
    for (const tick of block.ticks) tickRow(out, { network: 'ethereum', block, version: 1n }, tick)
  })
}

/** In ms. */
export async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}
