/** A rewind between two flushes of the stream: the blocks of a job are taken back, final or not, and older messages of the log are skipped. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { StoredOverwrites } from './history/coverage.ts'
import { finishJob, type Job } from './jobs/job.ts'
import { positionAfterStored } from './ledger/resume.ts'
import { untilStored } from './ledger/until-stored.ts'
import { rewind } from './maintenance/rewind.ts'
import { type LogPosition, tombstoneVersion } from './store/version.ts'
import type { StreamWriter } from './stream-writer.ts'
import type { AggregateOptions } from './write/aggregate-options.ts'
import type { OpenNetwork } from './write/writer-state.ts'

/** A crash before the job is finished has the next process repeat it from its beginning. Throws where the block below the job is not on the ledger. */
export async function rewindStream(
  client: ClickHouseClient,
  options: AggregateOptions,
  { state, ledger, overwrites, observer }: OpenNetwork & { overwrites: StoredOverwrites },
  stream: StreamWriter,
  job: Job,
): Promise<void> {
  const { network, log, position, shards = [client], report, signal } = options
  const persist = <T>(task: () => Promise<T>) => untilStored(options, task)
  const began = performance.now()
  await stream.store()
  const first = job.from
  const to = await persist(() => ledger.at(first - 1))
  if (!to) throw new Error(`Block ${first - 1} is not on the ledger of ${network}.`)
  const tip = ledger.tip ?? to
  const offset = await persist(async () =>
    endOfLog(position, await positionAfterStored(client, network), await log.end?.()),
  )
  stream.skipBefore(offset)
  const version = tombstoneVersion({ generation: position.generation, offset })
  await persist(() => observer.retract(to))
  const rewinding = { network, to, version, recomputeContext: state, shards, observer, signal }
  const pools = await persist(() => rewind(client, rewinding))
  state.open.invalidateAll(tip.timestamp)
  state.history = undefined
  ledger.rollBack(to)
  overwrites.rewound({ job: job.id, first })
  stream.rewound(tip)
  await persist(observer.sync)
  await persist(() => finishJob(client, job))
  observer.written()
  const depth = tip.number - to.number
  const ms = performance.now() - began
  report({ kind: 'rewound', network, job: job.id, to: to.number, depth, pools: pools.length, ms })
}

/** Above every message that is stored or may be in the log; at or below every message that is appended later. */
function endOfLog({ generation, offset }: LogPosition, afterStored: LogPosition, end = 0): number {
  return Math.max(offset, end, afterStored.generation === generation ? afterStored.offset : 0)
}
