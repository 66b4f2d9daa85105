/** Behaviour of nodes: they change branches, lag, stay on forks, or belong to another chain. */
import { sleep } from './clock.ts'
import type { Fault } from './fault.ts'
import type { Life } from './run.ts'

export type Act = {
  /** Absent: it happens in every world. */
  needs?: Fault
  run(life: Life): void | Promise<void>
}

export const NODE_ACTS: readonly Act[] = [
  {
    needs: 'a node that flips between two branches',
    async run({ world, random, happened }) {
      world.grow(2)
      const depth = Math.min(world.maxDepth, random.between(1, 6))
      let other = world.fork(depth, depth + random.between(0, 2))
      for (let left = random.between(2, 6); left > 0; left--) {
        await sleep(random.between(0, 400))
        const now = world.head
        world.switchTo(other)
        other = now
        happened.note('a node that flips between two branches')
      }
    },
  },
  {
    needs: 'two nodes on different branches',
    async run(life) {
      const { world, random, happened } = life
      world.grow(2)
      const node = putAside(life, random.between(1, 6))
      happened.note('two nodes on different branches')
      for (let left = random.between(1, 4); left > 0; left--) {
        await sleep(random.between(0, 700))
        world.grow(1)
        if (random.chance(0.5)) world.growBranch(node)
      }
      world.put(node, { lag: 0 })
    },
  },
  {
    needs: 'a lagging node',
    async run({ world, random, happened }) {
      const node = random.between(0, 1)
      world.put(node, { lag: random.between(1, 8) })
      happened.note('a lagging node')
      for (let left = random.between(1, 4); left > 0; left--) {
        await sleep(random.between(0, 700))
        world.grow(random.between(1, 2))
      }
      world.put(node, { lag: 0 })
    },
  },
  {
    // Behind what is final already, so that history is asked of a node that does not have it.
    needs: 'empty answers past its head',
    async run(life) {
      const { world, random } = life
      life.stopListener()
      world.grow(world.finalityLag + random.between(5, 30))
      world.finalize()
      const behind = random.between(0, 1)
      world.put(behind, { lag: world.maxDepth + random.between(1, 20) })
      // The one that has it all fails now and then, so that the other is asked too.
      const better = world.endpoints[1 - behind]
      better?.faults.add('5xx')
      life.startListener()
      await sleep(random.between(300, 4_000))
      better?.faults.delete('5xx')
      world.put(0, { lag: 0 })
      world.put(1, { lag: 0 })
    },
  },
  {
    // What a listener looks up before its first block may come from the one, and its blocks from the other.
    needs: 'two nodes on different branches while a listener starts',
    async run(life) {
      const { world, random } = life
      life.stopListener()
      world.grow(random.between(2, 12))
      const node = putAside(life, life.anyDepth())
      const other = world.endpoints[random.between(0, 1)]
      if (random.chance(0.6)) other?.faults.add('5xx')
      life.startListener()
      life.happened.note('two nodes on different branches while a listener starts')
      for (let left = random.between(1, 4); left > 0; left--) {
        await sleep(random.between(0, 700))
        world.grow(1)
        if (random.chance(0.5)) world.growBranch(node)
      }
      other?.faults.delete('5xx')
      world.put(node, { lag: 0 })
    },
  },
  {
    needs: 'a node on a fork below what is final',
    async run(life) {
      const { world, random } = life
      world.grow(2)
      const node = putAside(life, life.anyDepth(), true)
      for (let left = random.between(2, 5); left > 0; left--) {
        world.grow(random.between(1, world.finalityLag))
        world.finalize()
        if (random.chance(0.7)) world.growBranch(node)
        if (random.chance(0.3)) life.stopListener()
        const right = world.endpoints[1 - node]
        if (random.chance(0.5)) right?.faults.add('5xx')
        life.startListener()
        await sleep(random.between(0, 3_000))
        right?.faults.delete('5xx')
      }
      life.happened.note('a node on a fork below what is final')
      world.put(node, { lag: 0 })
    },
  },
  {
    needs: 'wrong chain id',
    async run(life) {
      const { world, random } = life
      if (world.endpoints.length < 2) return
      life.stopListener()
      world.grow(random.between(1, 10))
      const drawn = random.between(0, 1)
      // The first one alone may have the history.
      const node = life.has('expired history') ? 1 : drawn
      world.put(node, { foreign: world.mineForeign() })
      life.startListener()
      await sleep(random.between(300, 3_000))
      world.grow(2)
      // It is not asked again, so its address is mended with a restart.
      life.stopListener()
      world.put(node, { lag: 0 })
      life.startListener()
    },
  },
]

/** One of the nodes stays where the chain was before it forked. */
function putAside({ world, random }: Life, depth: number, isLost = false): number {
  const at = Math.min(world.maxDepth, depth)
  const branch = world.fork(at, at + random.between(0, 2))
  const node = random.between(0, 1)
  world.put(node, { branch, isLost })
  return node
}
