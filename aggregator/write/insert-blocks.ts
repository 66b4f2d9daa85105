/** The rows of blocks, table by table: what a block holds, and nothing that says it is on the chain. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { BlockContent } from '../../ingest/model/message.ts'
import type { RowBinary } from '../store/row-binary.ts'
import { insertRows, together } from '../store/store.ts'
import { balanceHourRow, balanceRow, liquidityRow, poolRow, tickRow, type VersionedBlock } from './rows.ts'

/** All but the balances. */
export async function insertBlocks(client: ClickHouseClient, contents: readonly VersionedBlock[]): Promise<void> {
  await together([
    insertEach(client, 'ticks', contents, ({ ticks }) => ticks, tickRow),
    insertEach(client, 'pools', contents, ({ pools }) => pools, poolRow),
    insertEach(client, 'liquidity_changes', contents, ({ liquidity }) => liquidity, liquidityRow),
  ])
}

/** Each reading for a day, from which a rollback restores; the newest of each hour for ever. */
export async function insertBalances(client: ClickHouseClient, contents: readonly VersionedBlock[]): Promise<void> {
  await together([
    insertEach(client, 'pool_balances', contents, ({ balances }) => balances, balanceRow),
    insertEach(client, 'pool_balance_hours', contents, ({ balances }) => balances, balanceHourRow),
  ])
}

/** One row for each of the things that a block holds. */
async function insertEach<Thing>(
  client: ClickHouseClient,
  table: string,
  contents: readonly VersionedBlock[],
  things: (block: BlockContent) => readonly Thing[],
  row: (out: RowBinary, content: VersionedBlock, thing: Thing) => void,
): Promise<void> {
  await insertRows(client, table, (out) => {
    for (const content of contents) for (const thing of things(content.block)) row(out, content, thing)
  })
}
