/** Insert: the content of blocks, one statement a table. Nothing here puts a block on the ledger. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { BlockContent } from '../../ingest/model/message.ts'
import type { RowBinary } from '../store/row-binary.ts'
import { insertRows, together } from '../store/store.ts'
import { balanceHourRow, balanceRow, liquidityRow, poolRow, type VersionedBlock } from './rows.ts'
import { insertTicks, type VersionedTicks } from './tick-rows.ts'

/** Each with its columns: a later version may have added some to the table, while this process still writes it. */
const POOLS = `pools (network, pool, block, time, protocol, fee, initial_sqrt_price, token0_address, token0_symbol, token0_name, token0_decimals,
  token1_address, token1_symbol, token1_name, token1_decimals, version, is_deleted, venue, hooks)`
const LIQUIDITY = `liquidity_changes (network, pool, block, log_index, time, tick_lower, tick_upper, liquidity_delta, version, is_deleted)`
const BALANCE_HOURS = 'pool_balance_hours (network, pool, hour, block, balance0, balance1, version, is_deleted)'
/** The server's clock sets `written`: rows of a day ago expire at once, and the clock of this process may be behind. */
const BALANCES = 'pool_balances (network, pool, block, block_hash, balance0, balance1, time)'

/** Ticks, pools and liquidity changes. All rows are encoded before the first statement is answered. */
export function insertBlocks(
  client: ClickHouseClient,
  blocks: readonly VersionedBlock[],
  ticks: VersionedTicks,
): Promise<void> {
  return together([
    insertTicks(client, ticks),
    insertPools(client, blocks),
    insertEach(client, LIQUIDITY, blocks, ({ liquidity }) => liquidity, liquidityRow),
  ])
}

export function insertPools(client: ClickHouseClient, blocks: readonly VersionedBlock[]): Promise<void> {
  return insertEach(client, POOLS, blocks, ({ pools }) => pools, poolRow)
}

/** Every reading is kept for a day, so that a rollback can restore an older one; the newest of each hour is kept for ever. */
export async function insertBalances(client: ClickHouseClient, blocks: readonly VersionedBlock[]): Promise<void> {
  await together([
    insertEach(client, BALANCES, blocks, ({ balances }) => balances, balanceRow),
    insertEach(client, BALANCE_HOURS, blocks, ({ balances }) => balances, balanceHourRow),
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
