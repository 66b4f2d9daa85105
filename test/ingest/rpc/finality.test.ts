/** Finality where a node does not report it: at times, for a while, or never. */
import { numberToHex } from 'viem'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { connectChain } from '../../../infra/rpc/chain-client.ts'
import { listen } from '../../../ingest/follow/listener.ts'
import type { IngestFact } from '../../../ingest/model/fact.ts'
import { type Message, tipOf } from '../../../ingest/model/message.ts'
import { NETWORKS } from '../../../ingest/model/networks.ts'
import type { StoredChain, StoredTip } from '../../../ingest/model/stored-chain.ts'
import { Finality } from '../../../ingest/rpc/finality.ts'
import { type ArrayLog, arrayLog } from '../../support/array-log.ts'
import { DAY, madeUpHash, recordedDay } from '../../support/recorded.ts'
import { startRecordedDay } from '../../support/recorded-day.ts'
import type { Faults, RpcServer } from '../../support/rpc-server.ts'
import { drawn } from '../../support/sample.ts'
import { until } from '../../support/until.ts'
import { FAST_RETRIES } from '../over-nodes.ts'

/** On a rollup thousands of blocks are not final. */
const FINAL = DAY.lastBlock - 1_500
const HEAD = DAY.lastBlock - 400
const REORG_BLOCKS = 300

let nodes: RpcServer[]
let stops: (() => Promise<unknown>)[]

beforeEach(async () => {
  nodes = []
  stops = []
})

afterEach(async () => {
  for (const stop of stops) await stop()
  for (const node of nodes) await node.stop()
})

async function startNode(): Promise<RpcServer> {
  const node = await startRecordedDay({ finalized: FINAL })
  node.chain.head = HEAD
  nodes.push(node)
  return node
}

type Listening = { log: ArrayLog; facts: IngestFact[]; failure(): unknown; upTo(block: number): Promise<unknown> }

function listenTo(over: readonly RpcServer[], stored?: StoredTip, minFinalitySeconds = 0): Listening {
  const log = arrayLog()
  const facts: IngestFact[] = []
  const stopping = new AbortController()
  const network = NETWORKS.ethereum
  const shared = { network, report: (fact: IngestFact) => void facts.push(fact), signal: stopping.signal }
  const { endpoints } = connectChain(
    over.map(({ url }) => url),
    { ...shared, headerProof: 'off', retryPolicy: { ...FAST_RETRIES, minFinalitySeconds } },
  )
  const chain: StoredChain = {
    tip: async () => stored,
    below: async (number, limit) =>
      Array.from({ length: Math.min(limit, 1_000) }, (_, index) => refOf(number - 1 - index)),
  }
  let failure: unknown
  const listening = listen(endpoints, {
    ...shared,
    log,
    stored: chain,
    start: { kind: 'block', number: FINAL - 500 },
    pollMs: 5,
  }).catch((error: unknown) => {
    failure = error
  })
  stops.push(() => {
    stopping.abort()
    return listening
  })
  return {
    log,
    facts,
    failure: () => failure,
    upTo: (block) =>
      until(async () => {
        if (failure) throw failure
        const newest = log.messages.at(-1)
        return newest && tipOf(newest).number === block ? true : undefined
      }, `block ${block} is appended`),
  }
}

const refOf = (number: number) => ({ number, hash: hashes.get(number) ?? madeUpHash(number) })
const hashes = new Map(recordedDay().map((log) => [Number(log.blockNumber), log.blockHash]))

/** The chain from `block` on in other blocks; a node over recorded logs takes a block's hash from its first one. */
function replaceFrom({ chain }: RpcServer, block: number, fork = 1): void {
  const [template] = recordedDay()
  if (!template) throw new Error('Something was recorded.')
  const logs = recordedDay().filter((log) => Number(log.blockNumber) < block)
  for (let number = block; number <= DAY.lastBlock; number++) {
    const blockHash = madeUpHash(number, fork)
    logs.push({ ...template, topics: [madeUpHash(number)], blockNumber: numberToHex(number), blockHash })
  }
  chain.logs = logs
}

