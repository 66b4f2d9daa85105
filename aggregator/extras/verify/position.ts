/** The position and the findings of the permanent verification of a network: one row of `verifications`. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import { ask, insertRows } from '../../store/store.ts'

export const PHASES = ['candles', 'blocks', 'coverage'] as const
/** Candles against ticks, blocks of the ledger against their count and digest, then ranges that jobs have overwritten. */
export type VerifyPhase = (typeof PHASES)[number]

export type VerifyPosition = {
  phase: VerifyPhase
  /** Candles: all months before it are verified; in this month all pools before `pool`, and that one before `second`. */
  month: UnixSeconds
  pool: string
  second: UnixSeconds
  /** Blocks: all before this one are verified. Coverage: ranges of `job` before it, and those of all earlier jobs. */
  block: number
  job: number
}

/** A pass goes through everything once. */
export type Verification = VerifyPosition & {
  began: UnixSeconds
  /** Found in this pass. */
  mismatches: number
  /** Whole passes, the end of the last one (0: none), and its mismatches. */
  passes: number
  passed: UnixSeconds
  passedMismatches: number
  /** The newest mismatch, with the command that repairs it; empty where none was found. */
  newest: string
  version: bigint
}

export function positionOf({ phase, month, pool, second, block, job }: VerifyPosition): VerifyPosition {
  return { phase, month, pool, second, block, job }
}

export const START_OF_PASS: VerifyPosition = { phase: 'candles', month: 0, pool: '', second: 0, block: 0, job: 0 }

export async function readVerification(
  client: ClickHouseClient,
  network: NetworkName,
): Promise<Verification | undefined> {
  const [row] = await ask<Omit<Verification, 'version'> & { version: string }>(
    client,
    `SELECT phase, toUnixTimestamp(month) AS month, pool, toUnixTimestamp(second) AS second, toFloat64(block) AS block, job,
       toUnixTimestamp(began) AS began, toFloat64(mismatches) AS mismatches, toFloat64(passes) AS passes,
       toUnixTimestamp(passed) AS passed, toFloat64(passed_found) AS "passedMismatches", newest, toString(version) AS version
     FROM verifications FINAL WHERE network = {network:String}`,
    { network },
  )
  return row && { ...row, version: BigInt(row.version) }
}

/** Returns it with the version that was written. */
export async function writeVerification(
  client: ClickHouseClient,
  network: NetworkName,
  verification: Verification,
): Promise<Verification> {
  const { phase, month, pool, second, block, job, began, mismatches, passes, passed, passedMismatches, newest } =
    verification
  const version = verification.version + 1n
  await insertRows(client, 'verifications', (out) => {
    out.string(network).string(phase).uint32(month).string(pool).uint32(second).uint64(block).uint32(job)
    out.uint32(began).uint64(mismatches).uint64(passes).uint32(passed).uint64(passedMismatches).string(newest)
    out.uint64(version)
  })
  return { ...verification, version }
}

/** The place after a slice; undefined where the pass has ended. */
export function advance(at: Verification, next: VerifyPosition | undefined): Verification | undefined {
  if (next) return { ...at, ...next }
  const phase = PHASES[PHASES.indexOf(at.phase) + 1]
  return phase && { ...at, ...START_OF_PASS, phase }
}

function nowSeconds(): UnixSeconds {
  return Math.floor(Date.now() / 1000)
}

export function firstPass(): Verification {
  const none = { mismatches: 0, passes: 0, passed: 0, passedMismatches: 0, newest: '', version: 0n }
  return { ...START_OF_PASS, ...none, began: nowSeconds() }
}

export function passed(at: Verification): Verification {
  return {
    ...at,
    ...START_OF_PASS,
    began: nowSeconds(),
    mismatches: 0,
    passes: at.passes + 1,
    passed: nowSeconds(),
    passedMismatches: at.mismatches,
    // A mismatch of an earlier pass that this one has not found is repaired.
    newest: at.mismatches > 0 ? at.newest : '',
  }
}
