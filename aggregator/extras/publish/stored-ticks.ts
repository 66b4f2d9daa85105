/** Stored swaps as they are published: read back where memory does not hold them. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Hash } from 'viem'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import type { Tick } from '../../../ingest/model/tick.ts'
import { storedPrice } from '../../candles/price-estimate.ts'
import { askGroups, filterGroups } from '../../store/pool-groups.ts'
import { storedSender } from '../../store/sender.ts'
import { ask, loadSql, MAX_TIME } from '../../store/store.ts'
import { finalTombstoneVersion, type Version } from '../../store/version.ts'
import type { VersionedTick } from './publication.ts'

const storedTicks = loadSql(import.meta.url, './stored_ticks.sql')
const blockHashes = loadSql(import.meta.url, './block_hashes.sql')

/** Blocks and seconds, both ends included; all seconds where absent. They bound the read: the time is in the key, and in that of the partitions. */
export type TickRange = {
  first: number
  last: number
  since?: UnixSeconds
  until?: UnixSeconds
  /** Only rows of lower versions. */
  below?: Version | undefined
}

type StoredTickRow = { pool: PoolId; number: number; timestamp: UnixSeconds; scale: number } & Pick<
  Tick,
  'logIndex' | 'poolTick' | 'fee'
> &
  Record<
    | 'transactionHash'
    | 'sender'
    | 'amount0'
    | 'amount1'
    | 'sqrtPriceX96'
    | 'liquidity'
    | 'spotPriceUlps'
    | 'priceUlps'
    | 'amountUsdMicros'
    | 'version',
    string
  >

const MAX_VERSION: Version = (1n << 64n) - 1n

/** Ascending by block and log index; of all pools where `pools` is empty. */
export function readStoredTicks(
  client: ClickHouseClient,
  network: NetworkName,
  { below = MAX_VERSION, ...range }: TickRange,
  pools: readonly PoolId[] = [],
): Promise<VersionedTick[]> {
  return readTicks(client, 'live', { network, ...range, atLeast: '0', below: below.toString() }, pools)
}

/** The same of rows and tombstones of this job and of later ones. */
export function readTicksOfJobs(
  client: ClickHouseClient,
  network: NetworkName,
  { job, ...range }: Omit<TickRange, 'below'> & { job: number },
  pools: readonly PoolId[] = [],
): Promise<VersionedTick[]> {
  const versions = { atLeast: finalTombstoneVersion(job).toString(), below: MAX_VERSION.toString() }
  return readTicks(client, 'all', { network, ...range, ...versions }, pools)
}

async function readTicks(
  client: ClickHouseClient,
  which: 'live' | 'all',
  range: Omit<TickRange, 'below'> & { network: NetworkName; atLeast: string; below: string },
  pools: readonly PoolId[],
): Promise<VersionedTick[]> {
  const groups = filterGroups(pools)
  // A tombstone is a row like the one that it takes, and FINAL leaves it out.
  const clickhouse_settings = { final: which === 'live' ? 1 : 0 } as const
  const rows = await askGroups(groups, (group) =>
    ask<StoredTickRow>(
      client,
      storedTicks,
      { since: 0, until: MAX_TIME, ...range, pools: group },
      { clickhouse_settings },
    ),
  )
  if (rows.length === 0) return []
  const { network } = range
  // A range without a beginning or an end may span all of the ledger.
  const first = rows.reduce((lowest, { number }) => Math.min(lowest, number), range.last)
  const last = rows.reduce((highest, { number }) => Math.max(highest, number), range.first)
  const found = await ask<{ number: number; hash: string }>(client, blockHashes, { network, first, last })
  const hashes = new Map(found.map(({ number, hash }) => [number, `0x${hash}`]))
  const ticks = rows.map((row) => toVersionedTick(row, hashes.get(row.number)))
  return groups.length === 1 ? ticks : ticks.sort(inChainOrder)
}

export function inChainOrder(one: VersionedTick, other: VersionedTick): number {
  return one.block.number - other.block.number || one.tick.logIndex - other.tick.logIndex
}

function toVersionedTick(row: StoredTickRow, hash: string | undefined): VersionedTick {
  const { pool, number, timestamp, logIndex, poolTick, fee, scale } = row
  const swapped = {
    amount0: BigInt(row.amount0),
    amount1: BigInt(row.amount1),
    sqrtPriceX96: BigInt(row.sqrtPriceX96),
  }
  const sender = storedSender(row.sender)
  return {
    block: { number, hash, timestamp },
    tick: {
      ...swapped,
      pool,
      logIndex,
      transactionHash: `0x${row.transactionHash}` as Hash,
      ...(sender && { sender }),
      liquidity: BigInt(row.liquidity),
      poolTick,
      fee,
      price: storedPrice('price', { ...swapped, scale, ulps: BigInt(row.priceUlps) }),
      spotPrice: storedPrice('spotPrice', { ...swapped, scale, ulps: BigInt(row.spotPriceUlps) }),
      amountUsdMicros: BigInt(row.amountUsdMicros),
    },
    version: BigInt(row.version),
  }
}
