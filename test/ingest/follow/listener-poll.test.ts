/** Polling by a period against a node with a recorded day: the same blocks as with each head followed, for fewer requests. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { connectChain } from '../../../infra/rpc/chain-client.ts'
import { BLOCK_BY_BLOCK, BY_RANGES, type LiveReading } from '../../../ingest/blocks/recent-blocks.ts'
import { listen, type WatchHeads } from '../../../ingest/follow/listener.ts'
import type { IngestFact } from '../../../ingest/model/fact.ts'
import type { Message } from '../../../ingest/model/message.ts'
import { NETWORKS } from '../../../ingest/model/networks.ts'
import { getHead } from '../../../ingest/rpc/rpc.ts'
import { arrayLog } from '../../support/array-log.ts'
import { DAY, madeUpHash } from '../../support/recorded.ts'
import { recordedDayChain } from '../../support/recorded-day.ts'
import { dayReplacedFrom } from '../../support/replaced-day.ts'
import { type RpcServer, startRpcServer } from '../../support/rpc-server.ts'
import { inSoak } from '../../support/sample.ts'
import { until } from '../../support/until.ts'

const BLOCKS = 20
const FROM = DAY.lastBlock - BLOCKS
const SECONDS_A_BLOCK = 2
const network = NETWORKS.ethereum

let node: RpcServer
/** Requests before the twenty blocks. */
let before: Record<string, number> = {}

beforeEach(async () => {
  const chain = recordedDayChain({ finalized: FROM - 5 })
  const contracts = Object.entries(chain.contracts).map(([address, it]) => [
    address,
    it.kind === 'token' ? { ...it, balanceOf: () => 10n ** 15n } : it,
  ])
  node = await startRpcServer({ ...chain, contracts: Object.fromEntries(contracts) })
})

afterEach(() => node.stop())

type Mode = { live: LiveReading; pollSeconds: number; isTold: boolean; isProven?: boolean }
const FOLLOWED: Mode = { live: BLOCK_BY_BLOCK, pollSeconds: 1, isTold: true }
const polled = (pollSeconds: number): Mode => ({ live: BY_RANGES, pollSeconds, isTold: false })

/** Twenty blocks in forty seconds, which the test counts: a poll is over before the next second begins. */
async function readBlocks(
  { live, pollSeconds, isTold, isProven = false }: Mode,
  onSecond: (second: number) => void = () => {},
): Promise<{ messages: Message[]; requests: number }> {
  node.chain.head = FROM
  const log = arrayLog()
  const facts: IngestFact[] = []
  const stopping = new AbortController()
  const shared = { network, report: (fact: IngestFact) => void facts.push(fact), signal: stopping.signal }
  const { endpoints } = connectChain([node.url], { headerProof: 'off', ...shared })
  let onHead: Parameters<WatchHeads>[0] = () => {}
  const watchHeads: WatchHeads = (listener) => {
    onHead = listener
    return () => {}
  }
  const stored = { tip: async () => undefined, below: async () => [] }
  const start = { kind: 'block', number: FROM - 10 } as const
  const listening = listen(endpoints, { ...shared, log, stored, start, watchHeads, pollMs: 3_600_000, live })
  const tip = () => {
    const last = log.messages.at(-1)
    return last?.kind === 'block' ? last.number : undefined
  }
  const polls = () => facts.filter(({ kind }) => kind === 'head-seen').length
  const atHead = () => until(async () => (tip() === node.chain.head ? true : undefined), 'the head is appended')
  await atHead()
  const calls = () => Object.values(node.calls).reduce((sum, count) => sum + count, 0)
  before = { ...node.calls }
  const callsBefore = calls()
  const firstNew = log.messages.length
  let outside = 0
  for (let second = 1; second <= BLOCKS * SECONDS_A_BLOCK; second++) {
    if (second % SECONDS_A_BLOCK === 0) {
      node.chain.head++
      if (isTold) {
        const header = await endpoints.run(getHead)
        outside++
        onHead({ ...header, isProven })
        await atHead()
      }
    }
    onSecond(second)
    if (second % pollSeconds !== 0) continue
    const done = polls()
    onHead()
    await until(async () => (polls() > done ? true : undefined), 'the chain is polled')
    await atHead()
  }
  stopping.abort()
  await listening
  return { messages: log.messages.slice(firstNew), requests: calls() - callsBefore - outside }
}

