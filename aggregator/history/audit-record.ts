/** The record of an audit: how far a run of blocks is audited, what was found, and which blocks are pending. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import { ask, run } from '../store/store.ts'
import type { StoredRange } from './coverage.ts'

export type AuditRecord = {
  network: NetworkName
  job: number
  first: number
  /** The first block that is not audited yet. */
  next: number
  /** The first block that is not compared with another voice yet; below `next` where there is one voice. */
  compared: number
  /** When blocks were last compared with another voice; 0 for never. */
  comparedAt: UnixSeconds
  /** Swaps and liquidity changes that were compared. */
  logs: number
  /** Blocks with stored logs that differed from an answer or from their proof. */
  mismatched: number
  /** Logs that were added, and logs that were removed. */
  omitted: number
  invented: number
  /** Blocks whose logs were right and whose dollars were not. */
  repriced: number
  /** Blocks that no node's receipts prove. */
  undecided: readonly number[]
  /** When these were, as far as it is known. */
  undecidedTimes: ReadonlyMap<number, UnixSeconds>
  /** Blocks whose repair may be missing or incomplete. */
  repairing: readonly number[]
  version: number
}

export function beginRecord({ network, job, from: first }: StoredRange): AuditRecord {
  const counts = { logs: 0, mismatched: 0, omitted: 0, invented: 0, repriced: 0 }
  const pending = { undecided: [], undecidedTimes: new Map(), repairing: [] }
  return { network, job, first, next: first, compared: first, comparedAt: 0, ...counts, ...pending, version: 0 }
}

/** In no particular order. */
export async function readRecords(client: ClickHouseClient, network: NetworkName): Promise<AuditRecord[]> {
  const rows = await ask<Omit<AuditRecord, 'undecidedTimes'> & { times: readonly UnixSeconds[] }>(
    client,
    `SELECT network, job, toFloat64(first) AS first, toFloat64(next) AS next, toFloat64(compared) AS compared, toFloat64(logs) AS logs,
       toFloat64(mismatched) AS mismatched, toFloat64(omitted) AS omitted, toFloat64(invented) AS invented,
       toFloat64(repriced) AS repriced, arrayMap(it -> toFloat64(it), undecided) AS undecided,
       arrayMap(it -> toFloat64(it), repairing) AS repairing, toFloat64(version) AS version,
       undecided_times AS times, toUnixTimestamp(compared_at) AS comparedAt
     FROM audits FINAL WHERE network = {network:String}`,
    { network },
  )
  return rows.map(({ times, ...row }) => ({ ...row, undecidedTimes: timesIn(row.undecided, times) }))
}

function timesIn(blocks: readonly number[], times: readonly UnixSeconds[]): ReadonlyMap<number, UnixSeconds> {
  return new Map(blocks.flatMap((block, index) => (times[index] ? [[block, times[index]] as const] : [])))
}

/** Returns the record as it now stands. */
export async function writeRecord(client: ClickHouseClient, record: AuditRecord): Promise<AuditRecord> {
  const written = { ...record, version: record.version + 1 }
  const { undecidedTimes, ...rest } = written
  await run(
    client,
    `INSERT INTO audits (network, job, first, next, logs, mismatched, omitted, invented, repriced, undecided, repairing, time, version, compared, undecided_times, compared_at)
       SELECT {network:String}, {job:UInt32}, {first:UInt64}, {next:UInt64}, {logs:UInt64}, {mismatched:UInt64}, {omitted:UInt64}, {invented:UInt64},
       {repriced:UInt64}, {undecided:Array(UInt64)}, {repairing:Array(UInt64)}, now(), {version:UInt64}, {compared:UInt64}, {times:Array(UInt32)}, toDateTime({comparedAt:UInt32}, 'UTC')`,
    { ...rest, times: rest.undecided.map((block) => undecidedTimes.get(block) ?? 0) },
  )
  return written
}
