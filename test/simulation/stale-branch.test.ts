/** The last message of a killed listener may be of a replaced branch: its successor must append its own again. */
import { keccak256, toHex } from 'viem'
import { expect, test } from 'vitest'
import type { BlockMessage } from '../../ingest/model/message.ts'
import { arrayLog } from '../support/array-log.ts'
import { inVirtualTime, sleep } from './clock.ts'
import { Happened } from './fault.ts'
import { MemoryStore } from './memory-store.ts'
import { MemoryAggregator, startBoth, startListener } from './processes.ts'
import { randomOf } from './random.ts'
import { World } from './world.ts'

/** Empty blocks in the place of `last` and above it. */
function astray(last: BlockMessage, count: number): BlockMessage[] {
  const blocks: BlockMessage[] = []
  for (let index = 0; index < count; index++) {
    const parentHash = blocks.at(-1)?.hash ?? last.parentHash
    const hash = keccak256(toHex(`astray ${index}`))
    const empty = { ticks: [], pools: [], liquidity: [], balances: [] }
    blocks.push({ ...last, ...empty, number: last.number + index, hash, parentHash })
  }
  return blocks
}

test.each([1, 2, 3])('%i blocks of a branch that is no more are undone within minutes', async (count) => {
  await inVirtualTime(async () => {
    const random = randomOf(count)
    const world = new World({ random, happened: new Happened(), isBalanced: false, finalityLag: 10 })
    world.grow(40)
    world.finalize()
    const [store, log] = [new MemoryStore(), arrayLog()]
    const around = { world, store, random, report: () => {} }
    new MemoryAggregator(store, log).start()
    const listener = startListener(around, log)
    const untilStored = async (place: MemoryStore) => {
      for (let left = 300; left > 0 && place.tip?.hash !== world.head.hash; left--) await sleep(1_000)
      expect(place.tip?.hash).toBe(world.head.hash)
    }
    await untilStored(store)
    const last = log.messages.at(-1)
    if (last?.kind !== 'block') throw new Error('The last message is of a block that is not final.')
    await log.append(astray(last, count))
    await sleep(1_000)
    expect(store.tip?.hash).not.toBe(world.head.hash)
    // The listener passed on the block below these long ago.
    for (let left = 3; left > 0; left--) {
      world.grow(1)
      await sleep(5_000)
    }
    await untilStored(store)
    expect(store.orphans).toBeGreaterThan(0)
    expect(listener.failure()).toBeUndefined()
    const clean = new MemoryStore()
    const cleanRun = startBoth({ ...around, store: clean }, () => 0)
    await untilStored(clean)
    expect(store.rows()).toEqual(clean.rows())
    listener.kill()
    cleanRun.kill()
  })
})
