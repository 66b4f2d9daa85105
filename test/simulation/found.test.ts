/** Faults of finality that the simulation has found, and cases that are too rare for it, as plain tests. */

import { describe, expect, test } from 'vitest'
import { ChainReplaced } from '../../ingest/model/errors.ts'
import type { IngestFact } from '../../ingest/model/fact.ts'
import { arrayLog } from '../support/array-log.ts'
import { inVirtualTime, sleep } from './clock.ts'
import { Happened } from './fault.ts'
import { MemoryStore } from './memory-store.ts'
import { type Surroundings, startBoth, startListener } from './processes.ts'
import { randomOf } from './random.ts'
import { simulate } from './simulate.ts'
import { World } from './world.ts'

type Setting = { finalityLag: number; isFinal: boolean; isBalanced?: boolean }

/** A listener, with its aggregator, on a chain of 20 blocks. */
async function listening({ finalityLag, isFinal, isBalanced = true }: Setting) {
  const random = randomOf(1)
  const world = new World({ random, happened: new Happened(), isBalanced, finalityLag })
  const store = new MemoryStore()
  const facts: IngestFact[] = []
  world.grow(20)
  if (isFinal) world.finalize()
  const around: Surroundings = { world, store, random, report: (fact) => facts.push(fact) }
  const process = startBoth(around, () => 0)
  while (store.tip?.hash !== world.head.hash) await sleep(50)
  return { world, store, process, around, facts }
}

describe('finality', () => {
  test('a chain that replaces all that a young store holds, nothing of it final, ends no listener', async () => {
    await inVirtualTime(async () => {
      const { world, store, process } = await listening({ finalityLag: 50, isFinal: false })
      world.fork(20, 21)
      await sleep(10_000)
      process.kill()
      expect(process.failure()).toBeUndefined()
      expect(store.tip?.hash).toBe(world.head.hash)
    })
  })

  test('an only endpoint that falls back behind what is final, and comes back, ends no listener', async () => {
    await inVirtualTime(async () => {
      const { world, process } = await listening({ finalityLag: 5, isFinal: true })
      for (const node of [0, 1]) world.put(node, { lag: 15 })
      await sleep(10_000)
      process.kill()
      expect(process.failure()).toBeUndefined()
    })
  })

  test('a chain replaced below finality while no listener ran ends the next one', async () => {
    const halt = 'a chain replaced below finality while no listener ran'
    const { failures } = await simulate({ seed: 1, faults: [], halt })
    expect(failures).toEqual([expect.any(ChainReplaced)])
  })

  test('a chain replaced above finality while no listener ran, in all of it, does not', async () => {
    await inVirtualTime(async () => {
      const { world, store, process, around } = await listening({ finalityLag: 18, isFinal: true })
      process.kill()
      world.fork(world.maxDepth, world.maxDepth + 1)
      const next = startBoth(around, () => 0)
      await sleep(5_000)
      next.kill()
      expect(next.failure()).toBeUndefined()
      expect(store.tip?.hash).toBe(world.head.hash)
    })
  })

  test('a chain that one endpoint says was replaced ends nothing as long as the other lags', async () => {
    await inVirtualTime(async () => {
      const { world, store, process } = await listening({ finalityLag: 5, isFinal: true, isBalanced: false })
      const { tip } = store
      await sleep(1_000)
      world.fork(world.maxDepth + 1, world.maxDepth + 9)
      world.put(1, { lag: 17 })
      await sleep(60_000)
      expect(process.failure()).toBeUndefined()
      expect(store.tip).toEqual(tip)
      world.put(1, { lag: 0 })
      await sleep(60_000)
      expect(process.failure()).toBeInstanceOf(ChainReplaced)
      expect(store.tip).toEqual(tip)
    })
  })

  test('a chain replaced below the last range of a log ends the next listener, though no table knows of it', async () => {
    await inVirtualTime(async () => {
      const random = randomOf(1)
      const world = new World({ random, happened: new Happened(), isBalanced: true, finalityLag: 5 })
      world.grow(20)
      world.finalize()
      const [store, log] = [new MemoryStore(), arrayLog()]
      const around: Surroundings = { world, store, random, report: () => {} }
      const untilRange = async (count: number) => {
        const listener = startListener(around, log)
        const ranges = () => log.messages.filter(({ kind }) => kind === 'range')
        while (ranges().length < count) await sleep(50)
        listener.kill()
        log.messages.splice(0, Number.POSITIVE_INFINITY, ...ranges())
      }
      await untilRange(1)
      for (const message of log.messages) await store.take(message)
      world.grow(20)
      world.finalize()
      await untilRange(2)
      world.fork(world.maxDepth + 1, world.maxDepth + 5)
      const next = startListener(around, log)
      await sleep(10_000)
      expect(next.failure()).toBeInstanceOf(ChainReplaced)
    })
  })

  test.each([
    [0, 'is followed while it leads'],
    [1, 'is not'],
  ])('node %i, on a permanent fork, %s, stops no listener, and nothing becomes final', async (node) => {
    await inVirtualTime(async () => {
      const { world, store, process, around, facts } = await listening({
        finalityLag: 5,
        isFinal: true,
        isBalanced: false,
      })
      const branch = world.fork(3, 4)
      world.put(node, { branch, isLost: true })
      const goOn = async () => {
        for (let left = 30; left > 0; left--) {
          world.grow(1)
          world.growBranch(node)
          world.finalize()
          await sleep(2_000)
        }
        expect(store.tip?.hash).toBe(world.nodes[0]?.view.head.hash)
      }
      await goOn()
      expect(facts).toContainEqual(expect.objectContaining({ kind: 'endpoints-disagree', agreed: undefined }))
      process.kill()
      const next = startBoth(around, () => 0)
      await goOn()
      next.kill()
      expect([process.failure(), next.failure()]).toEqual([undefined, undefined])
    })
  })

  test('one of two nodes behind one address, on a fork below what is final for ever, ends no listener', async () => {
    await inVirtualTime(async () => {
      const { world, store, process } = await listening({ finalityLag: 5, isFinal: true })
      world.put(0, { branch: world.fork(3, 4), isLost: true })
      for (let left = 60; left > 0; left--) {
        world.grow(1)
        world.growBranch(0)
        world.finalize()
        await sleep(2_000)
      }
      expect(process.failure()).toBeUndefined()
      world.calm()
      for (let left = 10; left > 0; left--) {
        world.grow(1)
        await sleep(2_000)
      }
      expect(store.tip?.hash).toBe(world.head.hash)
      process.kill()
    })
  })
})
