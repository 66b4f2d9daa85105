/** A listener over one endpoint with a limit or an oddity of real providers: it says what it says over a good one. */
import { type Hex, numberToHex } from 'viem'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { V4_TOPICS } from '../../../ingest/decode/decode-v4.ts'
import { NETWORKS } from '../../../ingest/model/networks.ts'
import { type Outcome, refusal } from '../../support/json-rpc.ts'
import { DAY, DAY_POOL, madeUpHash, recordedDay } from '../../support/recorded.ts'
import type { RpcServer } from '../../support/rpc-server.ts'
import { drawn } from '../../support/sample.ts'
import { until } from '../../support/until.ts'
import { cleanContent, contentOf, FINALIZED, FROM, hostOf, type Listening, listenTo, startNode } from '../over-nodes.ts'

const recorded = recordedDay()
let node: RpcServer
let listening: Listening | undefined
let clean: unknown[]

beforeAll(async () => {
  clean = await cleanContent()
})

beforeEach(async () => {
  node = await startNode()
})

afterEach(async () => {
  await listening?.stop()
  await node.stop()
})

async function expectClean(options?: Parameters<typeof listenTo>[1]): Promise<Listening> {
  listening = listenTo([node], { timeoutMs: 20_000, ...options })
  expect(contentOf(await listening.messagesUpTo(DAY.lastBlock))).toEqual(clean)
  return listening
}

type Query = { fromBlock?: string; toBlock?: string; blockHash?: string; address?: string[]; topics?: string[][] }

const widthOf = ({ fromBlock, toBlock }: Query) => Number(toBlock) - Number(fromBlock) + 1

/** Answers `eth_getLogs` where the refusal has none. */
function refuseLogs(refuse: (query: Query) => Outcome | undefined): void {
  node.faults.answer = (method, [query]) => (method === 'eth_getLogs' ? refuse(query as Query) : undefined)
}

/** Blocks below the cut are gone: their headers and logs are refused, or missing. */
function prune(cut: () => number, how: 'refused' | 'null'): void {
  node.faults.answer = (method, params) => {
    const gone = refusal(4444, 'pruned history unavailable')
    if (method === 'eth_getBlockByNumber' && String(params[0]).startsWith('0x') && Number(params[0]) < cut()) {
      return how === 'null' ? { result: null } : gone
    }
    if (method !== 'eth_getLogs') return undefined
    const { fromBlock } = params[0] as Query
    if (!fromBlock || Number(fromBlock) >= cut()) return undefined
    return how === 'null' ? refusal(-32000, `block not found ${Number(fromBlock)}`) : gone
  }
}

describe.each(['refused', 'null'] as const)('expired history, %s', (how) => {
  test('reading begins at the oldest block above START, which is said once', async () => {
    prune(() => FROM, how)
    const { factsOf } = await expectClean({ start: { kind: 'seconds-ago', seconds: 86_400 } })
    expect(factsOf('start-moved')).toEqual([
      { kind: 'start-moved', network: 'ethereum', wanted: undefined, firstBlock: FROM },
    ])
  })

  test('reading begins at the oldest block above a START by number', async () => {
    prune(() => FROM, how)
    const { factsOf } = await expectClean({ start: { kind: 'block', number: 17_000_000 } })
    expect(factsOf('start-moved')).toMatchObject([{ wanted: 17_000_000, firstBlock: FROM }])
  })

  test('a cut below START moves nothing, and the price before it is found where it is', async () => {
    prune(() => FROM - 300, how)
    const { factsOf } = await expectClean({ start: { kind: 'block', number: FROM } })
    expect(factsOf('start-moved')).toEqual([])
  })
})

test('a price below the cut is unknown until the first swap, and everything else is as without', async () => {
  prune(() => FROM, 'refused')
  listening = listenTo([node], { timeoutMs: 20_000 })
  const told = contentOf(await listening.messagesUpTo(DAY.lastBlock))
  // The pool is its own reference: its first swap counts for itself.
  expect(told).toEqual(clean)
})

test('a cut that overtakes the listener is said in one sentence, and its end is recovered from', async () => {
  let cut = 0
  prune(() => cut, 'refused')
  let asked = 0
  node.faults.onCall = (method) => {
    if (method === 'eth_getLogs' && ++asked === 3) cut = FINALIZED
  }
  listening = listenTo([node], { timeoutMs: 20_000 })
  const { factsOf } = listening
  await until(async () => factsOf('reading-blocked')[0], 'it is said')
  expect(factsOf('reading-blocked')).toMatchObject([{ problem: 'pruned' }])
  expect(factsOf('reading-blocked')[0]?.advice).toMatch(
    /^127\.0\.0\.1:\d+ does not have block \d+ and its logs any more: name an endpoint with older blocks in ETHEREUM_RPC_URL\.$/,
  )
  cut = 0
  expect(contentOf(await listening.messagesUpTo(DAY.lastBlock))).toEqual(clean)
})

