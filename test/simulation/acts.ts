/** What may happen next in a simulated life: blocks come, chains fork, nodes disagree, processes die. */
import { sleep } from './clock.ts'
import type { Fault } from './fault.ts'
import type { Life } from './life.ts'

export type Act = {
  /** Absent: it happens in every world. */
  needs?: Fault
  run(life: Life): void | Promise<void>
}

export const ACTS: readonly Act[] = [
  { run: ({ world, random }) => world.grow(random.between(1, 4)) },
  {
    run({ world, random }) {
      world.grow(random.between(1, 20))
      world.finalize()
    },
  },
  {
    needs: 'reorg during live',
    async run(life) {
      await sleep(life.random.between(0, 400))
      const depth = life.random.between(1, 10)
      life.fork(depth, depth + life.random.between(0, 2))
      life.happened.note('reorg during live')
    },
  },
  {
    needs: 'reorg during catch-up',
    async run(life) {
      life.stopListener()
      life.world.grow(life.random.between(10, 60))
      if (life.random.chance(0.5)) life.world.finalize()
      life.startListener()
      await life.reorgWhileCatchingUp()
    },
  },
  {
    needs: 're-mined with other time stamps',
    run(life) {
      const depth = life.random.between(1, 8)
      life.fork(depth, depth + 1, 're-mined')
      life.happened.note('re-mined with other time stamps')
    },
  },
  {
    needs: 'shorter fork first',
    async run(life) {
      life.world.grow(4)
      await sleep(life.random.between(0, 500))
      const depth = life.random.between(2, 10)
      life.fork(depth, life.random.between(0, 1))
      life.happened.note('shorter fork first')
      await sleep(life.random.between(0, 600))
      life.world.grow(life.random.between(1, 12))
    },
  },
  {
    needs: 'reorg during a restart',
    async run(life) {
      life.stopListener()
      if (life.random.chance(0.5)) life.world.grow(life.random.between(1, 30))
      await sleep(life.random.between(0, 300))
      life.fork(life.random.between(1, 20), life.random.between(1, 20))
      life.happened.note('reorg during a restart')
      life.startListener()
      if (life.random.chance(0.5)) return
      // What was looked up at the start may be gone as well.
      await sleep(life.random.between(100, 1_000))
      life.fork(life.random.between(5, 20), life.random.between(5, 22))
    },
  },
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
    async run({ world, random, happened }) {
      world.grow(2)
      const depth = Math.min(world.maxDepth, random.between(1, 6))
      const other = world.fork(depth, depth + random.between(0, 2))
      const node = random.between(0, 1)
      world.put(node, { branch: other })
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
  ...(['removed logs', 'two hashes for one block'] as const).map(
    (needs): Act => ({
      needs,
      // A branch that is left, and then read about: live, or as history.
      async run(life) {
        const { world, random } = life
        world.grow(random.between(3, 6))
        await sleep(random.between(0, 300))
        const isHistory = random.chance(0.5)
        if (isHistory) life.stopListener()
        const depth = random.between(2, 6)
        life.fork(depth, depth + 1)
        if (isHistory) {
          world.grow(world.finalityLag)
          world.finalize()
        }
        life.startListener()
        await sleep(random.between(300, 1_500))
      },
    }),
  ),
  {
    needs: 'listener restart, the log keeps its messages',
    async run(life) {
      if (!life.keepsLog) return
      if (life.random.chance(0.5)) life.world.grow(life.random.between(1, 10))
      await sleep(life.random.between(0, 200))
      life.stopListener()
      life.happened.note('listener restart, the log keeps its messages')
      await sleep(life.random.between(0, 500))
      if (life.random.chance(0.5)) life.world.grow(life.random.between(1, 10))
      life.startListener()
    },
  },
  {
    needs: 'restart, the log keeps nothing',
    async run(life) {
      if (life.keepsLog) return
      life.slowDown(life.random.pick([0, 5, 50]))
      life.world.grow(life.random.between(1, 10))
      await sleep(life.random.between(0, 200))
      life.stopListener()
      life.happened.note('restart, the log keeps nothing')
      await sleep(life.random.between(0, 500))
      life.startListener()
      life.slowDown(0)
    },
  },
  {
    needs: 'two listeners during a deployment',
    async run(life) {
      if (!life.keepsLog) return
      await life.deploy()
      life.happened.note('two listeners during a deployment')
    },
  },
  {
    needs: 'aggregator behind the log',
    async run(life) {
      if (!life.keepsLog) return
      life.happened.note('aggregator behind the log')
      if (life.random.chance(0.5)) {
        life.slowDown(life.random.between(10, 1_000))
        for (let left = 3; left > 0; left--) {
          life.world.grow(2)
          await sleep(life.random.between(0, 1_000))
        }
        life.slowDown(0)
        return
      }
      life.world.grow(3)
      await life.pauseAggregator(life.random.pick([500, 5_000, 100_000]))
    },
  },
]
