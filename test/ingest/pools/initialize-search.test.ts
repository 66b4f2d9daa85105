/** v4 pools that PositionManager does not know, on a node that answers narrow ranges only: they are looked for together, and once. */
import { numberToHex, padHex } from 'viem'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { connectChain } from '../../../infra/rpc/chain-client.ts'
import { V4_TOPICS } from '../../../ingest/decode/decode-v4.ts'
import type { PoolEvent } from '../../../ingest/decode/event.ts'
import { NETWORKS } from '../../../ingest/model/networks.ts'
import type { Pool, PoolId } from '../../../ingest/model/pool.ts'
import type { StoredPools } from '../../../ingest/model/stored-pools.ts'
import { Registry } from '../../../ingest/pools/registry.ts'
import type { RpcLog } from '../../../ingest/rpc/rpc.ts'
import { refusal } from '../../support/json-rpc.ts'
import { DAY, madeUpHash } from '../../support/recorded.ts'
import type { Faults, RpcServer } from '../../support/rpc-server.ts'
import { FAST_RETRIES, startNode } from '../over-nodes.ts'

const BLOCKS = DAY.lastBlock - DAY.firstBlock + 1
const MAX_BLOCKS = 50
const WINDOWS = Math.ceil(BLOCKS / MAX_BLOCKS)
const POOLS = 250

const network = {
  ...NETWORKS.ethereum,
  v4: { ...NETWORKS.ethereum.v4, fromBlock: DAY.firstBlock },
}
const USDC = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'
const WETH = '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2'
const idOf = (index: number): PoolId => padHex(numberToHex(index + 1), { size: 32 })

/** In blocks all over the history, the first one in its first block. */
function initializeOf(index: number): RpcLog {
  const block = DAY.firstBlock + Math.floor((index * BLOCKS) / POOLS)
  const words = [500n + BigInt(index), 10n, 0n, 2n ** 96n, 0n].map((word) =>
    padHex(numberToHex(word), { size: 32 }).slice(2),
  )
  return {
    address: network.v4.poolManager.toLowerCase() as RpcLog['address'],
    topics: [V4_TOPICS.initialize, idOf(index), padHex(USDC, { size: 32 }), padHex(WETH, { size: 32 })],
    data: `0x${words.join('')}`,
    blockNumber: numberToHex(block),
    blockHash: madeUpHash(block),
    transactionHash: madeUpHash(block, 3),
    logIndex: numberToHex(2_000 + index),
  }
}

/** A log of some token. */
function transferIn(index: number): RpcLog {
  const block = DAY.firstBlock + index
  return {
    address: USDC,
    topics: [madeUpHash(1, 8)],
    data: '0x',
    blockNumber: numberToHex(block),
    blockHash: madeUpHash(block),
    transactionHash: madeUpHash(block, 4),
    logIndex: '0x1',
  }
}

