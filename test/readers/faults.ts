/** Faults that are injected while readers ask, by name. Each is over when its promise resolves. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Block } from '../simulation/block.ts'
import type { Random } from '../simulation/random.ts'
import type { ForkingNode } from './forking-node.ts'
import { PROCESSES, type ProcessName, type Service } from './service.ts'

export type Stage = { service: Service; node: ForkingNode; random: Random }

type Act = (stage: Stage) => Promise<void>

export const MAX_FORK = 64
const anyProcess = (random: Random): ProcessName => random.pick(PROCESSES as unknown as [ProcessName, ...ProcessName[]])
const aggregator = (random: Random) => random.pick(['aggregate-1', 'aggregate-2'] as const)
const api = (random: Random) => random.pick(['api-1', 'api-2'] as const)

/** Branches that the chain has left, to which it may come back. */
const left = new WeakMap<ForkingNode, Block[]>()

function fork({ node, random }: Stage, depth: number): void {
  node.change((world) => {
    const branches = left.get(node) ?? []
    left.set(node, branches)
    const isShort = random.chance(0.2)
    branches.push(world.fork(Math.min(depth, world.maxDepth), isShort ? random.between(1, depth) : depth + 1))
  })
}

export const FAULTS = {
  'fork of a few blocks': async (stage) => fork(stage, stage.random.between(1, 6)),
  'fork of up to 64 blocks': async (stage) => fork(stage, stage.random.between(7, MAX_FORK)),
  'fork of 64 blocks': async (stage) => fork(stage, MAX_FORK),
  'back to a branch that was left': async ({ node }) => {
    const branch = left.get(node)?.at(-1)
    node.change((world) => {
      const meets = branch && meetingOf(branch, world.head)
      // Not below what is final.
      if (branch && meets && meets.number >= world.finalized.number) world.switchTo(branch)
    })
  },
  'kill of an API process': ({ service, random }) => service.kill(api(random)),
  'kill of the ingest': ({ service }) => service.kill('ingest'),
  'kill of an aggregator': ({ service, random }) => service.kill(aggregator(random)),
  'kill of the engine': ({ service }) => service.killEngine(),
  'kill of a broker': async ({ service, random }) => {
    const broker = random.pick(service.brokers.nodes as [(typeof service.brokers.nodes)[number]])
    await broker.kill()
    await sleep(random.between(200, 4_000))
    await broker.restart()
  },
  'a process is paused': ({ service, random }) => paused(service.pidOf(anyProcess(random)), random.between(300, 5_000)),
  'the engine is paused': ({ service, random }) => paused(service.pidOf('engine'), random.between(300, 3_000)),
  'a broker is paused': async ({ service, random }) => {
    const broker = random.pick(service.brokers.nodes as [(typeof service.brokers.nodes)[number]])
    await paused(await broker.pid(), random.between(300, 3_000))
  },
  'the way to the tables is slow': async ({ service, random }) => {
    const way = service.wayOf(anyProcess(random))
    way.delayMs = random.between(20, 400)
    await sleep(random.between(1_000, 4_000))
    way.delayMs = 0
  },
  'a slow disk': async ({ service, random }) => {
    // The engine stands still again and again, as it does in a sync that takes long.
    for (let left = random.between(5, 15); left > 0; left--) {
      await paused(service.pidOf('engine'), random.between(50, 250))
      await sleep(random.between(10, 100))
    }
  },
  'a clock steps': async ({ service, random }) => {
    const clock = service.clockOf(anyProcess(random))
    await clock.step(random.pick([-3_600_000, -5_000, 2_000, 90_000]))
    await sleep(random.between(1_000, 4_000))
    await clock.step(0)
  },
} as const satisfies Record<string, Act>

export type FaultName = keyof typeof FAULTS
export const FAULT_NAMES = Object.keys(FAULTS) as [FaultName, ...FaultName[]]

async function paused(pid: number, ms: number): Promise<void> {
  const send = (signal: NodeJS.Signals) => {
    try {
      process.kill(pid, signal)
    } catch {
      // It was killed meanwhile.
    }
  }
  send('SIGSTOP')
  await sleep(ms)
  send('SIGCONT')
}

function meetingOf(one: Block, other: Block): Block | undefined {
  const seen = new Set<Block>()
  for (let at: Block | undefined = one; at; at = at.parent) seen.add(at)
  for (let at: Block | undefined = other; at; at = at.parent) if (seen.has(at)) return at
  return undefined
}
