/** The rows of blocks, table by table: everything that a block holds, and nothing that says it is on the chain. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { RowBinary } from './row-binary.ts'
import { balanceRow, liquidityRow, poolRow, type RowContext, tickRow } from './rows.ts'
import { insertRows, together } from './store.ts'

export async function insertContents(client: ClickHouseClient, contents: readonly RowContext[]): Promise<void> {
  /** One row for each of the things that a block holds. */
  const insertEach = <Thing>(
    table: string,
    things: (content: RowContext) => readonly Thing[],
    row: (out: RowBinary, content: RowContext, thing: Thing) => void,
  ) =>
    insertRows(client, table, (out) => {
      for (const content of contents) for (const thing of things(content)) row(out, content, thing)
    })

  await together([
    insertEach('ticks', ({ block }) => block.ticks, tickRow),
    insertEach('pools', ({ block }) => block.pools, poolRow),
    insertEach('liquidity_changes', ({ block }) => block.liquidity, liquidityRow),
    insertEach('pool_balances', ({ block }) => block.balances, balanceRow),
  ])
}
