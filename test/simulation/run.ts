/** Our processes at work in the simulated world, over a log that keeps its messages or over one that does not. */

import type { StartBlock } from '../../ingest/follow/start-block.ts'
import type { IngestFact } from '../../ingest/model/fact.ts'
import { type ArrayLog, arrayLog } from '../support/array-log.ts'
import type { Block } from './block.ts'
import { sleep } from './clock.ts'
import type { Fault, Halt, Happened } from './fault.ts'
import type { MemoryStore } from './memory-store.ts'
import { MemoryAggregator, type Process, type Surroundings, startBoth, startListener } from './processes.ts'
import type { Random } from './random.ts'
import type { World } from './world.ts'

export type LifeOptions = {
  world: World
  store: MemoryStore
  random: Random
  happened: Happened
  has: (fault: Fault) => boolean
  report: (fact: IngestFact) => void
  start: StartBlock
}

export class Life {
  readonly world: World
  readonly random: Random
  readonly happened: Happened
  readonly has: (fault: Fault) => boolean
  readonly #around: Surroundings
  /** Absent where listener and aggregator are one process. */
  readonly #log: ArrayLog | undefined
  readonly #aggregator: MemoryAggregator | undefined
  readonly #ended: Process[] = []
  #listener: Process | undefined
  #lagMs = 0

  constructor({ world, store, random, happened, has, report, start }: LifeOptions) {
    this.world = world
    this.random = random
    this.happened = happened
    this.has = has
    this.#around = { world, store, random, report, start }
    const mustKeep = KEPT.some(has)
    const mustNotKeep = has('restart, the log keeps nothing')
    const keeps = mustKeep && mustNotKeep ? random.chance(0.6) : mustKeep || (!mustNotKeep && random.chance(0.5))
    if (!keeps) return
    this.#log = arrayLog()
    this.#aggregator = new MemoryAggregator(store, this.#log)
  }

  get keepsLog(): boolean {
    return this.#log !== undefined
  }

  begin(): void {
    this.#aggregator?.start()
    this.#listener = this.#start()
  }

  #start({ lastFirst = false } = {}): Process {
    return this.#log ? startListener(this.#around, this.#log, lastFirst) : startBoth(this.#around, () => this.#lagMs)
  }

  stopListener(): void {
    this.#listener?.kill()
    if (this.#listener) this.#ended.push(this.#listener)
    this.#listener = undefined
  }

  startListener(): void {
    this.#listener ??= this.#start()
  }

  /** As a deployment does: the next one starts before the one before is gone, and they may see different branches. */
  async deploy(): Promise<void> {
    const { world, random } = this
    world.grow(2)
    const other = random.chance(0.7) ? this.fork(random.between(1, 5), random.between(2, 7)) : undefined
    const node = random.between(0, 1)
    if (other) world.put(node, { branch: other })
    const before = this.#listener
    this.#listener = this.#start({ lastFirst: true })
    for (let left = random.between(1, 4); left > 0; left--) {
      await sleep(random.between(0, 500))
      world.grow(1)
      if (random.chance(0.5)) world.growBranch(node)
    }
    // In half of the runs the last message of the killed listener is of a branch that never returns.
    const endsAstray = random.chance(0.5)
    if (!endsAstray) world.put(node, { lag: 0 })
    await sleep(random.between(0, 500))
    before?.kill()
    if (before) this.#ended.push(before)
    world.put(node, { lag: 0 })
  }

  /** The tables take so long for each message. */
  slowDown(lagMs: number): void {
    this.#lagMs = lagMs
    if (this.#aggregator) this.#aggregator.lagMs = lagMs
  }

  async pauseAggregator(ms: number): Promise<void> {
    this.#aggregator?.kill()
    await sleep(ms)
    this.#aggregator?.start()
  }

  /** Depth of a reorg: mostly a few blocks, sometimes everything that is not final. */
  anyDepth(): number {
    const { maxDepth } = this.world
    return this.random.chance(0.2) ? Math.max(1, maxDepth) : this.random.between(1, 12)
  }

  /** Within what is not final yet. */
  fork(depth: number, length: number, how?: 'new' | 're-mined'): Block {
    const { maxDepth } = this.world
    if (maxDepth < 1) this.world.grow(2)
    return this.world.fork(Math.min(depth, this.world.maxDepth), length, how)
  }

  async reorgWhileCatchingUp(): Promise<void> {
    await sleep(this.random.between(1, 120))
    this.fork(this.anyDepth(), this.random.between(1, 25))
    this.happened.note('reorg during catch-up')
  }

  async breakFinality(halt: Halt): Promise<void> {
    const { world, random } = this
    world.grow(world.finalityLag + 2)
    world.finalize()
    // Until the listener has seen what is final, and has appended a block that says so, it may well step back below.
    await this.#untilStored()
    await sleep(FINALITY_SEEN_MS)
    world.grow(1)
    await this.#untilStored()
    if (halt === 'a chain replaced below finality while no listener ran') this.stopListener()
    world.fork(world.maxDepth + random.between(1, 2), world.maxDepth + 10)
    this.startListener()
  }

  async #untilStored(): Promise<void> {
    while (this.#around.store.tip?.hash !== this.world.head.hash) await sleep(50)
  }

  /** Nothing is wrong any more, and all that was stopped runs. */
  catchUp(): void {
    this.slowDown(0)
    this.startListener()
  }

  failures(): unknown[] {
    const all = [...this.#ended, ...(this.#listener ? [this.#listener] : [])]
    return all.map((process) => process.failure()).filter((failure) => failure !== undefined)
  }

  /** The error of a process that ended by itself. */
  end(): unknown[] {
    const failures = this.failures()
    this.stopListener()
    this.#aggregator?.kill()
    return failures
  }
}

/** Six polls and the time of their answers. */
const FINALITY_SEEN_MS = 3_000

/** Makes no sense in one process. */
const KEPT: readonly Fault[] = [
  'listener restart, the log keeps its messages',
  'two listeners during a deployment',
  'aggregator behind the log',
]
