/** The rows of blocks, table by table: what a block holds, and nothing that says it is on the chain. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { BlockContent } from '../ingest/message.ts'
import type { RowBinary } from './row-binary.ts'
import { balanceRow, liquidityRow, poolRow, type RowContext, tickRow } from './rows.ts'
import { insertRows, together } from './store.ts'

/** All but the balances. */
export async function insertContents(client: ClickHouseClient, contents: readonly RowContext[]): Promise<void> {
  await together([
    insertEach(client, 'ticks', contents, ({ ticks }) => ticks, tickRow),
    insertEach(client, 'pools', contents, ({ pools }) => pools, poolRow),
    insertEach(client, 'liquidity_changes', contents, ({ liquidity }) => liquidity, liquidityRow),
  ])
}

/** They count for whoever finds their block on the ledger: nobody waits for them before. */
export async function insertBalances(client: ClickHouseClient, contents: readonly RowContext[]): Promise<void> {
  await insertEach(client, 'pool_balances', contents, ({ balances }) => balances, balanceRow)
}

/** One row for each of the things that a block holds. */
async function insertEach<Thing>(
  client: ClickHouseClient,
  table: string,
  contents: readonly RowContext[],
  things: (block: BlockContent) => readonly Thing[],
  row: (out: RowBinary, content: RowContext, thing: Thing) => void,
): Promise<void> {
  await insertRows(client, table, (out) => {
    for (const content of contents) for (const thing of things(content.block)) row(out, content, thing)
  })
}