async function looks(node: RpcServer, times: number): Promise<void> {
  const before = node.calls['eth_getBlockByNumber'] ?? 0
  await until(
    async () => ((node.calls['eth_getBlockByNumber'] ?? 0) >= before + 2 * times ? true : undefined),
    `the node is asked ${times} times`,
  )
}

const finalOf = (messages: readonly Message[]) =>
  Math.max(...messages.map((it) => (it.kind === 'block' ? it.finalized : (it.finalized ?? it.to))))

const REFUSALS: [string, NonNullable<Faults['finalized']>][] = [
  ['null', { result: null }],
  ['an error', { error: { code: -39001, message: 'finalized block not found' } }],
  ['a refusal', { error: { code: -32602, message: 'invalid argument 0: hex string without 0x prefix' } }],
]

describe('the newest final block', () => {
  const at = (number: number) => ({ number, hash: madeUpHash(number) })

  test('is none that is far below the head, and none that is too young', () => {
    const finality = new Finality({ maxLagBlocks: 100, minSeconds: 600 })
    const block = (number: number, age: number) => ({ number, timestamp: Math.floor(Date.now() / 1_000) - age })
    const head = block(1_000, 0)
    expect(finality.isPlausible(block(900, 700), head)).toBe(true)
    expect(finality.isPlausible(block(899, 700), head)).toBe(false)
    expect(finality.isPlausible(block(950, 500), head)).toBe(false)
  })

  test('never falls, and is not above the head of the node that is asked', async () => {
    const finality = new Finality()
    await finality.setNamed(at(10))
    await finality.setNamed(at(5))
    expect(finality.below(10)).toEqual(at(10))
    expect(finality.below(9)).toBeUndefined()
  })

  test('is the one that the voices agree on, below the one that they do not', async () => {
    const agreeAt = async (number: number) => ({ hash: madeUpHash(number, number > 995 ? 1 : 0), timestamp: 0 })
    const finality = new Finality({ agreeAt })
    await finality.setNamed(at(1_000))
    expect(finality.below(1_000)).toEqual(at(992))
  })

  test('is none that the voices agree on while it is young, by the clock and by the oldest of their heads', async () => {
    const now = Math.floor(Date.now() / 1_000)
    for (const [headTime, final] of [
      [now - 60, 944],
      [undefined, 944],
      [now + 60, 976],
    ] as const) {
      const agreeAt = async (number: number) => ({
        ...{ hash: madeUpHash(number, number > 995 ? 1 : 0), timestamp: now - 12 * (1_020 - number), headTime },
      })
      const finality = new Finality({ minSeconds: 588, agreeAt })
      await finality.setNamed(at(1_000))
      expect(finality.below(1_000), `heads of ${headTime}`).toEqual(at(final))
    }
  })
})

describe('a node that does not say what is final', () => {
  test.each(drawn('refusals', REFUSALS, 1))(
    '%s for a while makes nothing final, and a reorg of 300 blocks is followed',
    async (_, refusal) => {
      const node = await startNode()
      const { upTo, log, facts, failure } = listenTo([node])
      await upTo(HEAD)
      node.faults.finalized = refusal
      await looks(node, 5)
      node.chain.head = HEAD + 1
      await upTo(HEAD + 1)
      delete node.faults.finalized
      await looks(node, 2)
      expect(finalOf(log.messages)).toBe(FINAL)
      replaceFrom(node, HEAD - REORG_BLOCKS)
      node.chain.head = HEAD + 2
      await upTo(HEAD + 2)
      expect(failure()).toBeUndefined()
      expect(facts).toContainEqual(expect.objectContaining({ kind: 'reorg', ancestor: HEAD - REORG_BLOCKS - 1 }))
    },
  )

  test.each(drawn('refusals', REFUSALS, 1))('%s at first makes nothing final', async (_, refusal) => {
    const node = await startNode()
    let left = 2
    node.faults.onCall = () => {
      if (node.faults.finalized && left-- <= 0) delete node.faults.finalized
    }
    node.faults.finalized = refusal
    const { upTo, log } = listenTo([node])
    await upTo(HEAD)
    expect(finalOf(log.messages)).toBe(FINAL)
  })

  test.each(drawn('refusals', REFUSALS, 1))(
    '%s after a restart makes nothing final beyond what is stored, and a reorg of 300 blocks is followed',
    async (_, refusal) => {
      const node = await startNode()
      node.faults.finalized = refusal
      const { upTo, log, facts } = listenTo([node], { ...refOf(HEAD - 350), finalized: FINAL })
      await upTo(HEAD)
      await looks(node, 10)
      expect(finalOf(log.messages)).toBe(FINAL)
      expect(log.messages.every(({ kind }) => kind === 'block')).toBe(true)
      replaceFrom(node, HEAD - REORG_BLOCKS)
      node.chain.head = HEAD + 1
      await upTo(HEAD + 1)
      expect(facts).toContainEqual(expect.objectContaining({ kind: 'reorg', ancestor: HEAD - REORG_BLOCKS - 1 }))
    },
  )

  test('a node that never says it is read up to 256 blocks below its head, and a deeper reorg is followed too', async () => {
    const node = await startNode()
    node.faults.finalized = { result: null }
    const { upTo, log, facts } = listenTo([node])
    await upTo(HEAD)
    const ranges = log.messages.filter(({ kind }) => kind === 'range')
    expect(tipOf(ranges.at(-1) as Message).number).toBe(HEAD - 256)
    expect(finalOf(log.messages)).toBe(0)
    replaceFrom(node, HEAD - REORG_BLOCKS)
    node.chain.head = HEAD + 1
    await upTo(HEAD + 1)
    expect(facts.filter(({ kind }) => kind === 'reorg')).toHaveLength(1)
  })
})

