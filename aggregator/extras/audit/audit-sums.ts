/**
 * Order-free sums over the logs of blocks, stored or answered by a node: equal sums mean equal logs. The summand of a log is a hash with a
 * secret of this process, so that no node can choose false logs with an equal sum.
 */
import { createHash, randomBytes } from 'node:crypto'
import type { ClickHouseClient } from '@clickhouse/client'
import type { BlockRange } from '../../../ingest/model/block-range.ts'
import type { BlockContent } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { LiquidityChange, PoolId } from '../../../ingest/model/pool.ts'
import type { Tick } from '../../../ingest/model/tick.ts'
import { digestOfDollars } from '../../store/digest.ts'
import { askGroups, filterGroups } from '../../store/pool-groups.ts'
import { ask, loadSql } from '../../store/store.ts'

/** Digests are decimal text. `senders` is the digest of the ticks with a known sender; `unsent` counts the ticks without one. */
export type BlockSums = { logs: number; digest: string; senders: string; unsent: number; dollars: string }

export type StoredBlocks = BlockRange & {
  network: NetworkName
  /** All pools where absent. */
  pools: readonly PoolId[] | undefined
}

export const NO_LOGS: BlockSums = { logs: 0, digest: '0', senders: '0', unsent: 0, dollars: '0' }

const SECRET = randomBytes(16).toString('hex')

export function sumsOf({
  timestamp,
  ticks,
  liquidity,
}: Pick<BlockContent, 'timestamp' | 'ticks' | 'liquidity'>): BlockSums {
  const logs = [...ticks.map((tick) => tickText(tick, timestamp)), ...liquidity.map((it) => changeText(it, timestamp))]
  const senders = ticks.flatMap(({ logIndex, sender }) => (sender ? [`sender ${logIndex} ${sender.slice(2)}`] : []))
  return {
    logs: logs.length,
    digest: sumOf(logs),
    senders: sumOf(senders),
    unsent: ticks.length - senders.length,
    dollars: digestOfDollars(ticks).toString(),
  }
}

/** Everything that the log and its header say, but for the sender. */
function tickText(tick: Tick, timestamp: number): string {
  const { logIndex, pool, transactionHash, amount0, amount1, sqrtPriceX96, liquidity, poolTick } = tick
  const hooked = tick.hookAmounts ? ` ${tick.hookAmounts.amount0} ${tick.hookAmounts.amount1}` : ''
  return `tick ${logIndex} ${pool} ${transactionHash.slice(2)} ${timestamp} ${amount0} ${amount1} ${sqrtPriceX96} ${liquidity} ${poolTick}${hooked}`
}

function changeText(
  { logIndex, pool, tickLower, tickUpper, liquidityDelta }: LiquidityChange,
  timestamp: number,
): string {
  return `change ${logIndex} ${pool} ${timestamp} ${tickLower} ${tickUpper} ${liquidityDelta}`
}

function sumOf(texts: readonly string[]): string {
  const sum = texts.reduce((all, text) => all + keyed(text), 0n)
  return BigInt.asUintN(64, sum).toString()
}

function keyed(text: string): bigint {
  return createHash('sha256').update(`${SECRET} ${text}`).digest().readBigUInt64LE()
}

/** Whether two readings of a block have other logs. Versions that kept no senders are no difference. */
export function isDifferent(one: BlockSums, other: BlockSums): boolean {
  return one.digest !== other.digest || (one.unsent === 0 && other.unsent === 0 && one.senders !== other.senders)
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
    ask<BlockSums & { number: number }>(client, digests, {
      network,
      pools,
      first: from,
      last: to,
      each,
      secret: SECRET,
    }),
  )
}

/** Sums of two disjoint sets of logs. */
function added(one: BlockSums, other: BlockSums): BlockSums {
  const sum = (a: string, b: string) => BigInt.asUintN(64, BigInt(a) + BigInt(b)).toString()
  return {
    logs: one.logs + other.logs,
    digest: sum(one.digest, other.digest),
    senders: sum(one.senders, other.senders),
    unsent: one.unsent + other.unsent,
    dollars: sum(one.dollars, other.dollars),
  }
}
