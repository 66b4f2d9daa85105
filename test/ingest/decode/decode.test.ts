import { type Abi, type AbiEvent, encodeAbiParameters, encodeEventTopics, parseAbi, parseEventLogs } from 'viem'
import { describe, expect, test } from 'vitest'
import { decodeV3, V3_TOPICS } from '../../../ingest/decode/decode-v3.ts'
import { decodeV4, V4_TOPICS } from '../../../ingest/decode/decode-v4.ts'
import { NETWORKS } from '../../../ingest/model/networks.ts'
import type { RpcLog } from '../../../ingest/rpc/rpc.ts'
import { recordedBlock, recordedDay } from '../../support/recorded.ts'

const v3Abi = parseAbi([
  'event Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick)',
  'event Mint(address sender, address indexed owner, int24 indexed tickLower, int24 indexed tickUpper, uint128 amount, uint256 amount0, uint256 amount1)',
  'event Burn(address indexed owner, int24 indexed tickLower, int24 indexed tickUpper, uint128 amount, uint256 amount0, uint256 amount1)',
])
const v4Abi = parseAbi([
  'event Swap(bytes32 indexed id, address indexed sender, int128 amount0, int128 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick, uint24 fee)',
])
const { v3, v4 } = NETWORKS.ethereum
const createdAbi = parseAbi([
  'event PoolCreated(address indexed token0, address indexed token1, uint24 indexed fee, int24 tickSpacing, address pool)',
  'event Initialize(bytes32 indexed id, address indexed currency0, address indexed currency1, uint24 fee, int24 tickSpacing, address hooks, uint160 sqrtPriceX96, int24 tick)',
  'event ModifyLiquidity(bytes32 indexed id, address indexed sender, int24 tickLower, int24 tickUpper, int256 liquidityDelta, bytes32 salt)',
])

/** A log as viem encodes it; `values` in the order of the event. */
function logOf(eventName: string, values: readonly unknown[], address: RpcLog['address']): RpcLog {
  const { inputs } = createdAbi.find(({ name }) => name === eventName) as AbiEvent
  const named = Object.fromEntries(inputs.map(({ name }, index) => [name, values[index]]))
  const unindexed = inputs.filter(({ indexed }) => !indexed)
  return {
    ...(recordedDay()[0] as RpcLog),
    address,
    topics: encodeEventTopics({ abi: createdAbi, eventName, args: named } as never) as RpcLog['topics'],
    data: encodeAbiParameters(
      unindexed,
      unindexed.map(({ name }) => named[name ?? '']),
    ),
  }
}

const [ONE, TWO, HOOK] = ['1', '2', '3'].map((digit) => `0x${digit.repeat(40)}` as const)
const ID = `0x${'ab'.repeat(32)}`

/** The event according to viem's decoder. */
function byViem(abi: Abi, log: RpcLog) {
  const [parsed] = parseEventLogs({ abi, logs: [log as never] }) as unknown as {
    eventName: string
    args: Record<string, unknown>
  }[]
  return parsed
}

describe('a recorded block with swaps of v3 and v4', () => {
  const { logs } = recordedBlock()
  const ofV4 = logs.filter((log) => log.topics[0] === V4_TOPICS.swap)
  const ofV3 = logs.filter((log) => log.topics[0] === V3_TOPICS.swap)

  test('holds 13 swaps of v3 and 2 of v4', () => {
    expect([ofV3.length, ofV4.length]).toEqual([13, 2])
  })

  test('v3 swaps decode as viem decodes them, with amounts turned to the taker', () => {
    for (const log of ofV3) {
      const args = byViem(v3Abi, log)?.args
      expect(decodeV3(log, v3.factory)).toEqual({
        kind: 'swap',
        pool: log.address.toLowerCase(),
        logIndex: Number(log.logIndex),
        transactionHash: log.transactionHash,
        sender: String(args?.['sender']).toLowerCase(),
        amount0: -(args?.['amount0'] as bigint),
        amount1: -(args?.['amount1'] as bigint),
        sqrtPriceX96: args?.['sqrtPriceX96'],
        liquidity: args?.['liquidity'],
        poolTick: args?.['tick'],
        fee: undefined,
      })
      expect(decodeV4(log, v4.poolManager)).toBeUndefined()
    }
  })

  test('v4 swaps decode as viem decodes them, with amounts as they are', () => {
    for (const log of ofV4) {
      const args = byViem(v4Abi, log)?.args
      expect(decodeV4(log, v4.poolManager)).toEqual({
        kind: 'swap',
        pool: log.topics[1],
        logIndex: Number(log.logIndex),
        transactionHash: log.transactionHash,
        sender: String(args?.['sender']).toLowerCase(),
        amount0: args?.['amount0'],
        amount1: args?.['amount1'],
        sqrtPriceX96: args?.['sqrtPriceX96'],
        liquidity: args?.['liquidity'],
        poolTick: args?.['tick'],
        fee: args?.['fee'],
      })
    }
  })

  test('one transaction that buys on v3 what it sells on v4 says so in both', () => {
    const both = logs.filter((log) => log.transactionHash.startsWith('0x81728f20'))
    const usdcWeth = both.find((log) => log.address === '0xe0554a476a092703abdb3ef35c80e0d76d32939f')
    const ethUsdc = both.find((log) => log.topics[1]?.startsWith('0x21c67e'))
    expect(usdcWeth && decodeV3(usdcWeth, v3.factory)).toMatchObject({ amount0: 2549977996n })
    expect(ethUsdc && decodeV4(ethUsdc, v4.poolManager)).toMatchObject({ amount1: -2549977984n })
  })

  test('a v4 log of another contract says nothing', () => {
    for (const log of ofV4) expect(decodeV4({ ...log, address: v3.factory }, v4.poolManager)).toBeUndefined()
  })
})

