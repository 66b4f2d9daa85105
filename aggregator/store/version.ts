/**
 * Versions of live rows: of two rows with one key the higher version is the truth.
 *
 *   bit 63       the row states final history: it beats every live row
 *   bits 48..62  generation of the log: goes up when the log was recreated and its offsets begin at 0
 *   bits 0..47   2 · offset for a tombstone, 2 · offset + 1 for a row, of the message that made it
 */
import type { Offset } from '../../ingest/model/tick-log.ts'

export type Version = bigint

/** A place in one generation of the log. */
export type LogPosition = { generation: number; offset: Offset }

/** Rows from here on state final history. */
export const FINAL_HISTORY: Version = 1n << 63n

export function rowVersion({ generation, offset }: LogPosition): Version {
  return (BigInt(generation) << 48n) | (2n * BigInt(offset) + 1n)
}

/** A tombstone that beats every row of the messages before `position`, and no row of the message there. */
export function tombstoneVersion({ generation, offset }: LogPosition): Version {
  return (BigInt(generation) << 48n) | (2n * BigInt(offset))
}

/** A row of final history that a job has read: beats every live row, every tombstone, and the rows of every earlier job. */
export function finalRowVersion(job: number): Version {
  return FINAL_HISTORY | (2n * BigInt(job) + 1n)
}

/** A tombstone for rows that a job did not find on the chain. */
export function finalTombstoneVersion(job: number): Version {
  return FINAL_HISTORY | (2n * BigInt(job))
}

export function positionOf(version: Version): LogPosition {
  return {
    generation: Number((version >> 48n) & 0x7fffn),
    offset: Number((version & 0xffff_ffff_ffffn) >> 1n),
  }
}