test('two nodes behind one address, of which one is pruned, begin where START says', async () => {
  let turn = 0
  node.faults.breakRequest = () => {
    turn++
    return undefined
  }
  prune(() => (turn % 3 === 0 ? FINALIZED - 20 : 0), 'refused')
  const { factsOf } = await expectClean()
  expect(factsOf('start-moved')).toEqual([])
})

describe('implausible finality', () => {
  const low = () => {
    node.chain.finalized = FINALIZED - 300_000
  }

  test('implausible finality is waited out: an empty store begins where START says', async () => {
    low()
    listening = listenTo([node], { timeoutMs: 20_000 })
    const { factsOf, log } = listening
    await until(async () => factsOf('reading-blocked')[0], 'it is said')
    expect(log.messages).toEqual([])
    node.chain.finalized = FINALIZED
    expect(contentOf(await listening.messagesUpTo(DAY.lastBlock))).toEqual(clean)
  })

  test('finality that stays implausible counts as lost: START holds, and nothing becomes final', async () => {
    low()
    listening = listenTo([node], { timeoutMs: 20_000, retryPolicy: { finalityLostMs: 300 } })
    const messages = await listening.messagesUpTo(DAY.lastBlock)
    expect(messages[0]).toMatchObject({ kind: 'range', from: FROM, finalized: 0 })
    expect(messages.at(-1)).toMatchObject({ kind: 'block', finalized: 0 })
  })

  test('implausible finality after a plausible one lowers nothing', async () => {
    const { messagesUpTo } = await expectClean()
    low()
    node.chain.head += 3
    expect((await messagesUpTo(DAY.lastBlock + 3)).at(-1)).toMatchObject({ finalized: FINALIZED })
  })
})

describe('ranges of more than 40 blocks fail with', () => {
  const ERRORS = [
    ['-32001', refusal(-32001, 'Unable to complete request at this time')],
    ['-32001, not found', refusal(-32001, 'Resource not found')],
    ['-32603', refusal(-32603, 'Internal error')],
    ['-32000', refusal(-32000, 'request timed out')],
    ['-32602', refusal(-32602, 'Invalid params')],
    ['null', { result: null }],
  ] as const
  test.each(drawn('errors of wide ranges', ERRORS, 2))(
    '%s',
    async (_, outcome) => {
      refuseLogs((query) => (widthOf(query) > 40 ? outcome : undefined))
      const { log, factsOf } = await expectClean()
      const widths = log.messages.flatMap((it) => (it.kind === 'range' ? [it.to - it.from + 1] : []))
      expect(Math.max(...widths)).toBeLessThanOrEqual(40)
      expect(factsOf('range-split').length).toBeLessThan(30)
    },
    60_000,
  )

  test.each(drawn('failures of wide ranges', [500, 502, 503, 504, 413, 'reset'] as const, 2))(
    'HTTP %s',
    async (status) => {
      node.faults.breakRequest = (calls) =>
        calls.some(({ method, params }) => method === 'eth_getLogs' && widthOf(params[0] as Query) > 40)
          ? status
          : undefined
      await expectClean()
    },
    60_000,
  )
})

test('a burst of failures that narrows ranges to a few blocks is over soon: the rest is read by wide ones', async () => {
  let isWell = false
  node.faults.breakRequest = (calls) => {
    const queries = calls.flatMap(({ method, params }) => (method === 'eth_getLogs' ? (params[0] as Query) : []))
    // The search for a price before the first block is no part of it.
    const widths = queries.filter(({ fromBlock }) => Number(fromBlock) >= FROM).map(widthOf)
    isWell ||= widths.some((width) => width > 1 && width <= 8)
    return isWell || !widths.some((width) => width > 8) ? undefined : 500
  }
  const { log } = await expectClean()
  const widths = log.messages.flatMap((it) => (it.kind === 'range' ? [it.to - it.from + 1] : []))
  const narrow = widths.findIndex((width) => width <= 8)
  expect(narrow).not.toBe(-1)
  expect(Math.max(...widths.slice(narrow))).toBeGreaterThan(16)
})

