/** An aggregator at work on real tables, over either kind of log. Many networks share a database: each is a case of its own. */
import type { ClickHouseClient } from '@clickhouse/client'
import { aggregate } from '../../aggregator/aggregate.ts'
import type { WriteEvent } from '../../aggregator/candles/changes.ts'
import type { PublishOptions } from '../../aggregator/extras/publish/publish-options.ts'
import type { VerifyShare } from '../../aggregator/extras/verify/verify-worker.ts'
import type { Disk } from '../../aggregator/ledger/checkpoint.ts'
import type { AggregatorFact } from '../../aggregator/ledger/fact.ts'
import { notifying } from '../../aggregator/ledger/observer.ts'
import { positionAfterStored, positionInLog } from '../../aggregator/ledger/resume.ts'
import { inProcessLog } from '../../infra/kafka/in-process.ts'
import type { Message, RangeOverwrite } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { TickLog } from '../../ingest/model/tick-log.ts'
import type { ArrayLog } from '../support/array-log.ts'

export type Running = {
  facts: AggregatorFact[]
  /** Resolves once the messages, and all that a log kept before them, are stored, or were found to be of no use. */
  append(messages: readonly Message[]): Promise<void>
  /** Resolves when the aggregator has ended, with what ended it where it failed. */
  stop(): Promise<unknown>
}

export type RunningOptions = {
  network: NetworkName
  /** One that keeps its messages; absent: the hand-over of a single process. */
  log?: ArrayLog | undefined
  /** The log of jobs. */
  history?: TickLog<RangeOverwrite>
  onWritten?: (written: WriteEvent) => void
  /** Where the tables themselves are, if not all of them with the client. */
  shards?: readonly ClickHouseClient[]
  /** Where writes are not synced one by one. */
  disk?: Disk | undefined
  publish?: PublishOptions | undefined
  verify?: VerifyShare | undefined
  /** Aborts when the process is to die. */
  death?: AbortSignal
}

/** To the aggregator a network is a name; tests need more than there are. */
export function networkOf(name: string): NetworkName {
  return name as NetworkName
}

/** Resolves once it has taken charge, and cleared away what a crash left. */
export async function startAggregator(
  client: ClickHouseClient,
  {
    network,
    log: kept,
    history,
    onWritten = () => {},
    shards = [client],
    disk,
    publish,
    verify,
    death,
  }: RunningOptions,
): Promise<Running> {
  const stopping = new AbortController()
  const signal = death ? AbortSignal.any([stopping.signal, death]) : stopping.signal
  const position = kept ? await positionInLog(client, network, kept) : await positionAfterStored(client, network)
  const log = acknowledged(kept ?? inProcessLog({ nextOffset: position.offset }))
  const facts: AggregatorFact[] = []
  let start = () => {}
  const started = new Promise<void>((resolve) => {
    start = resolve
  })
  const report = (fact: AggregatorFact) => {
    facts.push(fact)
    if (fact.kind === 'aggregator-started') start()
  }
  let failure: unknown
  const observers = [...(publish ? [await publisherOf(publish)] : []), notifying(onWritten)]
  const workers = verify ? [await verifierOf(verify)] : []
  const options = { network, log, history, position, shards, disk, observers, workers, report, signal }
  const ended = aggregate(client, options).catch((error: unknown) => {
    failure = error
  })
  const endedEarly = ended.then(() => Promise.reject(failure ?? new Error('The aggregator has ended.')))
  endedEarly.catch(() => undefined)
  const unlessEnded = <T>(task: Promise<T>) => Promise.race([task, endedEarly])
  await unlessEnded(started)
  return {
    facts,
    async append(messages) {
      await unlessEnded(log.append(messages))
      const newest = kept && kept.messages.length > position.offset ? kept.messages.slice(-1) : []
      await unlessEnded(log.untilTaken([...messages, ...newest]))
    },
    async stop() {
      stopping.abort()
      await ended
      return failure
    },
  }
}

/** The core's suites run without the extras, too. */
async function publisherOf(options: PublishOptions) {
  const { publishing } = await import('../../aggregator/extras/publish/publisher.ts')
  return publishing(options)
}

async function verifierOf(share: VerifyShare) {
  const { verifying } = await import('../../aggregator/extras/verify/verify-worker.ts')
  return verifying(share)
}

/** The log, and when its reader has asked for more than these messages. */
function acknowledged(log: TickLog): TickLog & { untilTaken(messages: readonly Message[]): Promise<void> } {
  const taken = new Set<Message>()
  const looks = new Set<() => void>()
  return {
    ...log,
    async *read(from, signal) {
      for await (const batch of log.read(from, signal)) {
        yield batch
        for (const { message } of batch) taken.add(message)
        for (const look of looks) look()
      }
    },
    untilTaken: (messages) =>
      new Promise((resolve) => {
        const look = () => {
          if (!messages.every((message) => taken.has(message))) return
          looks.delete(look)
          resolve()
        }
        looks.add(look)
        look()
      }),
  }
}
