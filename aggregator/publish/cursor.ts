/** The newest published block of a network, which survives restarts. Blocks above it are published (again) after a crash. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Hash } from 'viem'
import type { BlockRef, UnixSeconds } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import { ask, insertRows } from '../store/store.ts'

/** Block −1 at time 0: nothing is published yet. */
export type PublishCursor = BlockRef & { timestamp: UnixSeconds }

const NO_HASH: Hash = `0x${'0'.repeat(64)}`
export const BEFORE_ALL: PublishCursor = { number: -1, hash: NO_HASH, timestamp: 0 }

/** Undefined where this network was never published. */
export async function readCursor(client: ClickHouseClient, network: NetworkName): Promise<PublishCursor | undefined> {
  const [row] = await ask<{ number: number; hash: string; timestamp: UnixSeconds }>(
    client,
    `SELECT toFloat64(number) AS number, lower(hex(hash)) AS hash, toUnixTimestamp(time) AS timestamp
     FROM published FINAL WHERE network = {network:String}`,
    { network },
  )
  return row && { ...row, hash: `0x${row.hash}` }
}

/** The row of the highest version counts, so that a stale writer does not move the cursor of the one after it. */
export async function writeCursor(
  client: ClickHouseClient,
  network: NetworkName,
  { number, hash, timestamp }: PublishCursor,
  version: bigint,
): Promise<void> {
  await insertRows(client, 'published', (out) =>
    out.string(network).uint64(BigInt(number)).hash(hash).uint32(timestamp).integer(version, 128),
  )
}

/** The newest block that a job has stated; -1 where there is none. */
export async function newestCovered(client: ClickHouseClient, network: NetworkName): Promise<number> {
  const [row] = await ask<{ last: number }>(
    client,
    'SELECT toFloat64(max(last)) AS last FROM coverage WHERE network = {network:String} HAVING count() > 0',
    { network },
  )
  return row?.last ?? -1
}
