/** A restatement: final history as a job read it, in place of whatever is stored of its blocks. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Restatement, UnixSeconds } from '../ingest/message.ts'
import { insertContents } from './contents.ts'
import { recordCoverage } from './coverage.ts'
import type { Keeping } from './flush.ts'
import { recompute, scopeOf, type Touched } from './recompute.ts'
import { ask, loadSql, run } from './store.ts'
import { finalRowVersion, finalTombstoneVersion } from './version.ts'

const touchedBetween = loadSql(import.meta.url, './sql/touched_between.sql')
const buryUnstated = ['ticks', 'liquidity_changes'].map((table) =>
  loadSql(import.meta.url, `./sql/bury_unstated_${table}.sql`),
)

/**
 * May be repeated after a failure at any statement; the coverage, written last, says that it need not be.
 * `tip` is the time of the newest block that the stream has stored.
 */
export async function restate(
  client: ClickHouseClient,
  restatement: Restatement,
  { versions, open }: Keeping,
  tip: UnixSeconds,
): Promise<void> {
  const { network, job, from: first, to: last, blocks } = restatement
  open.runsAhead(restatement.timestamp)
  const row = finalRowVersion(job)
  await insertContents(
    client,
    blocks.map((block) => ({ network, block, version: row })),
  )
  const pools = restatement.pools ?? []
  const stated = { network, first, last, pools }
  const tombstone = finalTombstoneVersion(job).toString()
  for (const bury of buryUnstated) await run(client, bury, { ...stated, row: row.toString(), tombstone })
  const touched = await ask<Touched>(client, touchedBetween, stated)
  const scope = scopeOf(touched)
  open.forget(scope.pools, tip)
  await recompute(client, network, scope, versions)
  await recordCoverage(client, restatement, row)
}