test.each([
  ['whose headers are proven need a request for their logs, or for their header where they have none', true],
  ['of other headers need a request for each', false],
])('announced blocks within six seconds %s', async (_, isProven) => {
  const { messages } = await readBlocks({ ...FOLLOWED, isProven, pollSeconds: Number.POSITIVE_INFINITY })
  expect(messages).toHaveLength(BLOCKS)
  const since = (method: string) => (node.calls[method] ?? 0) - (before[method] ?? 0)
  const logs = since('eth_getLogs')
  // The test itself requests the headers that it announces. Beside both: one poll in six seconds, with the finality in twelve,
  // and two blocks whose bloom has bits of the filter's by chance.
  const headers = since('eth_getBlockByNumber') - BLOCKS
  expect(logs).toBeLessThanOrEqual(BLOCKS + 2)
  expect(headers).toBeLessThanOrEqual(isProven ? BLOCKS / 2 : BLOCKS + 6)
})

/** Balances are those after the newest block of a period, and belong to fewer blocks. */
const contentOf = (messages: readonly Message[]) =>
  messages.map((message) => (message.kind === 'block' ? { ...message, balances: [] } : message))

test('twenty blocks are the same ones, for fewer requests', async () => {
  const followed = await readBlocks(FOLLOWED)
  expect(followed.messages).toHaveLength(BLOCKS)
  const inFive = await readBlocks(polled(5))
  expect(contentOf(inFive.messages)).toEqual(contentOf(followed.messages))
  const inTwenty = await readBlocks(polled(20))
  expect(contentOf(inTwenty.messages)).toEqual(contentOf(followed.messages))
  expect(inFive.requests).toBeLessThan(followed.requests)
  expect(inTwenty.requests).toBeLessThan(followed.requests / 2)
})

test('a node without blooms, and one that takes narrow ranges only, give the same blocks', inSoak, async () => {
  const followed = await readBlocks(FOLLOWED)
  node.faults.hideBlooms = true
  node.faults.maxBlocks = 4
  const { messages } = await readBlocks(polled(20))
  expect(contentOf(messages)).toEqual(contentOf(followed.messages))
})

test('logs that the node leaves out of a range are found by the bloom', inSoak, async () => {
  const followed = await readBlocks(FOLLOWED)
  const withLogs = followed.messages.find((message) => message.kind === 'block' && message.ticks.length > 0)
  const hidden = withLogs?.kind === 'block' ? withLogs.number : 0
  let answers = 0
  node.faults.onCall = (method) => {
    if (method !== 'eth_getLogs' || node.chain.head === FROM) return
    // The range lacks the logs; the next answer, for the block alone, has them.
    if (answers++ === 0) node.faults.hideLogs = (log) => Number(log.blockNumber) === hidden
    else delete node.faults.hideLogs
  }
  const { messages } = await readBlocks(polled(40))
  expect(contentOf(messages)).toEqual(contentOf(followed.messages))
})

test('blocks that a reorg replaced between two periods are read again', async () => {
  const [fork, logs] = [FROM + 5, node.chain.logs]
  const { messages } = await readBlocks(polled(20), (second) => {
    if (second === 30) Object.assign(node.chain, { logs: dayReplacedFrom(fork, 7) })
  })
  Object.assign(node.chain, { logs })
  const blocks = messages.filter((message) => message.kind === 'block')
  // Ten blocks of the first period, then all from the first replaced one on.
  const numbers = [
    ...Array.from({ length: 10 }, (_, index) => FROM + 1 + index),
    ...Array.from({ length: 16 }, (_, index) => fork + index),
  ]
  expect(blocks.map(({ number }) => number)).toEqual(numbers)
  for (const [index, { parentHash, number }] of blocks.entries()) {
    const parent = blocks.slice(0, index).findLast((block) => block.number === number - 1)
    if (parent) expect(parentHash).toBe(parent.hash)
  }
  expect(blocks.at(-1)?.hash).toBe(madeUpHash(DAY.lastBlock, 7))
})
