/** Receipts against the root of their header: proof by one endpoint, agreement of two, and no proof. */
import { createClient, type Hex, http, numberToHex } from 'viem'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { proveBlock } from '../../../ingest/audit/audit-proof.ts'
import { V3_TOPICS } from '../../../ingest/decode/decode-v3.ts'
import type { IngestFact } from '../../../ingest/model/fact.ts'
import { NETWORKS } from '../../../ingest/model/networks.ts'
import { endpointsOf } from '../../../ingest/rpc/endpoints/endpoints.ts'
import type { RpcLog } from '../../../ingest/rpc/rpc.ts'
import { RpcFailed } from '../../../ingest/rpc/rpc-error.ts'
import { DAY_POOL, madeUpHash } from '../../support/recorded.ts'
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
    delete faults.answer
    delete calls['eth_getBlockReceipts']
  }
})

afterAll(() => Promise.all(nodes.map((node) => node.stop())))

let cooled: string[] = []

function prove(number = block, servers = nodes, coolDownMs = 5) {
  const clients = servers.map(({ url }) => createClient({ transport: http(url, { retryCount: 0 }) }))
  cooled = []
  const report = (fact: IngestFact) => {
    if (fact.kind === 'endpoint-cooling') cooled.push(fact.problem)
  }
  const retryPolicy = { coolDownMs, maxCoolDownMs: coolDownMs }
  return proveBlock(
    endpointsOf(clients, { headerProof: 'off', network: NETWORKS.ethereum, report, retryPolicy }),
    filter,
    number,
  )
}

function twist(node: RpcServer | undefined, receipt: (logs: readonly RpcLog[]) => readonly RpcLog[]): void {
  if (node) node.faults.twistReceipt = receipt
}

function receiptsOf(node: RpcServer | undefined) {
  const logs = node?.chain.logs.filter(ofBlock) ?? []
  const hashes = [...new Set(logs.map((log) => log.transactionHash))]
  return hashes.map((transactionHash) => ({
    ...{ type: '0x2', status: '0x1', cumulativeGasUsed: '0x5208', transactionHash, blockHash: swap?.blockHash },
    logs: logs.filter((log) => log.transactionHash === transactionHash),
  }))
}

const receiptsAsked = () => nodes.map(({ calls }) => calls['eth_getBlockReceipts'] ?? 0)