describe('a single block that fails', () => {
  const heavy = numberToHex(Number([...new Set(recordedBlocks())][3]))

  test('a block that fails by its number is read by its hash', async () => {
    refuseLogs(({ fromBlock, toBlock }) =>
      Number(fromBlock) <= Number(heavy) && Number(toBlock) >= Number(heavy)
        ? refusal(-32603, 'Internal error')
        : undefined,
    )
    await expectClean()
  })

  test('a block that fails with more than one topic is read by each', async () => {
    refuseLogs(({ fromBlock, toBlock, blockHash, topics }) => {
      if (blockHash) return blockHash === hashAt(heavy) ? refusal(-32603, 'Internal error') : undefined
      const isMeant = Number(fromBlock) <= Number(heavy) && Number(toBlock) >= Number(heavy)
      return isMeant && (topics?.[0]?.length ?? 0) > 1 ? refusal(-32603, 'Internal error') : undefined
    })
    await expectClean()
  })
})

function recordedBlocks(): string[] {
  return recordedLogs().map((log) => log.blockNumber)
}

function recordedLogs() {
  return recorded.filter((log) => Number(log.blockNumber) > FROM && Number(log.blockNumber) < FINALIZED)
}

function hashAt(block: string): string | undefined {
  return recordedLogs().find((log) => log.blockNumber === block)?.blockHash
}

describe('a filter takes few addresses', () => {
  const made = (count: number) => Array.from({ length: count }, (_, index) => numberToHex(index + 1, { size: 20 }))

  test.each([
    ['exceed max addresses or topics per search position', 1_000, 10_000],
    ['exceed max addresses: 30', 30, 100],
    ['Invalid params', 100, 300],
  ])('%s', async (message, max, count) => {
    refuseLogs(({ address = [] }) => (address.length > max ? refusal(-32602, message) : undefined))
    await expectClean({ pools: new Set([...made(count), DAY_POOL]) })
  })
})

test('POOLS leaves other pools of PoolManager unresolved', async () => {
  const other = recordedLogs()[0]
  if (!other) throw new Error('The day has logs.')
  const words = [-5n, 5n, 2n ** 96n, 7n, 0n, 500n].map((word) => numberToHex(BigInt.asUintN(256, word), { size: 32 }))
  node.faults.inventLogs = [
    {
      ...other,
      address: NETWORKS.ethereum.v4.poolManager.toLowerCase() as Hex,
      topics: [V4_TOPICS.swap, madeUpHash(7), madeUpHash(8)],
      data: `0x${words.map((word) => word.slice(2)).join('')}`,
      logIndex: numberToHex(5_000),
    },
  ]
  const { factsOf } = await expectClean({ pools: new Set([DAY_POOL]) })
  expect(factsOf('pool-skipped')).toEqual([])
  expect(factsOf('log-broken')).toEqual([])
})

describe('logs by block hash', () => {
  test('are refused: they are read by number, and refused once', async () => {
    let refused = 0
    refuseLogs(({ blockHash }) => {
      if (!blockHash) return undefined
      refused += 1
      return refusal(-32602, 'invalid params: blockHash')
    })
    const { factsOf } = await expectClean()
    expect(refused).toBeLessThan(20)
    expect(factsOf('endpoint-oddity')).toMatchObject([{ endpoint: hostOf(node), oddity: 'no-logs-by-hash' }])
  })

  test('are answered empty', async () => {
    refuseLogs(({ blockHash }) => (blockHash ? { result: [] } : undefined))
    await expectClean()
  })

  test('are unknown', async () => {
    refuseLogs(({ blockHash }) => (blockHash ? refusal(-32000, 'unknown block') : undefined))
    await expectClean()
  })
})

describe('a log that comes twice', () => {
  test('a second log that is the same in all fields counts once, and is said once', async () => {
    const { logs } = node.chain
    node.faults.inventLogs = logs.filter((_, index) => index % 50 === 0).map((log) => structuredClone(log))
    const { factsOf } = await expectClean()
    expect(factsOf('endpoint-oddity')).toMatchObject([{ oddity: 'duplicate-logs' }])
  })

  test('a second log with other data is refused', async () => {
    const twin = node.chain.logs.find((log) => Number(log.blockNumber) > FROM)
    if (!twin) throw new Error('The day has logs.')
    node.faults.inventLogs = [{ ...twin, transactionHash: madeUpHash(1, 2) }]
    listening = listenTo([node], { timeoutMs: 20_000 })
    const { problemsOf } = listening
    await until(async () => problemsOf(node).find((problem) => problem === 'contradictory'), 'it is refused')
  })
})