test('one of two nodes that does not know the tag leaves what is final to the other', async () => {
  const [without, other] = [await startNode(), await startNode()]
  without.faults.finalized = { error: { code: -32602, message: 'invalid block tag' } }
  const { upTo, log } = listenTo([without, other])
  await upTo(HEAD)
  await looks(without, 10)
  expect(finalOf(log.messages)).toBe(FINAL)
  const ranges = log.messages.filter(({ kind }) => kind === 'range')
  expect(tipOf(ranges.at(-1) as Message).number).toBe(FINAL)
  // The other one is gone: blocks still come.
  other.faults.reset = true
  for (const { chain } of [without, other]) chain.head = HEAD + 3
  await upTo(HEAD + 3)
  expect(finalOf(log.messages)).toBe(FINAL)
})

test('a block that is younger than a final one can be is not final, and a reorg of it is followed', async () => {
  const node = await startNode()
  const { chain } = node
  const now = vi.spyOn(Date, 'now').mockImplementation(() => chain.timestampOf(chain.head) * 1_000 + 5_000)
  stops.push(async () => now.mockRestore())
  const { upTo, log, facts, failure } = listenTo([node], undefined, 600)
  await upTo(HEAD)
  chain.finalized = HEAD - 2
  chain.head = HEAD + 1
  await upTo(HEAD + 1)
  await looks(node, 5)
  expect(finalOf(log.messages)).toBe(FINAL)
  replaceFrom(node, HEAD - 3)
  chain.head = HEAD + 2
  await upTo(HEAD + 2)
  expect(failure()).toBeUndefined()
  expect(facts.some(({ kind }) => kind === 'reorg')).toBe(true)
  const old = HEAD - 60
  expect(chain.timestampOf(HEAD + 2) - chain.timestampOf(old)).toBeGreaterThan(600)
  chain.finalized = old
  chain.head = HEAD + 3
  await until(async () => {
    chain.head++
    await looks(node, 2)
    return finalOf(log.messages) === old ? true : undefined
  }, 'an older one is final')
})

test('a node whose final block goes backwards, or lies beyond its head, takes nothing back and adds nothing', async () => {
  const node = await startNode()
  const { upTo, log } = listenTo([node])
  await upTo(HEAD)
  node.chain.finalized = FINAL - 300
  node.chain.head = HEAD + 1
  await upTo(HEAD + 1)
  node.chain.finalized = HEAD + 9
  await looks(node, 5)
  node.chain.finalized = FINAL
  node.chain.head = HEAD + 2
  await upTo(HEAD + 2)
  expect(finalOf(log.messages)).toBe(FINAL)
  expect(log.messages.at(-1)).toMatchObject({ finalized: FINAL })
})
