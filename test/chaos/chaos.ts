/** One seed of the chaos: the story of a chain, told to processes that die one after the other, and in the end to one that lives. */
import type { ClickHouseClient } from '@clickhouse/client'
import { PUBLISHED_KINDS, type PublishSink } from '../../aggregator/extras/publish/publication.ts'
import type { RangeOverwrite } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import { expectAsStored } from '../aggregator/extras/publish/folded-topics.ts'
import { tell } from '../aggregator/listening.ts'
import { networkOf } from '../aggregator/running.ts'
import { Died } from '../aggregator/statements.ts'
import { type Random, randomOf } from '../simulation/random.ts'
import { arrayLog } from '../support/array-log.ts'
import { until } from '../support/until.ts'
import { cleanRun } from './clean.ts'
import { CRASH_KINDS, type CrashClient, type CrashPlan, createCrashClient } from './crash-client.ts'
import { PLACES } from './expected-places.ts'
import type { LogKind, Logs } from './logs.ts'
import type { Place } from './places.ts'
import { type Kept, type Process, startProcess } from './process.ts'
import { tellStory } from './story.ts'

export type Crash = { place: Place; how: CrashPlan['how'] }

export type Outcome = {
  seed: number
  network: NetworkName
  /** Told to one process that does not die, what it stores is what must be stored. */
  clean: NetworkName
  withRange: boolean
  crashes: Crash[]
  forks: number[]
  acts: Record<string, number>
}

const ACTS = ['grow', 'fork', 'replay', 'restate'] as const
type Act = (typeof ACTS)[number]

/** The act that brings a process to the places of a step. */
const ACT_OF: Readonly<Record<string, Act>> = { flush: 'grow', rollback: 'fork', restate: 'restate' }
const MAX_ACTS_PER_RUN = 12

/** The places that a seed comes to on purpose, one after the other. */
export function placeOf(seed: number, met = 0): Place | undefined {
  return PLACES[(seed * PLACES_PER_SEED + met) % PLACES.length]
}
/** Where it does not come to others by chance before. Seeds begin at different ones, and all begin somewhere. */
const PLACES_PER_SEED = 5

