/** A block full of logs like a swap's, from contracts that revert: the listener tells of it with the requests that its node allows. */
import { numberToHex, padHex } from 'viem'
import { afterAll, expect, test } from 'vitest'
import { V3_TOPICS } from '../../../ingest/decode/decode-v3.ts'
import { blocksOf } from '../../../ingest/model/message.ts'
import { DAY } from '../../support/recorded.ts'
import type { RpcServer } from '../../support/rpc-server.ts'
import { FINALIZED, listenTo, startNode } from '../over-nodes.ts'

const EMITTERS = 300

let node: RpcServer
afterAll(() => node?.stop())

test('300 emitters that revert do not stop a listener at 50 requests a second', async () => {
  node = await startNode()
  const { logs } = node.chain
  const swap = logs.findLast(({ topics, blockNumber }) => {
    return topics[0] === V3_TOPICS.swap && Number(blockNumber) <= FINALIZED
  })
  if (!swap) throw new Error('The recording has swaps.')
  const impostors = Array.from({ length: EMITTERS }, (_, index) => ({
    ...swap,
    address: padHex(numberToHex(0xbad00000 + index), { size: 20 }),
    logIndex: numberToHex(1_000 + index),
  }))
  node.chain.logs = [...logs, ...impostors].sort((a, b) => Number(a.blockNumber) - Number(b.blockNumber))
  node.faults.limit = { perSecond: 50 }
  const listening = listenTo([node])
  const messages = await listening.messagesUpTo(DAY.lastBlock)
  await listening.stop()
  const block = messages.flatMap(blocksOf).find(({ number }) => number === Number(swap.blockNumber))
  expect(block?.ticks.length).toBeGreaterThan(0)
  expect(listening.factsOf('pool-skipped')).toHaveLength(EMITTERS)
  expect(node.calls['eth_call']).toBeLessThan(20)
})
