/** The ledger as it is stored: its newest and oldest blocks, and single ones. No question reads it in proportion to its length. */

import type { ClickHouseClient } from '@clickhouse/client'
import type { Hash } from 'viem'
import type { BlockRef, UnixSeconds } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { StoredChain, StoredTip } from '../../ingest/model/stored-chain.ts'
import { ask, loadSql } from '../store/store.ts'
import { positionOf, type Version } from '../store/version.ts'

/** In the place of a tip where the ledger is empty. */
export const BEFORE_ALL: LedgerBlock = { number: -1, hash: `0x${'0'.repeat(64)}`, timestamp: 0 }

export type LedgerBlock = BlockRef & { timestamp: number }

const blockWindow = loadSql(import.meta.url, './block_window.sql')
const newestBlocks = loadSql(import.meta.url, './newest_blocks.sql')
const oldestBlock = loadSql(import.meta.url, './oldest_block.sql')

/** A block of the ledger as it is stored; `version` is that of its row. */
export type StoredBlock = LedgerBlock & StoredTip & { version: Version }

/** Rows of the first window beyond the wanted ones: the depth of an ordinary rollback. */
const WINDOW_ROWS = 8_192
/** Block numbers that one query of the ledger spans at most: a range has its first block in its last row, no further above than this. */
export const MAX_RANGE_BLOCKS = 50_000
/** Each further window has so many times the rows. */
const WINDOW_GROWTH = 8

/**
 * Blocks on the ledger below `number`, newest first. FINAL reads every row that the key allows, so it is given a window of the newest
 * rows, which grows only where that holds too many tombstones: no question reads the ledger in proportion to its length.
 */
export async function readBlocks(
  client: ClickHouseClient,
  network: NetworkName,
  below: number,
  limit: number,
): Promise<StoredBlock[]> {
  for (let size = WINDOW_ROWS + 2 * limit; ; size *= WINDOW_GROWTH) {
    const [window] = await ask<{ since: number; rows: number }>(client, blockWindow, { network, below, limit: size })
    if (!window || window.rows === 0) return []
    const { since, rows } = window
    const blocks = await ask<Omit<StoredBlock, 'version'> & { version: string }>(client, newestBlocks, {
      ...{ network, since, below, limit },
    })
    if (blocks.length < limit && rows === size) continue
    return blocks.map((row) => ({ ...row, hash: `0x${row.hash}` as Hash, version: BigInt(row.version) }))
  }
}

/** The block of just this number. */
export async function storedBlock(client: ClickHouseClient, network: NetworkName, number: number) {
  const [stored] = await readBlocks(client, network, number + 1, 1)
  return stored?.number === number ? stored : undefined
}

/** The ledger's tip, as it is stored. */
export async function newestBlock(client: ClickHouseClient, network: NetworkName): Promise<StoredBlock | undefined> {
  const [tip] = await readBlocks(client, network, Number.MAX_SAFE_INTEGER, 1)
  return tip
}

/** The ledger as a listener asks for it when it starts. */
export function storedChain(client: ClickHouseClient, network: NetworkName): StoredChain {
  return {
    tip: () => newestBlock(client, network),
    passed: async () => positionOf(await newestVersion(client, network)).offset,
    below: (number, limit) => readBlocks(client, network, number, limit),
  }
}

/** Version of the tip or of a tombstone above it, as `positionInLog` reads it; 0 where nothing is stored. */
async function newestVersion(client: ClickHouseClient, network: NetworkName): Promise<Version> {
  const tip = await newestBlock(client, network)
  const [row] = await ask<{ newest: string }>(
    client,
    `SELECT toString(max(version)) AS newest FROM blocks WHERE network = {network:String} AND number >= {tip:UInt64}`,
    { network, tip: tip?.number ?? 0 },
  )
  return BigInt(row?.newest ?? 0)
}

/**
 * The newest block up to `number` that the ledger can end with: inside of a range of history not every block is stored, and the
 * block before the range is the answer. `number` is below the tip.
 */
export async function endBelow(client: ClickHouseClient, network: NetworkName, number: number): Promise<number> {
  const [above] = await ask<{ first: number }>(
    client,
    `SELECT toFloat64(min(first)) AS first FROM blocks FINAL
     WHERE network = {network:String} AND blocks.number > {block:UInt64} AND blocks.number <= {last:UInt64}`,
    { network, block: number, last: number + MAX_RANGE_BLOCKS },
  )
  return above ? Math.min(number, above.first - 1) : number
}

/** No stored tick is later: neither one of the tip or below it, nor one that a job has stated beyond it. */
export async function newestTick(
  client: ClickHouseClient,
  network: NetworkName,
  tip: LedgerBlock | undefined,
): Promise<UnixSeconds> {
  const [covered] = await ask<{ newest: number }>(
    client,
    'SELECT toUnixTimestamp(max(last_time)) AS newest FROM coverage WHERE network = {network:String}',
    { network },
  )
  const known = Math.max(tip?.timestamp ?? 0, covered?.newest ?? 0)
  // Parts without later rows are not read at all: the others are of a job, or of a flush that was cut off.
  const [row] = await ask<{ newest: number }>(
    client,
    `SELECT toUnixTimestamp(max(time)) AS newest FROM ticks
     WHERE network = {network:String} AND block > {tip:Int64} AND time > toDateTime({known:UInt32}, 'UTC')`,
    { network, tip: tip?.number ?? -1, known },
  )
  return Math.max(tip?.timestamp ?? -1, covered?.newest || -1, row?.newest || -1)
}

/** The beginning of the stored history: its first block, and the oldest stored time. */
export type LedgerStart = { first: number; time: UnixSeconds }

/** Undefined where nothing is stored. */
export async function ledgerStart(client: ClickHouseClient, network: NetworkName): Promise<LedgerStart | undefined> {
  let from = 0
  for (let limit = WINDOW_ROWS; ; limit *= WINDOW_GROWTH) {
    const [window] = await ask<OldestBlock>(client, oldestBlock, { network, from, limit })
    if (!window || window.rows === 0) return undefined
    if (window.blocks > 0) return { first: await firstBefore(client, network, window.oldest), time: window.time }
    // Tombstones alone, of a history that was taken back.
    from = window.last + 1
  }
}

type OldestBlock = { last: number; rows: number; oldest: number; time: UnixSeconds; blocks: number }

/** The first block of the message that left the oldest row. */
async function firstBefore(client: ClickHouseClient, network: NetworkName, oldest: number): Promise<number> {
  const [row] = await ask<{ begin: number }>(
    client,
    `SELECT toFloat64(min(first)) AS begin FROM blocks FINAL
     WHERE network = {network:String} AND blocks.number BETWEEN {oldest:UInt64} AND {last:UInt64}`,
    { network, oldest, last: oldest + MAX_RANGE_BLOCKS },
  )
  return row?.begin ?? oldest
}
