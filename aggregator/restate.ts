/** A restatement: final history as a job read it, in place of whatever is stored of its blocks. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Restatement, UnixSeconds } from '../ingest/message.ts'
import { recordChanges } from './changes.ts'
import { insertContents } from './contents.ts'
import { recordCoverage } from './coverage.ts'
import type { Keeping } from './flush.ts'
import { recompute, scopeOf, type Touched } from './recompute.ts'
import { ask, loadSql, run, together } from './store.ts'
import { finalRowVersion, finalTombstoneVersion } from './version.ts'

const touchedBetween = loadSql(import.meta.url, './sql/touched_between.sql')
const buryUnstated = ['ticks', 'liquidity_changes'].map((table) =>
  loadSql(import.meta.url, `./sql/bury_unstated_${table}.sql`),
)

/** Of one job, for one set of pools, each beginning where the one before it ends. */
export type Run = readonly [Restatement, ...Restatement[]]

/**
 * May be repeated after a failure at any statement; the coverage, written last, says that it need not be.
 * `tip` is the time of the newest block that the stream has stored.
 */
export async function restate(
  client: ClickHouseClient,
  restatements: Run,
  { versions, open }: Keeping,
  tip: UnixSeconds,
): Promise<void> {
  const [first] = restatements
  const last = restatements.at(-1) ?? first
  const { network, job, pools = [] } = first
  open.runsAhead(last.timestamp)
  const row = finalRowVersion(job)
  await insertContents(
    client,
    restatements.flatMap(({ blocks }) => blocks.map((block) => ({ network, block, version: row }))),
  )
  const stated = { network, first: first.from, last: last.to, pools }
  const tombstone = finalTombstoneVersion(job).toString()
  await together(buryUnstated.map((bury) => run(client, bury, { ...stated, row: row.toString(), tombstone })))
  const touched = await ask<Touched>(client, touchedBetween, stated)
  const scope = scopeOf(touched)
  open.forget(scope.pools, tip)
  await recompute(client, network, scope, versions)
  await recordChanges(client, network, touched, versions)
  await recordCoverage(client, restatements, row)
}

/** Messages in as few runs as can be, none of them with many more ticks than this. */
export function runsOf(restatements: readonly Restatement[], mostTicks: number): Run[] {
  const runs: [Restatement, ...Restatement[]][] = []
  let ticks = 0
  for (const one of restatements) {
    const run = runs.at(-1)
    const before = run?.at(-1)
    if (run && before && ticks < mostTicks && goesOn(before, one)) run.push(one)
    else {
      runs.push([one])
      ticks = 0
    }
    ticks += one.blocks.reduce((sum, block) => sum + block.ticks.length, 0)
  }
  return runs
}

function goesOn(before: Restatement, next: Restatement): boolean {
  return before.job === next.job && before.to + 1 === next.from && String(before.pools) === String(next.pools)
}
