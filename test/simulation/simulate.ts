/** One simulated life of a listener and an aggregator, given back by its seed, and the clean run that it is held to. */

import type { StartBlock } from '../../ingest/follow/start-block.ts'
import type { IngestFact } from '../../ingest/model/fact.ts'
import type { Message } from '../../ingest/model/message.ts'
import { ACTS } from './acts.ts'
import { type Block, START } from './block.ts'
import { inVirtualTime, sleep } from './clock.ts'
import { ENDPOINT_FAULTS, type Fault, type Halt, Happened, isRequestFault, PLAIN_FAULTS } from './fault.ts'
import { MemoryStore, type Rows } from './memory-store.ts'
import type { Act } from './node-acts.ts'
import { startBoth } from './processes.ts'
import { type Random, randomOf } from './random.ts'
import { Life } from './run.ts'
import { World } from './world.ts'

export type Plan = {
  seed: number
  faults: readonly Fault[]
  /** The chain forks below what it called final. */
  halt?: Halt
}

export type Outcome = {
  rows: Rows
  /** The messages of a listener that reads only the final chain. */
  clean: Rows
  /** The error of a listener that ended by itself; none should. */
  failures: unknown[]
  /** Messages that the ledger could not place; in one process there is never one. */
  orphans: number
  keepsLog: boolean
  happened: Happened
  head: Block
  facts: IngestFact[]
  /** In the order in which the aggregator took them. */
  taken: readonly Message[]
  cleanTaken: readonly Message[]
}

/** Longer than a listener waits before it sends again, and than any pause after refusals. */
const PATIENCE_MS = 300_000
const BLOCK_MS = 12_000

/** `isPlain`: without the ways of providers, as seeds of before had it. */
export function planOf(seed: number, { isPlain = false } = {}): Plan {
  const random = randomOf(seed)
  const plain = PLAIN_FAULTS.filter(() => random.chance(0.3))
  return { seed, faults: isPlain ? plain : [...plain, ...ENDPOINT_FAULTS.filter(() => random.chance(0.2))] }
}

export function simulate(plan: Plan): Promise<Outcome> {
  return inVirtualTime(() => live(plan))
}

async function live(plan: Plan): Promise<Outcome> {
  const random = randomOf(plan.seed)
  const happened = new Happened()
  const has = (fault: Fault) => plan.faults.includes(fault)
  const world = new World({ random, happened, isBalanced: random.chance(0.3), finalityLag: random.between(4, 30) })
  const facts: IngestFact[] = []
  const store = new MemoryStore()
  const start = startOf(random)
  const life = new Life({ world, store, random, happened, has, start, report: (fact) => facts.push(fact) })

  world.grow(random.between(1, world.finalityLag + 60))
  if (random.chance(0.8)) world.finalize()
  life.begin()
  if (has('reorg during catch-up')) await life.reorgWhileCatchingUp()
  const acts = ACTS.filter((act) => act.needs === undefined || has(act.needs))
  for (let left = random.between(4, 9); left > 0; left--) {
    const spoilt = startRequestFaults(world, plan, random)
    await pickOf(acts, random).run(life)
    await sleep(random.between(0, 1_500))
    spoilt()
  }
  // Each fault that was asked for has its turn.
  for (const act of acts) if (act.needs && happened.of(act.needs) === 0) await act.run(life)
  world.calm()
  life.catchUp()
  if (plan.halt) await life.breakFinality(plan.halt)
  for (let left = 3, isStored = true; left > 0 && isStored; left--) {
    world.grow(1)
    world.finalize()
    isStored = await untilStored(world, store, () => life.failures())
  }
  const failures = life.end()

  const cleanStore = new MemoryStore()
  if (failures.length === 0) {
    const start = { kind: 'block', number: firstOf(store.taken) } as const
    const clean = startBoth({ world, store: cleanStore, random, start, report: () => {} }, () => 0)
    await untilStored(world, cleanStore, () => (clean.failure() === undefined ? [] : [clean.failure()]))
    clean.kill()
  }
  return {
    rows: store.rows(),
    clean: cleanStore.rows(),
    failures,
    orphans: store.orphans,
    keepsLog: life.keepsLog,
    happened,
    head: world.head,
    facts,
    taken: store.taken,
    cleanTaken: cleanStore.taken,
  }
}

/** Mostly from where there is most to read. */
export function startOf(random: Random): StartBlock {
  if (random.chance(0.7)) return { kind: 'block', number: START }
  return random.pick([{ kind: 'latest' }, { kind: 'blocks-ago', blocks: random.between(1, 15) }])
}

export function firstOf([first]: readonly Message[]): number {
  if (!first) throw new Error('Nothing was taken.')
  return first.kind === 'range' ? first.from : first.number
}

/** Runs until the chain's head is stored; false where no progress is possible. The chain grows meanwhile, which wakes listeners. */
export async function untilStored(world: World, store: MemoryStore, failures: () => unknown[]): Promise<boolean> {
  const giveUp = Date.now() + PATIENCE_MS
  for (let nextBlock = Date.now() + BLOCK_MS; store.tip?.hash !== world.head.hash; await sleep(50)) {
    if (failures().length > 0 || Date.now() > giveUp) return false
    if (Date.now() < nextBlock) continue
    world.grow(1)
    nextBlock = Date.now() + BLOCK_MS
  }
  return true
}

const ONLY_AT: Partial<Record<Fault, number>> = { 'a block whose logs are left out': 0, 'expired history': 1 }

/** Some of them, at some of the endpoints, until the returned function is called. */
export function startRequestFaults(world: World, { faults }: Pick<Plan, 'faults'>, random: Random): () => void {
  const chosen = faults.filter(isRequestFault)
  for (const [index, endpoint] of world.endpoints.entries()) {
    for (const fault of chosen) {
      // An omission by every endpoint is undetectable, and history that no endpoint has is not there.
      const isPossible = ONLY_AT[fault] === undefined || ONLY_AT[fault] === index
      if (isPossible && random.chance(chosen.length === 1 ? 1 : 0.5)) endpoint.faults.add(fault)
    }
  }
  return () => {
    for (const endpoint of world.endpoints) if (random.chance(0.6)) endpoint.faults.clear()
  }
}

export function pickOf(acts: readonly Act[], random: Random): Act {
  const [first, ...others] = acts
  if (!first) throw new Error('There is always something to do.')
  return random.pick([first, ...others])
}