describe('the proof of a block', () => {
  test('one endpoint whose receipts have the root of the header proves a block', async () => {
    expect(await prove()).toMatchObject({ header: { number: block, hash: swap?.blockHash }, logs: swaps })
    expect(receiptsAsked()).toEqual([1, 0])
  })

  test('a block without a matching log is proven to have none', async () => {
    expect(await prove(EMPTY)).toMatchObject({ header: { number: EMPTY }, logs: [] })
  })

  test('a block is proven without a bloom', async () => {
    for (const { faults } of nodes) faults.hideBlooms = true
    expect(await prove()).toMatchObject({ logs: swaps })
    expect(receiptsAsked()).toEqual([1, 0])
  })

  test('a matching log beside the root is proven by two endpoints that say the same, and by no two that differ', async () => {
    const own = { transactionHash: madeUpHash(1, 5), blockHash: swap?.blockHash, blockNumber: swap?.blockNumber }
    const beside = { ...swap, ...own, logIndex: numberToHex(999) } as RpcLog
    // As Polygon's receipts of state syncs are.
    const stateSync = (data: Hex) => ({
      type: '0x0',
      status: '0x1',
      cumulativeGasUsed: '0x0',
      ...own,
      logs: [{ ...beside, data }],
    })
    const answer = (node: RpcServer | undefined, data: Hex) => {
      const real = receiptsOf(node)
      if (node)
        node.faults.answer = (method) =>
          method === 'eth_getBlockReceipts' ? { result: [...real, stateSync(data)] } : undefined
    }
    for (const node of nodes) answer(node, beside.data)
    expect((await prove())?.logs).toMatchObject([...swaps, { logIndex: numberToHex(999) }])
    expect(await prove(block, nodes.slice(0, 1))).toBeUndefined()
    answer(nodes[1], `0x${'1'.repeat(320)}`)
    expect(await prove()).toBeUndefined()
  })

  test('the hash that most endpoints have is proven, and none where two disagree', async () => {
    const [one, two] = nodes
    if (!one || !two) throw new Error('There are two nodes.')
    one.faults.answer = (method, [tag]) =>
      method === 'eth_getBlockByNumber' && tag === numberToHex(block)
        ? {
            result: {
              number: tag,
              hash: madeUpHash(block, 9),
              parentHash: madeUpHash(block - 1),
              timestamp: '0x65974d00',
              transactions: [],
            },
          }
        : undefined
    expect(await prove()).toBeUndefined()
    expect(await prove(block, [two, one])).toBeUndefined()
    expect(await prove(block, [one, two, two])).toMatchObject({ header: { hash: swap?.blockHash }, logs: swaps })
  })

  test('another endpoint proves a block where the first has no receipts', async () => {
    const [one] = nodes
    if (one) one.faults.hideReceipts = () => true
    expect(await prove()).toMatchObject({ logs: swaps })
  })

  test('the only endpoint proves nothing where it keeps no receipts, and it need not rest', async () => {
    const [one] = nodes
    if (one) one.faults.hideReceipts = () => true
    expect(await prove(block, nodes.slice(0, 1))).toBeUndefined()
    expect(cooled).toEqual([])
  })

  test('single receipts prove a block where a whole block’s cannot be had at once', async () => {
    for (const { faults } of nodes) faults.lacksMethods = ['eth_getBlockReceipts']
    expect(await prove()).toMatchObject({ logs: swaps })
  })

  test('the root does not have the indexes of logs: a node that answers them out of order proves nothing', async () => {
    const [one] = nodes
    const shared = chain.logs.find((log, at) => log.blockNumber === chain.logs[at + 1]?.blockNumber)
    const number = Number(shared?.blockNumber)
    const inOrder = await prove(number)
    expect(inOrder?.logs.length).toBeGreaterThan(0)
    const logs = chain.logs.filter((log) => Number(log.blockNumber) === number)
    if (one)
      one.faults.twistReceipt = (its) =>
        its.map((log) => ({ ...log, logIndex: numberToHex(5_000 - Number(log.logIndex)) }))
    expect(logs.length).toBeGreaterThan(1)
    expect(await prove(number, nodes.slice(0, 1))).toBeUndefined()
    expect((await prove(number))?.logs).toEqual(inOrder?.logs)
  })

  test('endpoints without receipts prove nothing', async () => {
    for (const { faults } of nodes) faults.lacksMethods = ['eth_getBlockReceipts', 'eth_getTransactionReceipt']
    expect(await prove()).toBeUndefined()
  })

  test('a proof fails where no endpoint answers now', async () => {
    for (const { faults } of nodes) faults.nextStatus = Array.from({ length: 10 }, () => 503)
    await expect(prove()).rejects.toThrow(RpcFailed)
    for (const { faults } of nodes) faults.nextStatus = []
  })

  test('receipts that lack logs of the root, or have further ones, prove nothing', async () => {
    const stranger = { ...swap, address: DAY_POOL.replace('8', '9'), logIndex: numberToHex(999) } as RpcLog
    for (const lie of [() => [], (logs: readonly RpcLog[]) => [...logs, stranger]]) {
      twist(nodes[0], lie)
      for (const { calls } of nodes) delete calls['eth_getBlockReceipts']
      // The first endpoint must still rest when the second is chosen, however slow the machine is.
      expect(await prove(block, nodes, 60_000)).toMatchObject({ logs: swaps })
      expect(receiptsAsked()).toEqual([1, 1])
    }
  })
})
