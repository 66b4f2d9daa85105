/** Chapter 2. The listener turns a chain into one stream of messages: ranges while it is history, single blocks near the head. */
import { createClient, http } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listen } from '../../ingest/follow/listener.ts'
import {
  type BlockContent,
  type BlockMessage,
  blocksOf,
  type Message,
  type RangeMessage,
  tipOf,
} from '../../ingest/model/message.ts'
import { NETWORKS } from '../../ingest/model/networks.ts'
import { endpointsOf } from '../../ingest/rpc/endpoints/endpoints.ts'
import { arrayLog } from '../support/array-log.ts'
import { DAY } from '../support/recorded.ts'
import { startRecordedDay } from '../support/recorded-day.ts'
import type { RpcServer } from '../support/rpc-server.ts'
import { until } from '../support/until.ts'

/** The node calls all but the newest forty blocks final. */
const FINALIZED = DAY.lastBlock - 40

let node: RpcServer
let messages: readonly Message[]
let ranges: readonly RangeMessage[]
let blocks: readonly BlockMessage[]

beforeAll(async () => {
  node = await startRecordedDay({ finalized: FINALIZED })
  const log = arrayLog()
  const stopping = new AbortController()
  const listening = listen(endpointsOf([createClient({ transport: http(node.url) })], { headerProof: 'off' }), {
    network: NETWORKS.ethereum,
    log,
    // Nothing is stored yet, so the listener begins where it is told to.
    stored: { tip: async () => undefined, below: async () => [] },
    start: { kind: 'block', number: DAY.firstBlock },
    report: () => {},
    signal: stopping.signal,
  })
  const numberOf = (message: Message | undefined) => message && tipOf(message).number
  await until(async () => (numberOf(log.messages.at(-1)) === DAY.lastBlock ? true : undefined), 'the day is read')
  stopping.abort()
  await listening
  messages = log.messages
  ranges = messages.filter((message) => message.kind === 'range')
  blocks = messages.filter((message) => message.kind === 'block')
})

afterAll(() => node?.stop())

test('history comes as ranges, the blocks that may still be replaced come one by one', () => {
  expect(ranges.at(0)?.from).toBe(DAY.firstBlock)
  expect(ranges.at(-1)?.to).toBe(FINALIZED)
  expect(blocks.map(({ number }) => number)).toEqual(Array.from({ length: 40 }, (_, index) => FINALIZED + 1 + index))
  expect(messages).toEqual([...ranges, ...blocks])
})

test('every message names its parent, which is the message before it: a reorg needs no message of its own', () => {
  for (const [index, message] of messages.entries()) {
    const before = messages[index - 1]
    expect(message.parentHash).toBe(before && tipOf(before).hash)
  }
})

test('a range leaves out its empty blocks; near the head they are sent, so that every parent can be checked', () => {
  expect(ranges.flatMap((range) => range.blocks).filter(isEmpty)).toEqual([])
  expect(blocks.filter(isEmpty).length).toBeGreaterThan(0)
})

test('whichever way a block came, nothing of the day is missing: 6,046 swaps', () => {
  const ticks = messages.flatMap((message) => blocksOf(message).flatMap((block) => block.ticks))
  expect(ticks).toHaveLength(6_046)
})

test('history costs far fewer calls than it has blocks', () => {
  const { eth_getLogs: logs = 0, eth_getBlockByNumber: headers = 0 } = node.calls
  // Forty blocks near the head take a header and a call for logs each; the 7,059 before them share the rest.
  expect(logs).toBeLessThan(200)
  expect(headers).toBeLessThan(200)
})

function isEmpty({ ticks, pools, liquidity }: BlockContent): boolean {
  return ticks.length + pools.length + liquidity.length === 0
}
