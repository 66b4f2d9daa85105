/** A simulated life with endpoints that lie: what is stored while they do, after an audit, and once they have changed their mind. */
import { retried } from '../../../ingest/lib/wait.ts'
import type { IngestFact } from '../../../ingest/model/fact.ts'
import { ACTS } from '../acts.ts'
import { ancestorOf, GENESIS } from '../block.ts'
import { inVirtualTime, sleep } from '../clock.ts'
import { type Fault, Happened, isRequestFault } from '../fault.ts'
import { MemoryStore, type Rows } from '../memory-store.ts'
import { startBoth } from '../processes.ts'
import { randomOf } from '../random.ts'
import { reach } from '../reach.ts'
import { Life } from '../run.ts'
import { firstOf, pickOf, startOf, startRequestFaults, untilStored } from '../simulate.ts'
import { World } from '../world.ts'
import { isAuditable, type LiePlan } from './lie-plan.ts'
import { openLie } from './lies.ts'
import { auditInMemory } from './memory-audit.ts'

export type LieOutcome = {
  happened: Happened
  /** How often each liar has lied, in the order of the plan. */
  told: readonly number[]
  facts: IngestFact[]
  failures: unknown[]
  /** Final blocks that the chain never had, each with its number. */
  falseFinal: readonly number[]
  /** While liars still lie: final history after an audit. Absent where no audit decides all of it. */
  audited?: { to: number; undecided: readonly number[]; rows: Rows }
  /** In the end, when all are honest, and audited up to this block. */
  rows: Rows
  auditedTo: number
  clean: Rows
  headHash: string
  first: number
}

const BLOCK_SECONDS = 12
const AUDIT_ATTEMPTS = 20
/** Two polls of finality, and comparisons of heads. */
const SETTLE_MS = 40_000

export function simulateLies(plan: LiePlan): Promise<LieOutcome> {
  return inVirtualTime(() => liveAmongLiars(plan))
}

async function liveAmongLiars(plan: LiePlan): Promise<LieOutcome> {
  const random = randomOf(plan.seed)
  const happened = new Happened()
  // Honest heads are of today.
  const timestamp = Math.floor(Date.now() / 1_000)
  const genesis = { ...GENESIS, timestamp, hasReceipts: true, blockSeconds: BLOCK_SECONDS }
  const world = new World({
    ...{ random, happened, isBalanced: false, finalityLag: random.between(4, 15), nodes: plan.voices, genesis },
  })
  const facts: IngestFact[] = []
  const report = (fact: IngestFact) => facts.push(fact)
  const store = new MemoryStore()
  const has = (fault: Fault) => plan.faults.includes(fault)
  const life = new Life({ world, store, random, happened, has, start: startOf(random), report })
  const told = plan.liars.map(() => 0)
  const liars = plan.liars.map((liar, index) =>
    openLie(liar.lie, randomOf(plan.seed + index + 1), () => (told[index] = (told[index] ?? 0) + 1), liar.isFickle),
  )
  const lieAt = (step: number) => {
    for (const [index, { voice, from, to = Number.POSITIVE_INFINITY }] of plan.liars.entries()) {
      const endpoint = world.endpoints[voice]
      if (endpoint) endpoint.liar = step >= from && step < to ? liars[index] : undefined
    }
  }
  const falseFinal = new Set<number>()
  const lookAtFinal = () => {
    for (const { number, hash } of store.final.blocks)
      if (ancestorOf(world.head, number)?.hash !== hash) falseFinal.add(number)
  }

  world.grow(random.between(1, world.finalityLag + 40))
  world.finalize()
  lieAt(0)
  life.begin()
  const acts = ACTS.filter((act) => act.needs === undefined || has(act.needs))
  const steps = random.between(4, 8)
  for (let step = 0; step < steps; step++) {
    lieAt(step)
    const spoilt = startRequestFaults(world, { faults: plan.faults.filter(isRequestFault) }, random)
    await pickOf(acts, random).run(life)
    await sleep(random.between(200, 3_000))
    lookAtFinal()
    spoilt()
  }
  world.calm()
  life.catchUp()
  await growOn(world)
  lookAtFinal()
  const audit = async () => {
    const signal = new AbortController().signal
    const { minFinalitySeconds } = world
    const endpoints = reach(world.endpoints, { random, report, signal, minFinalitySeconds })
    let left = AUDIT_ATTEMPTS
    const failed = (error: unknown) => {
      if (--left === 0) throw error
    }
    const step = () => auditInMemory(endpoints, store, { from: firstOf(store.taken), random, report, signal })
    const found = await retried(step, { firstMs: 1_000, maxMs: 10_000, signal, failed })
    return { ...found, rows: store.rows() }
  }
  const audited = isAuditable(plan) ? await audit() : undefined

  // All change their mind.
  for (const endpoint of world.endpoints) endpoint.liar = undefined
  for (let left = 2, isStored = true; left > 0 && isStored; left--) {
    world.grow(world.finalityLag)
    world.finalize()
    isStored = await untilStored(world, store, () => life.failures())
    await sleep(SETTLE_MS)
  }
  lookAtFinal()
  const failures = life.failures()
  // Where voices on two branches are left, an empty store begins only now.
  const first = firstOf(store.taken)
  const cleanStore = new MemoryStore()
  let auditedTo = -1
  if (failures.length === 0) {
    auditedTo = (await audit()).to
    const start = { kind: 'block', number: first } as const
    const clean = startBoth({ world, store: cleanStore, random, start, report: () => {} }, () => 0)
    await untilStored(world, cleanStore, () => (clean.failure() === undefined ? [] : [clean.failure()]))
    clean.kill()
  }
  life.end()
  return {
    ...{ happened, told, facts, failures, falseFinal: [...falseFinal], first },
    ...(audited && { audited }),
    ...{ auditedTo, rows: store.rows(), clean: cleanStore.rows(), headHash: world.head.hash },
  }
}

/** Blocks become final while liars still lie. */
async function growOn(world: World): Promise<void> {
  for (let left = 3; left > 0; left--) {
    world.grow(Math.ceil(world.finalityLag / 2))
    world.finalize()
    await sleep(SETTLE_MS / 2)
  }
}