describe('the creation of a pool', () => {
  test('counts in v3 where the factory emits it, and where another contract does, it says nothing', () => {
    const created = logOf('PoolCreated', [ONE, TWO, 500, 10, HOOK], v3.factory)
    expect(decodeV3(created, v3.factory)).toMatchObject({ kind: 'created', pool: HOOK, currency0: ONE, fee: 500 })
    expect(decodeV3({ ...created, address: TWO as RpcLog['address'] }, v3.factory)).toBeUndefined()
  })

  test('has the hook and the first price of a v4 pool', () => {
    const created = logOf('Initialize', [ID, ONE, TWO, 3_000, 60, HOOK, 7n << 96n, 5], v4.poolManager)
    const expected = { kind: 'created', pool: ID, currency0: ONE, currency1: TWO, fee: 3_000, hooks: HOOK }
    expect(decodeV4(created, v4.poolManager)).toEqual({ ...expected, sqrtPriceX96: 7n << 96n })
  })
})

test('a v4 position grows and shrinks by signed amounts, between signed ticks', () => {
  for (const liquidityDelta of [-(10n ** 20n), 10n ** 20n]) {
    const log = logOf('ModifyLiquidity', [ID, ONE, -887_220, -60, liquidityDelta, ID], v4.poolManager)
    expect(decodeV4(log, v4.poolManager)).toMatchObject({ tickLower: -887_220, tickUpper: -60, liquidityDelta })
  }
})

describe('a recorded day of one v3 pool', () => {
  test('every swap, mint and burn decodes as viem decodes it', () => {
    const counts = { swap: 0, liquidity: 0, other: 0 }
    for (const log of recordedDay()) {
      const decoded = decodeV3(log, v3.factory)
      const parsed = byViem(v3Abi, log)
      if (decoded?.kind === 'swap') {
        counts.swap += 1
        expect(decoded.amount0).toBe(-(parsed?.args['amount0'] as bigint))
        expect(decoded.poolTick).toBe(parsed?.args['tick'])
        expect(decoded.sqrtPriceX96).toBe(parsed?.args['sqrtPriceX96'])
      } else if (decoded?.kind === 'liquidity') {
        counts.liquidity += 1
        const amount = parsed?.args['amount'] as bigint
        expect(decoded).toMatchObject({
          tickLower: parsed?.args['tickLower'],
          tickUpper: parsed?.args['tickUpper'],
          liquidityDelta: parsed?.eventName === 'Burn' ? -amount : amount,
        })
      } else counts.other += 1
    }
    expect(counts).toEqual({ swap: 6046, liquidity: 123, other: 65 })
  })
})

describe('a log that only resembles a pool event', () => {
  const [swap] = recordedDay().filter((log) => log.topics[0] === V3_TOPICS.swap)

  test('is broken where words are missing', () => {
    const cut = { ...(swap as RpcLog), data: (swap as RpcLog).data.slice(0, 2 + 64 * 4) as `0x${string}` }
    expect(decodeV3(cut, v3.factory)).toMatchInlineSnapshot(`
      {
        "kind": "broken",
        "reason": "v3 Swap with 3 topics and 128 bytes of data",
      }
    `)
  })

  test('is broken where a topic is not a word', () => {
    const [topic, , recipient] = (swap as RpcLog).topics as [`0x${string}`, `0x${string}`, `0x${string}`]
    expect(decodeV3({ ...(swap as RpcLog), topics: [topic, '0x12', recipient] }, v3.factory)?.kind).toBe('broken')
  })

  test('is broken where its parameters are not indexed as ours are', () => {
    const [topic] = (swap as RpcLog).topics
    expect(decodeV3({ ...(swap as RpcLog), topics: [topic as `0x${string}`] }, v3.factory)?.kind).toBe('broken')
    const topics = [...(swap as RpcLog).topics, topic] as RpcLog['topics']
    expect(decodeV3({ ...(swap as RpcLog), topics }, v3.factory)?.kind).toBe('broken')
  })

  test('says nothing where its topic is unknown or missing', () => {
    expect(decodeV3({ ...(swap as RpcLog), topics: [] }, v3.factory)).toBeUndefined()
    expect(decodeV4({ ...(swap as RpcLog), topics: [] }, v4.poolManager)).toBeUndefined()
  })
})
