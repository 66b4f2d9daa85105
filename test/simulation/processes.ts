/** Our processes in the simulated world: they start, and at some moment they are no more. */
import { setMaxListeners } from 'node:events'
import { inProcessLog } from '../../infra/kafka/in-process.ts'
import { listen, type WatchHeads } from '../../ingest/follow/listener.ts'
import type { StartBlock } from '../../ingest/follow/start-block.ts'
import { pause } from '../../ingest/lib/wait.ts'
import type { IngestFact } from '../../ingest/model/fact.ts'
import type { TickLog } from '../../ingest/model/tick-log.ts'
import { headerIn } from '../../ingest/rpc/rpc.ts'
import type { ArrayLog } from '../support/array-log.ts'
import { type Block, START } from './block.ts'
import { NETWORK } from './market.ts'
import type { MemoryStore } from './memory-store.ts'
import { headerOf } from './node.ts'
import type { Random } from './random.ts'
import { reach } from './reach.ts'
import type { World } from './world.ts'

export type Process = {
  /** At once: nothing that it does from now on is heard. */
  kill(): void
  /** The error that ended it, unless it was killed. */
  failure(): unknown
}

export type Surroundings = {
  world: World
  store: MemoryStore
  random: Random
  report: (fact: IngestFact) => void
  /** Where an empty store begins. */
  start?: StartBlock
}

const POLL_MS = 100

/** A listener alone, over a log that keeps its messages; it may prefer the last endpoint to the first. */
export function startListener(around: Surroundings, log: ArrayLog, lastFirst = false): Process {
  const death = mortal()
  const halves: TickLog = {
    ...log,
    // One by one: a process may die between two.
    async append(messages) {
      for (const message of messages) {
        await pause(around.random.between(0, 3), death.signal)
        if (death.signal.aborted) return new Promise(() => {})
        await log.append([message])
      }
    },
  }
  return begin(around, halves, death, lastFirst)
}

/** Listener and aggregator in one process, whose log keeps nothing. */
export function startBoth(around: Surroundings, lagMs: () => number): Process {
  const death = mortal()
  const log = inProcessLog({ nextOffset: 0 })
  aggregateInMemory(around.store, log, { from: 0, lagMs, signal: death.signal }).catch(() => undefined)
  return begin(around, log, death)
}

function begin(
  { world, store, report, random, start = { kind: 'block', number: START } }: Surroundings,
  log: TickLog,
  death: AbortController,
  lastFirst = false,
): Process {
  const endpoints = lastFirst ? world.endpoints.toReversed() : world.endpoints
  let failure: unknown
  const { minFinalitySeconds } = world
  listen(reach(endpoints, { random, report, signal: death.signal, minFinalitySeconds }), {
    network: NETWORK,
    log,
    stored: store.stored,
    start,
    watchHeads: headsOf(world, random, death.signal),
    pollMs: POLL_MS,
    report: (fact) => {
      if (!death.signal.aborted) report(fact)
    },
    signal: death.signal,
  }).catch((error: unknown) => {
    if (!death.signal.aborted) failure = error
  })
  return { kill: () => death.abort(), failure: () => failure }
}

/** Any node may announce its head, on any branch; listeners get some announcements late or never. */
function headsOf(world: World, random: Random, signal: AbortSignal): WatchHeads {
  const [first, ...others] = world.nodes
  if (!first) throw new Error('A world has at least one node.')
  return (onHead) => {
    const tell = async () => {
      for (let last: Block | undefined; !signal.aborted; await pause(random.between(1, 3 * POLL_MS), signal)) {
        const { head } = random.pick([first, ...others]).view
        if (head !== last) onHead(headerIn(headerOf(head)))
        last = head
      }
    }
    void tell()
    return () => {}
  }
}

/** An aggregator alone; it resumes at the last useful message, like the real one. */
export class MemoryAggregator {
  readonly #store: MemoryStore
  readonly #log: ArrayLog
  #death = mortal()
  #at = 0
  lagMs = 0

  constructor(store: MemoryStore, log: ArrayLog) {
    this.#store = store
    this.#log = log
  }

  start(): void {
    this.#death = mortal()
    const options = {
      from: this.#at,
      lagMs: () => this.lagMs,
      signal: this.#death.signal,
      onUsed: (offset: number) => {
        this.#at = offset
      },
    }
    aggregateInMemory(this.#store, this.#log, options).catch(() => undefined)
  }

  kill(): void {
    this.#death.abort()
  }
}

/** An in-memory log adds a listener each time it waits. */
function mortal(): AbortController {
  const death = new AbortController()
  setMaxListeners(0, death.signal)
  return death
}

type AggregateOptions = {
  from: number
  lagMs: () => number
  signal: AbortSignal
  onUsed?: (offset: number) => void
}

async function aggregateInMemory(store: MemoryStore, log: TickLog, options: AggregateOptions): Promise<void> {
  for await (const entries of log.read(options.from, options.signal)) {
    for (const { message, offset } of entries) {
      const lagMs = options.lagMs()
      if (lagMs > 0) await pause(lagMs, options.signal)
      if (options.signal.aborted) return
      if (await store.take(message)) options.onUsed?.(offset)
    }
  }
}
