/** Receipts against the header's bloom: proof by one endpoint, agreement of two, and no proof. */
import { createClient, http, numberToHex } from 'viem'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { proveBlock } from '../../../ingest/audit/audit-proof.ts'
import { V3_TOPICS } from '../../../ingest/decode/decode-v3.ts'
import { endpointsOf } from '../../../ingest/rpc/endpoints.ts'
import type { RpcLog } from '../../../ingest/rpc/rpc.ts'
import { RpcFailed } from '../../../ingest/rpc/rpc-error.ts'
import { DAY_POOL } from '../../support/recorded.ts'
import { recordedDayChain } from '../../support/recorded-day.ts'
import { type RpcServer, startRpcServer } from '../../support/rpc-server.ts'

const chain = recordedDayChain()
const filter = { topics: [[V3_TOPICS.swap]] }
const [swap] = chain.logs.filter(({ topics }) => topics[0] === V3_TOPICS.swap)
const block = Number(swap?.blockNumber)
const ofBlock = (log: RpcLog) => Number(log.blockNumber) === block
const swaps = chain.logs.filter((log) => ofBlock(log) && log.topics[0] === V3_TOPICS.swap)
const withLogs = new Set(chain.logs.map((log) => Number(log.blockNumber)))
/** Its bloom is empty, as that of a node that keeps none. */
const EMPTY = Array.from({ length: 100 }, (_, index) => block + index).find((number) => !withLogs.has(number)) ?? 0

let nodes: RpcServer[]

beforeAll(async () => {
  nodes = await Promise.all([startRpcServer({ ...chain }), startRpcServer({ ...chain })])
})

beforeEach(() => {
  for (const { faults, calls } of nodes) {
    delete faults.hideReceipts
    delete faults.twistReceipt
    delete faults.hideBlooms
    delete faults.lacksMethods
    delete calls['eth_getBlockReceipts']
  }
})

afterAll(() => Promise.all(nodes.map((node) => node.stop())))

function prove(number = block, servers = nodes) {
  const clients = servers.map(({ url }) => createClient({ transport: http(url, { retryCount: 0 }) }))
  return proveBlock(endpointsOf(clients, { retryPolicy: { coolDownMs: 5, maxCoolDownMs: 5 } }), filter, number)
}

function twist(node: RpcServer | undefined, receipt: (logs: readonly RpcLog[]) => readonly RpcLog[]): void {
  if (node) node.faults.twistReceipt = receipt
}

const receiptsAsked = () => nodes.map(({ calls }) => calls['eth_getBlockReceipts'] ?? 0)

describe('a block is proven', () => {
  test('by one endpoint whose receipts are what its bloom says', async () => {
    expect(await prove()).toMatchObject({ header: { number: block, hash: swap?.blockHash }, logs: swaps })
    expect(receiptsAsked()).toEqual([1, 0])
  })

  test('to have no matching log, where it has none', async () => {
    expect(await prove(EMPTY)).toMatchObject({ header: { number: EMPTY }, logs: [] })
  })

  test('by two endpoints that say the same where there is no bloom, and by none where they do not', async () => {
    for (const { faults } of nodes) faults.hideBlooms = true
    expect(await prove()).toMatchObject({ logs: swaps })
    expect(receiptsAsked()).toEqual([1, 1])
    expect(await prove(block, nodes.slice(0, 1))).toBeUndefined()
    twist(nodes[1], (logs) => logs.map((log) => (log === swap ? { ...log, data: `0x${'1'.repeat(320)}` } : log)))
    expect(await prove()).toBeUndefined()
  })

  test('by another endpoint where the first has no receipts', async () => {
    const [one] = nodes
    if (one) one.faults.hideReceipts = () => true
    expect(await prove()).toMatchObject({ logs: swaps })
  })

  test('receipt by receipt where a block’s cannot be had at once', async () => {
    for (const { faults } of nodes) faults.lacksMethods = ['eth_getBlockReceipts']
    expect(await prove()).toMatchObject({ logs: swaps })
  })

  test('by no endpoint where none has receipts', async () => {
    for (const { faults } of nodes) faults.lacksMethods = ['eth_getBlockReceipts', 'eth_getTransactionReceipt']
    expect(await prove()).toBeUndefined()
  })

  test('later, where no endpoint answers now', async () => {
    for (const { faults } of nodes) faults.nextStatus = Array.from({ length: 10 }, () => 503)
    await expect(prove()).rejects.toThrow(RpcFailed)
    for (const { faults } of nodes) faults.nextStatus = []
  })

  test('not by receipts that lack what the bloom has, nor by those that have what it lacks', async () => {
    const stranger = { ...swap, address: DAY_POOL.replace('8', '9'), logIndex: numberToHex(999) } as RpcLog
    for (const lie of [() => [], (logs: readonly RpcLog[]) => [...logs, stranger]]) {
      twist(nodes[0], lie)
      for (const { calls } of nodes) delete calls['eth_getBlockReceipts']
      expect(await prove()).toMatchObject({ logs: swaps })
      expect(receiptsAsked()).toEqual([1, 1])
    }
  })
})
