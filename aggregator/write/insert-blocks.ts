/** Insert: the content of blocks, one statement a table. Nothing here puts a block on the ledger. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { BlockContent } from '../../ingest/model/message.ts'
import type { RowBinary } from '../store/row-binary.ts'
import { insertRows, together } from '../store/store.ts'
import { balanceHourRow, balanceRow, liquidityRow, poolRow, type VersionedBlock } from './rows.ts'
import { insertTicks, type VersionedTicks } from './tick-rows.ts'

/** Ticks, pools and liquidity changes. All rows are encoded before the first statement is answered. */
export function insertBlocks(
  client: ClickHouseClient,
  blocks: readonly VersionedBlock[],
  ticks: VersionedTicks,
): Promise<void> {
  return together([
    insertTicks(client, ticks),
    insertPools(client, blocks),
    insertEach(client, 'liquidity_changes', blocks, ({ liquidity }) => liquidity, liquidityRow),
  ])
}

export function insertPools(client: ClickHouseClient, blocks: readonly VersionedBlock[]): Promise<void> {
  return insertEach(client, 'pools', blocks, ({ pools }) => pools, poolRow)
}

/** The server's clock sets `written`: rows of a day ago expire at once, and the clock of this process may be behind. */
const BALANCES = 'pool_balances (network, pool, block, block_hash, balance0, balance1, time)'

/** Every reading is kept for a day, so that a rollback can restore an older one; the newest of each hour is kept for ever. */
export async function insertBalances(client: ClickHouseClient, blocks: readonly VersionedBlock[]): Promise<void> {
  await together([
    insertEach(client, BALANCES, blocks, ({ balances }) => balances, balanceRow),
    insertEach(client, 'pool_balance_hours', blocks, ({ balances }) => balances, balanceHourRow),
  ])
}

/** One row for each of the things that a block holds. */
async function insertEach<Thing>(
  client: ClickHouseClient,
  table: string,
  blocks: readonly VersionedBlock[],
  things: (block: BlockContent) => readonly Thing[],
  row: (out: RowBinary, versioned: VersionedBlock, thing: Thing) => void,
): Promise<void> {
  await insertRows(client, table, (out) => {
    for (const versioned of blocks) for (const thing of things(versioned.block)) row(out, versioned, thing)
  })
}