describe('v4 pools that PositionManager does not know', () => {
  let node: RpcServer
  const head = { number: DAY.lastBlock, hash: madeUpHash(DAY.lastBlock) }

  beforeEach(async () => {
    node = await startNode()
    node.chain.logs = Array.from({ length: POOLS }, (_, index) => initializeOf(index))
    node.faults.maxBlocks = MAX_BLOCKS
  })
  afterEach(() => node.stop())

  const searches = () => node.calls['eth_getLogs'] ?? 0
  const eventsOf = (ids: readonly PoolId[]): PoolEvent[] =>
    ids.map((pool) => ({ kind: 'initialized', pool, sqrtPriceX96: 1n }))

  function registryOn(stored?: StoredPools, nodes = [node]): Registry {
    const urls = nodes.map(({ url }) => url)
    const { endpoints } = connectChain(urls, {
      network,
      headerProof: 'off',
      report: () => {},
      retryPolicy: FAST_RETRIES,
    })
    return new Registry(endpoints, network, stored)
  }

  test('five cost one search through the history', async () => {
    const ids = [0, 1, 2, 3, 4].map(idOf)
    const registry = registryOn()
    expect(await registry.resolvePools(eventsOf(ids), head)).toEqual([])
    expect(ids.map((id) => registry.get(id))).toEqual(
      ids.map((id, index) => ({ kind: 'pool', pool: expect.objectContaining({ id, fee: 500 + index }) as Pool })),
    )
    expect(searches()).toBeLessThan(WINDOWS + 20)
  })

  test('fifty times as many cost a search for each 200', async () => {
    const ids = Array.from({ length: POOLS }, (_, index) => idOf(index))
    const registry = registryOn()
    expect(await registry.resolvePools(eventsOf(ids), head)).toEqual([])
    expect(ids.every((id) => registry.get(id)?.kind === 'pool')).toBe(true)
    expect(searches()).toBeLessThan(2 * WINDOWS + 20)
  })

  test('an uninitialised one is skipped after one search, and the others are found', async () => {
    const registry = registryOn()
    const stranger = idOf(10_000)
    expect(await registry.resolvePools(eventsOf([stranger, idOf(200)]), head)).toEqual([
      { pool: stranger, reason: 'unknown-pool' },
    ])
    expect(registry.get(idOf(200))?.kind).toBe('pool')
    const before = searches()
    await registry.resolvePools(eventsOf([stranger]), head)
    expect(searches()).toBe(before)
  })

  test('stored pools are not looked for', async () => {
    const token = (address: Pool['token0']['address']) => ({ address, symbol: 'T', name: 'T', decimals: 18 })
    const pool: Pool = {
      id: idOf(0),
      protocol: 'dex-v4',
      token0: token(USDC),
      token1: token(WETH),
      fee: 1,
      initialSqrtPriceX96: 0n,
    }
    const registry = registryOn(async (ids) => (ids.includes(pool.id) ? [pool] : []))
    await registry.resolvePools(eventsOf([pool.id]), head)
    expect(registry.get(pool.id)).toEqual({ kind: 'pool', pool })
    expect(node.calls).toEqual({})
  })

  describe('below a cut of the history', () => {
    const CUT = DAY.firstBlock + Math.floor(BLOCKS / 2)
    const gone = refusal(4444, 'pruned history unavailable')
    let sound: RpcServer

    beforeEach(async () => {
      // No block of a real chain is without logs for long.
      node.chain.logs = [...node.chain.logs, ...Array.from({ length: BLOCKS }, (_, index) => transferIn(index))]
      sound = await startNode()
      sound.chain.logs = node.chain.logs
      sound.faults.maxBlocks = MAX_BLOCKS
    })
    afterEach(() => sound.stop())

    const isOldQuery = (params: readonly unknown[]) => Number((params[0] as { fromBlock?: string }).fromBlock) < CUT
    const isOldHeader = (params: readonly unknown[]) => Number(params[0]) < CUT

    test.each<[string, NonNullable<Faults['answer']>]>([
      [
        'logs are empty',
        (method, params) => (method === 'eth_getLogs' && isOldQuery(params) ? { result: [] } : undefined),
      ],
      [
        'logs are empty, headers are null',
        (method, params) => {
          if (method === 'eth_getLogs' && isOldQuery(params)) return { result: [] }
          return method === 'eth_getBlockByNumber' && isOldHeader(params) ? { result: null } : undefined
        },
      ],
      ['logs are refused', (method, params) => (method === 'eth_getLogs' && isOldQuery(params) ? gone : undefined)],
    ])('the log is found at another endpoint where %s, and a newer one at a lone endpoint', async (_, answer) => {
      node.faults.answer = answer
      const both = registryOn(undefined, [node, sound])
      expect(await both.resolvePools(eventsOf([idOf(0)]), head)).toEqual([])
      expect(both.get(idOf(0))?.kind).toBe('pool')
      const alone = registryOn()
      expect(await alone.resolvePools(eventsOf([idOf(0), idOf(200)]), head)).toEqual([
        { pool: idOf(0), reason: 'unknown-pool' },
      ])
      expect(alone.get(idOf(200))?.kind).toBe('pool')
    })

    test('an endpoint that is behind is waited for, for a minute', async () => {
      node.faults.answer = (method, params) => (method === 'eth_getLogs' && isOldQuery(params) ? gone : undefined)
      sound.chain.head = CUT - 100
      const both = registryOn(undefined, [node, sound])
      await expect(both.resolvePools(eventsOf([idOf(0)]), head)).rejects.toThrow('pruned')
      const stays = registryOn(undefined, [node, sound])
      await expect(stays.resolvePools(eventsOf([idOf(0)]), head)).rejects.toThrow('pruned')
      const later = performance.now() + 60_000
      const now = vi.spyOn(performance, 'now').mockReturnValue(later)
      onTestFinished(() => now.mockRestore())
      expect(await stays.resolvePools(eventsOf([idOf(0)]), head)).toEqual([{ pool: idOf(0), reason: 'unknown-pool' }])
      now.mockRestore()
      sound.chain.head = DAY.lastBlock
      expect(await both.resolvePools(eventsOf([idOf(0)]), head)).toEqual([])
      expect(both.get(idOf(0))?.kind).toBe('pool')
    })

    test.each([1, 3, 12])('no pool is skipped for a cut that %i answers tell falsely', async (times) => {
      let left = times
      node.faults.answer = (method, params) =>
        method === 'eth_getLogs' && isOldQuery(params) && left-- > 0 ? gone : undefined
      const registry = registryOn()
      expect(await registry.resolvePools(eventsOf([idOf(0)]), head)).toEqual([])
      expect(registry.get(idOf(0))?.kind).toBe('pool')
    })
  })

  test('a search that fails resumes where it stopped, with what it has found', async () => {
    const registry = registryOn()
    const events = eventsOf([idOf(0), idOf(POOLS - 1)])
    // Its cap is known by then, and half of its windows are read.
    node.faults.onCall = () => {
      if (searches() > WINDOWS / 2) node.faults.nextStatus = new Array<number>(8).fill(500)
    }
    await expect(registry.resolvePools(events, head)).rejects.toThrow('did not answer')
    delete node.faults.onCall
    node.faults.nextStatus = []
    const before = searches()
    expect(before).toBeGreaterThan(WINDOWS / 2)
    expect(await registry.resolvePools(events, head)).toEqual([])
    expect([idOf(0), idOf(POOLS - 1)].map((id) => registry.get(id)?.kind)).toEqual(['pool', 'pool'])
    // The failures halve the width for some windows.
    expect(searches() - before).toBeLessThan(WINDOWS / 2 + 40)
  })
})
