/** The newest published block of a network, which survives restarts. Blocks above it are published (again) after a crash. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { BlockRef, UnixSeconds } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import { ask, insertRows, loadSql } from '../../store/store.ts'
import { FINAL_HISTORY } from '../../store/version.ts'

const newestCoveredSql = loadSql(import.meta.url, './newest_covered.sql')

/** Block −1 at time 0: nothing is published yet. */
export type PublishCursor = BlockRef & { timestamp: UnixSeconds }

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

/** The newest block that a job has overwritten, or has begun to; -1 without one. Up to it, a job's rows may replace the rows of the stream. */
export async function newestCovered(
  client: ClickHouseClient,
  network: NetworkName,
  { number: tip, timestamp: since }: Pick<PublishCursor, 'number' | 'timestamp'>,
): Promise<number> {
  const final = FINAL_HISTORY.toString()
  const [row] = await ask<{ last: number }>(client, newestCoveredSql, { network, tip, since, final })
  return row?.last ?? -1
}
