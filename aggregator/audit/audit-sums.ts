/** Order-free sums over the logs of blocks, stored ones and those of a node: equal sums mean equal logs. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { BlockRange } from '../../ingest/model/block-range.ts'
import type { BlockContent } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import { digestOf, digestOfDollars, digestOfLiquidity } from '../store/digest.ts'
import { askGroups, filterGroups } from '../store/pool-groups.ts'
import { ask, loadSql } from '../store/store.ts'

/** Digests are decimal text. */
export type BlockSums = { logs: number; digest: string; dollars: string }

export type StoredBlocks = BlockRange & {
  network: NetworkName
  /** All pools where absent. */
  pools: readonly PoolId[] | undefined
}

export const NO_LOGS: BlockSums = { logs: 0, digest: '0', dollars: '0' }

/** Makes the block's time part of the digest: right logs at a wrong time differ. */
const TIME_FACTOR = 11n

export function sumsOf({
  timestamp,
  ticks,
  liquidity,
}: Pick<BlockContent, 'timestamp' | 'ticks' | 'liquidity'>): BlockSums {
  const logs = ticks.length + liquidity.length
  const times = TIME_FACTOR * BigInt(timestamp) * BigInt(logs)
  return {
    logs,
    digest: BigInt.asUintN(64, digestOf(ticks) + digestOfLiquidity(liquidity) + times).toString(),
    dollars: digestOfDollars(ticks).toString(),
  }
}

const digests = loadSql(import.meta.url, './audit_digests.sql')

/** By block number; blocks without logs are left out. */
export async function storedSums(client: ClickHouseClient, blocks: StoredBlocks): Promise<Map<number, BlockSums>> {
  const rows = await askSums(client, blocks, 0)
  const stored = new Map<number, BlockSums>()
  for (const { number, ...sums } of rows) stored.set(number, added(stored.get(number) ?? NO_LOGS, sums))
  return stored
}

/** How many logs of a block are stored that the chain does not have, and how many it has that are not stored. */
export async function countDifferences(
  client: ClickHouseClient,
  { network, pools }: Pick<StoredBlocks, 'network' | 'pools'>,
  { number, timestamp, ticks, liquidity }: BlockContent,
): Promise<{ omitted: number; invented: number }> {
  const rows = await askSums(client, { network, pools, from: number, to: number }, 1)
  const stored = new Set(rows.map(({ digest }) => digest))
  const there = new Set([
    ...ticks.map((tick) => sumsOf({ timestamp, ticks: [tick], liquidity: [] }).digest),
    ...liquidity.map((change) => sumsOf({ timestamp, ticks: [], liquidity: [change] }).digest),
  ])
  const without = (one: Set<string>, other: Set<string>) => [...one].filter((digest) => !other.has(digest)).length
  return { omitted: without(there, stored), invented: without(stored, there) }
}

/** A block has a row for each group of pools in which it has something. */
function askSums(client: ClickHouseClient, { network, pools = [], from, to }: StoredBlocks, each: 0 | 1) {
  return askGroups(filterGroups(pools), (pools) =>
    ask<BlockSums & { number: number }>(client, digests, { network, pools, first: from, last: to, each }),
  )
}

/** Sums of two disjoint sets of logs. */
function added(one: BlockSums, other: BlockSums): BlockSums {
  const sum = (a: string, b: string) => BigInt.asUintN(64, BigInt(a) + BigInt(b)).toString()
  return {
    logs: one.logs + other.logs,
    digest: sum(one.digest, other.digest),
    dollars: sum(one.dollars, other.dollars),
  }
}
