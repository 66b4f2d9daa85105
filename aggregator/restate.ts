/** A restatement: final history as a job read it, in place of whatever is stored of its blocks. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Restatement, UnixSeconds } from '../ingest/message.ts'
import type { NetworkName } from '../ingest/network.ts'
import type { PoolId } from '../ingest/pool.ts'
import { bucketStart } from './candle.ts'
import { recordChanges } from './changes.ts'
import { insertBalances, insertContents } from './contents.ts'
import { recordCoverage } from './coverage.ts'
import { foldContents } from './folding.ts'
import type { Keeping } from './keeping.ts'
import { OpenBuckets } from './open-buckets.ts'
import { askGroups, filterGroups } from './pool-groups.ts'
import { recompute, scopeOf, type Touched } from './recompute.ts'
import type { RowContext } from './rows.ts'
import type { Disk } from './settling.ts'
import { ask, loadSql, run, together } from './store.ts'
import { finalRowVersion, finalTombstoneVersion } from './version.ts'

const touchedBetween = loadSql(import.meta.url, './sql/touched_between.sql')
const isTouchedSql = loadSql(import.meta.url, './sql/is_touched.sql')
const buryUnstated = {
  ticks: loadSql(import.meta.url, './sql/bury_unstated_ticks.sql'),
  liquidity_changes: loadSql(import.meta.url, './sql/bury_unstated_liquidity_changes.sql'),
}

const DAY = 86_400

/** Of one job, for one set of pools, each beginning where the one before it ends. */
export type Run = readonly [Restatement, ...Restatement[]]

/**
 * May be repeated after a failure at any statement; the coverage, written last, says that it need not be.
 * `tip` is the time of the newest block that the stream has stored.
 */
export async function restate(
  client: ClickHouseClient,
  restatements: Run,
  keeping: Keeping,
  tip: UnixSeconds,
  disk?: Pick<Disk, 'sync'>,
): Promise<void> {
  const [first] = restatements
  const last = restatements.at(-1) ?? first
  const { network, job, pools = [] } = first
  const row = finalRowVersion(job)
  const contents = restatements.flatMap(({ blocks }) => blocks.map((block) => ({ network, block, version: row })))
  const stated = { network, first: first.from, last: last.to, pools }
  const until = bucketStart(last.timestamp, DAY) + DAY
  const going = keeping.history
  // Given up until this is done: after a failure nobody knows what is stored.
  keeping.history = undefined
  keeping.open.runsAhead(last.timestamp)
  let touched: readonly Touched[]
  if (await isTouched(client, stated, until)) {
    touched = await replace(client, stated, contents, job, keeping)
  } else {
    // Buckets that begin after all that was there before have only what is stated from here on.
    const goesOn = going?.job === job && going.pools === String(pools) && going.next === first.from
    const open = goesOn
      ? going.open
      : new OpenBuckets(Math.max(first.firstTimestamp, contents[0]?.block.timestamp ?? 0))
    const folding = await foldContents(client, network, contents, { ...keeping, open })
    touched = folding.touched
    await folding.stored
    await together([
      folding.storeCandles(),
      insertBalances(client, contents),
      bury(client, ['liquidity_changes'], stated, job),
    ])
    keeping.history = { job, pools: String(pools), next: last.to + 1, until, open }
  }
  keeping.open.forget(
    touched.map(({ pool }) => pool),
    tip,
  )
  await recordChanges(client, network, touched, { sequence: keeping.versions.next() })
  // What is covered is not read again.
  await disk?.sync()
  await recordCoverage(client, restatements, row)
}

/** Whether anything was ever stored of these blocks, or of later ones up to a second. */
async function isTouched(
  client: ClickHouseClient,
  { network, first, pools }: Stated,
  until: UnixSeconds,
): Promise<boolean> {
  for (const group of filterGroups(pools)) {
    const rows = await ask(client, isTouchedSql, { network, first, until, pools: group })
    if (rows.length > 0) return true
  }
  return false
}

type Stated = { network: NetworkName; first: number; last: number; pools: readonly PoolId[] }

/** Over whatever is stored of these blocks: what is not stated of them is buried, and the tables make their candles anew. */
async function replace(
  client: ClickHouseClient,
  stated: Stated,
  contents: readonly RowContext[],
  job: number,
  keeping: Keeping,
): Promise<readonly Touched[]> {
  await together([insertContents(client, contents), insertBalances(client, contents)])
  await bury(client, ['ticks', 'liquidity_changes'], stated, job)
  const touched = await askGroups(filterGroups(stated.pools), (pools) =>
    ask<Touched>(client, touchedBetween, { ...stated, pools }),
  )
  await recompute(client, stated.network, scopeOf(touched), keeping)
  return touched
}

/** What is stored of these blocks by anybody else. */
async function bury(
  client: ClickHouseClient,
  tables: readonly (keyof typeof buryUnstated)[],
  stated: Stated,
  job: number,
): Promise<void> {
  const versions = { row: finalRowVersion(job).toString(), tombstone: finalTombstoneVersion(job).toString() }
  for (const pools of filterGroups(stated.pools)) {
    await together(tables.map((table) => run(client, buryUnstated[table], { ...stated, pools, ...versions })))
  }
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
