/** The floor of storing a block: its ticks alone, in one insert, into a table without other writers. */
import type { ClickHouseClient } from '@clickhouse/client'
import { insertNative } from '../../aggregator/store/store.ts'
import { contentOf, tickBlock, versionTicks } from '../../aggregator/write/tick-rows.ts'
import type { BlockContent } from '../../ingest/model/message.ts'

export async function createBareTable(client: ClickHouseClient): Promise<void> {
  await client.command({ query: 'CREATE TABLE bare_ticks AS ticks' })
}

export function insertBare(client: ClickHouseClient, block: BlockContent): Promise<void> {
  const network = 'ethereum'
  return insertNative(
    client,
    'bare_ticks',
    tickBlock(versionTicks(network, contentOf([{ network, block, version: 1n }]))),
  )
}

/** In ms. */
export async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}
