/** One process of a network, from its start to its end or its death, and the ends that the listener and jobs hold of its logs. */
import { aggregate } from '../../aggregator/aggregate.ts'
import type { PublishOptions } from '../../aggregator/extras/publish/publish-options.ts'
import { publishing } from '../../aggregator/extras/publish/publisher.ts'
import { type Disk, truncateToCheckpoint } from '../../aggregator/ledger/checkpoint.ts'
import type { AggregatorFact } from '../../aggregator/ledger/fact.ts'
import type { Message, RangeOverwrite } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { Offset, TickLog } from '../../ingest/model/tick-log.ts'
import type { Running } from '../aggregator/running.ts'
import type { CrashClient } from './crash-client.ts'
import type { Logs } from './logs.ts'

/** How much the logs of a network hold, where they keep anything. */
export type Kept = { stream: number; history: number }

export type Process = Running & {
  /** Resolves once what these state is stored, and with them all that the log has kept. */
  overwrite(messages: readonly RangeOverwrite[]): Promise<void>
}

export type ProcessOptions = {
  network: NetworkName
  logs: Logs
  /** Absent where the logs keep nothing. */
  kept: Kept | undefined
  disk?: Disk | undefined
  publish?: PublishOptions | undefined
  crashClient: CrashClient
}

/** Resolves once it has taken charge, and cleared away what a crash left; rejects where it dies before. */
export async function startProcess({
  network,
  logs,
  kept,
  disk,
  publish,
  crashClient,
}: ProcessOptions): Promise<Process> {
  const stopping = new AbortController()
  const signal = AbortSignal.any([stopping.signal, crashClient.death])
  if (disk) await truncateToCheckpoint(crashClient.client, network)
  const position = await logs.position(crashClient.client)
  const facts: AggregatorFact[] = []
  const stream = followed(logs.stream)
  const history = followed(logs.history)
  let start = () => {}
  const started = new Promise<void>((resolve) => {
    start = resolve
  })
  const report = (fact: AggregatorFact) => {
    facts.push(fact)
    if (fact.kind !== 'aggregator-started') return
    crashClient.started()
    start()
  }
  let failure: unknown
  const observers = publish ? [publishing(publish)] : []
  const options = { network, log: stream.log, history: history.log, position, disk, observers, report, signal }
  const ended = aggregate(crashClient.client, options).catch((error: unknown) => {
    failure = error
  })
  const endedEarly = ended.then(() => Promise.reject(failure ?? new Error('The aggregator has ended.')))
  endedEarly.catch(() => undefined)
  const unlessEnded = <T>(task: Promise<T>) => Promise.race([task, endedEarly])

  async function give<M>(to: Followed<M>, messages: readonly M[], which: keyof Kept): Promise<void> {
    if (!kept) return unlessEnded(to.log.append(messages))
    // The listener and the jobs are processes of their own, and live.
    await to.log.append(messages)
    kept[which] += messages.length
    if (kept[which] > 0) await unlessEnded(to.untilTaken(kept[which] - 1))
  }
  const stop = async () => {
    stopping.abort()
    await ended
    return failure
  }
  try {
    await unlessEnded(started)
  } catch (error) {
    await stop()
    throw error
  }
  return {
    facts,
    append: (messages: readonly Message[]) => give(stream, messages, 'stream'),
    overwrite: (messages) => give(history, messages, 'history'),
    stop,
  }
}

type Followed<M> = { log: TickLog<M>; untilTaken(offset: Offset): Promise<void> }

/** The log, and when its reader has asked for more than what stands at an offset. */
function followed<M>(log: TickLog<M>): Followed<M> {
  let taken = -1
  const looks = new Set<() => void>()
  return {
    log: {
      ...log,
      async *read(from, signal) {
        for await (const batch of log.read(from, signal)) {
          yield batch
          taken = batch.at(-1)?.offset ?? taken
          for (const look of looks) look()
        }
      },
    },
    untilTaken: (offset) =>
      new Promise((resolve) => {
        const look = () => {
          if (taken < offset) return
          looks.delete(look)
          resolve()
        }
        looks.add(look)
        look()
      }),
  }
}
