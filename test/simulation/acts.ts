/** Possible next steps of a simulated run: blocks, forks, contradicting nodes, killed processes. */
import { sleep } from './clock.ts'
import { type Act, NODE_ACTS } from './node-acts.ts'

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
      const depth = life.anyDepth()
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
      life.fork(life.anyDepth(), life.random.between(1, 20))
      life.happened.note('reorg during a restart')
      life.startListener()
      if (life.random.chance(0.5)) return
      // What was looked up at the start may be gone as well.
      await sleep(life.random.between(100, 1_000))
      life.fork(life.random.between(5, 20), life.random.between(5, 22))
    },
  },
  ...NODE_ACTS,
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
