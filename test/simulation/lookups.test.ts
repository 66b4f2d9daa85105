/** Lookups of a listener beside its blocks, at nodes that contradict themselves or are on another branch. */
import { type Client, createClient, custom } from 'viem'
import { describe, expect, test } from 'vitest'
import { bootstrapPrices } from '../../ingest/blocks/reference-price.ts'
import { Registry } from '../../ingest/pools/registry.ts'
import { UsdPrices } from '../../ingest/pricing/usd.ts'
import { endpointsOf } from '../../ingest/rpc/endpoints/endpoints.ts'
import { pinToBlock } from '../../ingest/rpc/endpoints/pin-to-block.ts'
import type { Call, Outcome } from '../support/json-rpc.ts'
import { ancestorOf, type Block, mine, mineHistory, OLDEST } from './block.ts'
import { inVirtualTime } from './clock.ts'
import { NETWORK, POOLS, REFERENCE_POOL } from './market.ts'
import { respondFrom } from './node.ts'
import { randomOf } from './random.ts'

/** A node with `head`, which may answer otherwise now and then. */
function nodeAt(
  head: Block,
  finalized: Block,
  answer: (call: Call, outcome: Outcome) => Outcome = (_, it) => it,
): Client {
  const view = { chainId: NETWORK.chainId, head, finalized, past: new Map() }
  return createClient({
    transport: custom(
      {
        async request(call) {
          const asked = { id: 1, ...call }
          const outcome = answer(asked, respondFrom(view, asked))
          if ('error' in outcome) throw new Error(outcome.error.message)
          return outcome.result
        },
      },
      { retryCount: 0 },
    ),
  })
}

const isPrice = (log: Block['logs'][number]) => log.address === REFERENCE_POOL && log.topics.length === 3

/** Blocks on one parent, both with a price. */
function twoPrices() {
  const random = randomOf(1)
  const parent = mineHistory(random)
  const withPrice = () => {
    for (;;) {
      const block = mine(parent, random)
      if (block.logs.some(isPrice)) return block
    }
  }
  return { parent, head: withPrice(), sibling: withPrice() }
}

describe('what is looked up', () => {
  test('a price that an answer with two hashes for one block gives is not believed', async () => {
    const { parent, head, sibling } = twoPrices()
    const client = nodeAt(head, parent, ({ method }, outcome) => {
      if (method !== 'eth_getLogs' || 'error' in outcome) return outcome
      return { result: [...(outcome.result as unknown[]), { ...sibling.logs.findLast(isPrice), logIndex: '0xff' }] }
    })
    const bootstrap = () => bootstrapPrices(endpointsOf([client]), NETWORK, new UsdPrices(NETWORK), head.number + 1)
    await expect(inVirtualTime(bootstrap)).rejects.toThrow('two blocks')
  })

  test('a price of another branch prices nothing on this one', async () => {
    const { parent, head, sibling } = twoPrices()
    const other = nodeAt(sibling, parent)
    const usd = new UsdPrices(NETWORK)
    const bootstrap = (clients: Client[]) =>
      inVirtualTime(() => bootstrapPrices(pinToBlock(endpointsOf(clients), head), NETWORK, usd, head.number + 1))
    await expect(bootstrap([other])).rejects.toThrow(`${sibling.hash} in the place of block ${head.number}`)
    expect(usd.unknown()).toContain(REFERENCE_POOL)
    await bootstrap([other, nodeAt(head, parent)])
    expect(usd.unknown()).not.toContain(REFERENCE_POOL)
  })

  test('a pool that is asked of a node on another branch is no stranger for good', async () => {
    const random = randomOf(1)
    const parent = ancestorOf(mineHistory(random), OLDEST) as Block
    const isNew = (block: Block) =>
      POOLS.find(({ id, factory }) => block.pools.has(id) && !parent.pools.has(id) && factory === NETWORK.v3.factory)
    let head = mine(parent, random)
    while (!isNew(head)) head = mine(parent, random)
    const pool = isNew(head)
    if (!pool) throw new Error('There is one.')
    const event = {
      kind: 'liquidity',
      pool: pool.id,
      logIndex: 1,
      tickLower: 0,
      tickUpper: 1,
      liquidityDelta: 1n,
    } as const
    const learn = (clients: Client[]) => {
      const registry = new Registry(endpointsOf(clients), NETWORK)
      return inVirtualTime(() => registry.resolvePools([event], head).then(() => registry.get(pool.id)?.kind))
    }
    const other = nodeAt(mine(parent, randomOf(2)), parent)
    await expect(learn([other])).rejects.toThrow('in the place of block')
    expect(await learn([other, nodeAt(head, parent)])).toBe('pool')
  })
})