export async function runSeed(
  client: ClickHouseClient,
  seed: number,
  { runs, logKind, onSeen }: { runs: number; logKind: LogKind; onSeen(place: Place): void },
): Promise<Outcome> {
  const network = networkOf(`chaos-${seed}`)
  const withRange = seed % 2 === 0
  const random = randomOf(seed)
  const story = tellStory(network, random, { withRange })
  const outcome: Outcome = {
    seed,
    network,
    clean: networkOf(`clean-${seed}`),
    withRange,
    crashes: [],
    forks: [],
    acts: { grow: 0, fork: 0, replay: 0, restate: 0, restart: 0 },
  }
  // Two of three settle, and go back to that when they start; files are not lost here.
  const disk = logKind.isRetained || seed % 3 === 0 ? undefined : { sync: async () => {}, everyMs: 20 }
  const kept: Kept | undefined = logKind.isRetained ? { stream: 0, history: 0 } : undefined
  /** All that the log holds, for the listener, who asks what its end is. */
  const said = arrayLog()
  const stated: RangeOverwrite[] = []
  let unstored: RangeOverwrite[] = []
  let isOpened = false
  let met = 0

  /** Starts with what the listener and the jobs find to say then. */
  async function begin(logs: Logs, crashClient: CrashClient, sink: PublishSink): Promise<Process> {
    const publish = {
      sink: mortal(sink, crashClient, random),
      kinds: new Set(PUBLISHED_KINDS),
      finality: 'instant' as const,
    }
    const process = await startProcess({ network, logs, kept, disk, publish, crashClient })
    const append = process.append
    process.append = (messages) => {
      said.messages.push(...messages)
      return append(messages)
    }
    if (!isOpened) {
      isOpened = true
      await process.append(story.opening())
    } else {
      await tell(client, process, { network, chain: story.chain(), log: kept && said })
    }
    // A log that keeps them shows them by itself.
    await process.overwrite(kept ? [] : unstored)
    unstored = []
    return process
  }

  async function act(process: Process, kind: Act): Promise<void> {
    count(kind)
    if (kind === 'grow') return process.append(story.grow())
    if (kind === 'replay') return process.append(story.replay())
    if (kind === 'fork') {
      const { depth, messages } = story.fork()
      outcome.forks.push(depth)
      return process.append(messages)
    }
    const statements = story.restatement()
    await insertJobs(client, statements)
    stated.push(...statements)
    unstored = statements
    // Beside the stream, half of the time.
    const others = random.chance(0.5) ? [process.append(story.grow())] : []
    const done = await Promise.allSettled([process.overwrite(statements), ...others])
    for (const one of done) if (one.status === 'rejected') throw one.reason
    unstored = []
  }

  async function untilPublished(): Promise<void> {
    const isThere = async () => expectAsStored(client, network, await topics.rows(), `SEED=${seed}: published`)
    await until(() => isThere().then(() => true), 'everything is published')
  }

  function count(kind: string): void {
    outcome.acts[kind] = (outcome.acts[kind] ?? 0) + 1
  }

  const topics = logKind.publicTopics(network)
  for (let run = 0; run <= runs; run++) {
    // By turns at a place of the list, until it is met, and after any number of statements.
    const target = run % 2 === 0 ? placeOf(seed, met) : undefined
    const plan = run < runs ? planOf(target, random) : undefined
    const logs = await logKind.open(network)
    const crashClient = createCrashClient(client, plan, onSeen)
    const sink = topics.open(crashClient.death)
    let process: Process | undefined
    try {
      process = await begin(logs, crashClient, sink)
      const leading = ACT_OF[plan?.place?.split(':')[0] ?? '']
      for (let acts = 0; plan && acts < MAX_ACTS_PER_RUN; acts++) {
        await act(process, leading && random.chance(0.7) ? leading : random.pick(ACTS))
      }
      if (plan) count('restart')
      else await untilPublished()
    } catch (error) {
      if (!crashClient.death.aborted) throw error
    }
    const place = crashClient.diedAt()
    const failure = await process?.stop()
    if (place && place === target) met++
    if (place && plan) outcome.crashes.push({ place, how: plan.how })
    else if (failure) throw failure
    await Promise.all([logs.close(), sink.close()])
    // The chain may fork while the process is down.
    if (place && isOpened && random.chance(0.4)) outcome.forks.push(story.fork().depth)
  }
  await topics.close()
  await cleanRun(client, outcome.clean, story.chain(), stated)
  return outcome
}

/** A sink that dies with its process, and sometimes kills it: before the records are there, or before it learns that they are. */
function mortal(sink: PublishSink, crashClient: CrashClient, random: Random): PublishSink {
  const { death, dieAt } = crashClient
  const dieIfDead = () => {
    if (death.aborted) throw new Died('The process is dead.')
  }
  return {
    async publish(publication) {
      if (random.chance(0.005)) dieAt('publish: before the records')
      dieIfDead()
      await sink.publish(publication)
      if (random.chance(0.005)) dieAt('publish: after the records')
      dieIfDead()
    },
  }
}

function planOf(place: Place | undefined, random: Random): CrashPlan {
  const how = random.pick(CRASH_KINDS)
  return { how, place, orAfter: place === undefined ? random.between(0, 60) : random.between(60, 150) }
}

/** The jobs of some statements, which count only where a job has asked for them. */
async function insertJobs(client: ClickHouseClient, statements: readonly RangeOverwrite[]): Promise<void> {
  const values = statements.map(({ network, job: id, pools = [] }) => ({
    ...{ network, id, kind: 'backfill', first: 0, last: 1_000_000_000, pools },
    ...{ resolutions: [], concurrency: 1, state: 'done', reason: '', created: 0, version: 1 },
  }))
  if (values.length > 0) await client.insert({ table: 'jobs', values, format: 'JSONEachRow' })
}
