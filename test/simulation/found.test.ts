/** What the simulation has found, each as a plain test. */

import { createClient, custom } from 'viem'
import { expect, test } from 'vitest'
import { endpointsOf } from '../../ingest/endpoints.ts'
import { ChainReplaced } from '../../ingest/errors.ts'
import { bootstrapPrices } from '../../ingest/reference.ts'
import { UsdPrices } from '../../ingest/usd.ts'
import { mine, mineHistory } from './block.ts'
import { inVirtualTime, sleep } from './clock.ts'
import { Happened } from './fault.ts'
import { NETWORK, REFERENCE_POOL } from './market.ts'
import { MemoryStore } from './memory-store.ts'
import { respond } from './node.ts'
import { startBoth } from './processes.ts'
import { randomOf } from './random.ts'
import { simulate } from './simulate.ts'
import { World } from './world.ts'

/** A listener, with its aggregator, on a chain of 20 blocks. */
async function listening({ finalityLag, isFinal }: { finalityLag: number; isFinal: boolean }) {
  const random = randomOf(1)
  const world = new World({ random, happened: new Happened(), isBalanced: true, finalityLag })
  const store = new MemoryStore()
  world.grow(20)
  if (isFinal) world.finalize()
  const process = startBoth({ world, store, random, report: () => {} }, () => 0)
  while (store.tip?.hash !== world.head.hash) await sleep(50)
  return { world, store, process }
}

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
  const { failures } = await simulate({
    seed: 1,
    faults: [],
    halt: 'a chain replaced below finality while no listener ran',
  })
  expect(failures).toEqual([expect.any(ChainReplaced)])
})

test('a price that an answer with two hashes for one block gives is not believed', async () => {
  const random = randomOf(1)
  const parent = mineHistory(random)
  const withPrice = () => {
    for (;;) {
      const block = mine(parent, random)
      if (block.logs.some((log) => log.address === REFERENCE_POOL && log.topics.length === 3)) return block
    }
  }
  const [head, sibling] = [withPrice(), withPrice()]
  const view = { chainId: NETWORK.chainId, head, finalized: parent, past: new Map() }
  const client = createClient({
    transport: custom(
      {
        async request(call) {
          const outcome = respond(view, { id: 1, ...call })
          if ('error' in outcome) throw new Error(outcome.error.message)
          if (call.method !== 'eth_getLogs') return outcome.result
          const price = sibling.logs.findLast((log) => log.address === REFERENCE_POOL && log.topics.length === 3)
          return [...(outcome.result as unknown[]), { ...price, logIndex: '0xff' }]
        },
      },
      { retryCount: 0 },
    ),
  })
  const bootstrap = () => bootstrapPrices(endpointsOf([client]), NETWORK, new UsdPrices(NETWORK), head.number + 1)
  await expect(inVirtualTime(bootstrap)).rejects.toThrow('two blocks')
})
