/** A repair: proven content of final blocks overwrites whatever is stored of them. */
import type { ClickHouseClient } from '@clickhouse/client'
import { pause } from '../../ingest/lib/wait.ts'
import type { BlockContent, RangeOverwrite } from '../../ingest/model/message.ts'
import type { TickLog } from '../../ingest/model/tick-log.ts'
import { isOverwritten, type StoredRange } from '../history/coverage.ts'
import { failJob, finishJob, openJob, openJobs } from '../jobs/job.ts'

const POLL_MS = 100

/** Resolves once all of it is stored, candles too. May be repeated: the last repair counts. */
export async function repair(
  client: ClickHouseClient,
  history: TickLog<RangeOverwrite>,
  { network, pools }: StoredRange,
  runs: readonly (readonly BlockContent[])[],
  signal: AbortSignal,
): Promise<void> {
  const blocks = runs.flat()
  const [from, to] = [blocks[0]?.number, blocks.at(-1)?.number]
  if (from === undefined || to === undefined) return
  for (const job of await openJobs(client, network, 'audit')) await failJob(client, job, 'It was cut off.')
  // The highest job number so far: its rows beat those of every earlier job, also late ones.
  const job = await openJob(client, { network, from, to, pools, concurrency: 1 }, 'audit')
  const overwrites = runs.flatMap((run): RangeOverwrite[] => {
    const [first, last] = [run[0], run.at(-1)]
    if (!first || !last) return []
    const ends = { from: first.number, to: last.number, firstTimestamp: first.timestamp }
    const { timestamp, hash } = last
    return [{ kind: 'restatement', network, job: job.id, pools, ...ends, timestamp, hash, blocks: run }]
  })
  await history.append(overwrites)
  for (const overwrite of overwrites) {
    // In a cluster, appended is not stored yet.
    while (!(await isOverwritten(client, overwrite))) {
      await pause(POLL_MS, signal)
      signal.throwIfAborted()
    }
  }
  await finishJob(client, job)
}
