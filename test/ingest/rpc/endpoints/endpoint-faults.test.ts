/** The faults of real providers by name: a listener over such nodes says what it says over a good one, and tells of the fault. */
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { IngestFact } from '../../../../ingest/model/fact.ts'
import { DAY } from '../../../support/recorded.ts'
import type { Faults, RpcServer } from '../../../support/rpc-server.ts'
import { drawn } from '../../../support/sample.ts'
import { until } from '../../../support/until.ts'
import { cleanContent, contentOf, FINALIZED, hostOf, type Listening, listenTo, startNode } from '../../over-nodes.ts'

let first: RpcServer
let second: RpcServer
let listening: Listening | undefined
let clean: unknown[]

beforeAll(async () => {
  clean = await cleanContent()
})

beforeEach(async () => {
  first = await startNode()
  second = await startNode()
})

afterEach(async () => {
  await listening?.stop()
  await Promise.all([first.stop(), second.stop()])
})

async function expectCleanOver(...[nodes, options]: Parameters<typeof listenTo>): Promise<Listening> {
  listening = listenTo(nodes, options)
  expect(contentOf(await listening.messagesUpTo(DAY.lastBlock))).toEqual(clean)
  return listening
}

/** For some answers, to batches and to the single calls after them; then the node is well again. */
const times = <Fault>(...faults: Fault[]): Fault[] => Array.from({ length: 6 }, () => faults).flat()

const PASSING: readonly (readonly [name: string, Partial<Faults>, problem: string | undefined])[] = [
  ['429 without Retry-After', { nextStatus: [429, 429, 429] }, 'rate-limited'],
  ['429 with Retry-After', { nextStatus: [{ status: 429, headers: { 'retry-after': '0.5' } }] }, 'rate-limited'],
  ['5xx', { nextStatus: times(500, 502, 503) }, 'unreachable'],
  ['5xx with Retry-After', { nextStatus: [{ status: 503, headers: { 'retry-after': '0.5' } }] }, 'rate-limited'],
  ['a gateway that waited', { nextStatus: times(504) }, 'timeout'],
  ['timeout', { spoilNext: ['silence'] }, 'timeout'],
  ['connection reset', { spoilNext: times('reset') }, 'unreachable'],
  ['truncated answers: the connection ends', { spoilNext: times('cut connection') }, 'unreachable'],
  ['truncated answers: the text ends', { spoilNext: times('cut text') }, 'malformed'],
  ['truncated answers: silence after a half', { spoilNext: ['half, then silence'] }, 'timeout'],
  ['malformed JSON', { malformedNext: 8 }, 'malformed'],
  ['answers of a batch in another order', { shuffleBatches: true }, undefined],
]

describe.each(drawn('faults', PASSING, 5))('%s', (_, faults, problem) => {
  test.each(['one of two nodes', 'a node alone'])('%s with the fault changes no message', async (who) => {
    // Asked only once it has everything to lose: it is being read from, and has been compared with the other.
    let answered = 0
    first.faults.onCall = (method) => {
      if (method === 'eth_getLogs' && ++answered === 3) Object.assign(first.faults, structuredClone(faults))
    }
    const nodes = who === 'a node alone' ? [first] : [first, second]
    const { problemsOf, factsOf } = await expectCleanOver(nodes, {
      timeoutMs: 2_000,
      retryPolicy: { compareMs: 60_000 },
    })
    expect(new Set(problemsOf(first))).toEqual(new Set(problem ? [problem] : []))
    if (problem === undefined || problem === 'rate-limited') return
    const endpoint = hostOf(first)
    expect(factsOf('endpoint-cooling')).toContainEqual(expect.objectContaining({ endpoint, problem }))
    await until(async () => factsOf('endpoint-recovered').find((fact) => fact.endpoint === endpoint), 'it is back')
  })
})

test.each(['first', 'last'] as const)(
  'a node alone whose batches lack the %s answer is read by single calls',
  async (which) => {
    first.faults.shortBatches = which
    const { problemsOf } = await expectCleanOver([first])
    expect(problemsOf(first)).toEqual([])
  },
)

describe('429', () => {
  test('a 429 with Retry-After is waited out for as long as it says', async () => {
    first.faults.nextStatus = [{ status: 429, headers: { 'retry-after': '1' } }]
    const start = performance.now()
    const { factsOf } = await expectCleanOver([first])
    const [failure] = factsOf('rpc-failed')
    expect(failure?.retryMs).toBeGreaterThan(900)
    expect(performance.now() - start).toBeGreaterThan(1_000)
    expect(factsOf('range-split')).toEqual([])
  })

  test('a 429 with a date splits no range', async () => {
    const date = new Date(Date.now() + 1_500).toUTCString()
    first.faults.nextStatus = [{ status: 429, headers: { 'retry-after': date } }]
    const { problemsOf, factsOf } = await expectCleanOver([first])
    expect(problemsOf(first)).toContain('rate-limited')
    expect(factsOf('range-split')).toEqual([])
  })

  test('a 429 without Retry-After, again and again, splits no range', async () => {
    let asked = 0
    first.faults.onCall = (method) => {
      if (method === 'eth_getLogs' && ++asked % 7 === 0) first.faults.nextStatus.push(429)
    }
    const { problemsOf, factsOf } = await expectCleanOver([first])
    expect(problemsOf(first)).toContain('rate-limited')
    expect(factsOf('range-split')).toEqual([])
  })
})

describe('a rate limit', () => {
  const retryPolicy = { minPerSecond: 20, rateLimitMs: 200 }

  test('the rate limit of a node alone is found, and kept to', async () => {
    first.faults.limit = { perSecond: 40 }
    const { problemsOf, factsOf } = await expectCleanOver([first], { retryPolicy })
    expect(new Set(problemsOf(first))).toEqual(new Set(['rate-limited']))
    const calls = Object.values(first.calls).reduce((sum, count) => sum + count, 0)
    expect(first.refused).toBeGreaterThan(0)
    expect(first.refused).toBeLessThan(calls / 2)
    expect(factsOf('range-split')).toEqual([])
  })

  test('the rate limit of one endpoint does not slow the other one down', async () => {
    first.faults.limit = { perSecond: 10, headers: { 'retry-after': '60' } }
    const { problemsOf } = await expectCleanOver([first, second], { retryPolicy })
    expect(problemsOf(first)).toContain('rate-limited')
    expect(problemsOf(second)).toEqual([])
  })
})

describe('a wrong chain id', () => {
  test('one of two nodes with a wrong chain id is reported once, and never asked for logs', async () => {
    first.chain.chainId = 5
    const { factsOf } = await expectCleanOver([first, second])
    expect(factsOf('endpoint-disabled')).toEqual([
      { kind: 'endpoint-disabled', network: 'ethereum', endpoint: hostOf(first), chainId: 5, expected: 1 },
    ])
    expect(first.calls['eth_getLogs']).toBeUndefined()
  })

  test('a wrong chain id of all nodes ends the listener', async () => {
    first.chain.chainId = 5
    second.chain.chainId = 137
    listening = listenTo([first, second])
    await expect(listening.messagesUpTo(DAY.lastBlock)).rejects.toThrowErrorMatchingInlineSnapshot(
      `[WrongChain: ETHEREUM_RPC_URL answers as chain 137, but ethereum is chain 1. Point it at a node of ethereum.]`,
    )
    expect(listening.factsOf('endpoint-disabled').map((fact) => fact.chainId)).toEqual([5, 137])
    expect([first, second].map(({ calls }) => calls['eth_getLogs'])).toEqual([undefined, undefined])
  })
})

describe('a lagging node', () => {
  test('a node that stands still without an error is found out by its peers, and said once', async () => {
    first.chain.head = DAY.lastBlock - 10
    const { factsOf } = await expectCleanOver([first, second])
    expect(factsOf('endpoint-behind')[0]).toMatchObject({ endpoint: hostOf(first), head: DAY.lastBlock - 10 })
  })

  test('a node that has caught up is the preferred one again', async () => {
    first.chain.head = DAY.lastBlock - 10
    const { messagesUpTo } = await expectCleanOver([first, second])
    let head = DAY.lastBlock
    await until(async () => {
      const before = second.calls['eth_getLogs']
      first.chain.head = second.chain.head = ++head
      await messagesUpTo(head)
      return second.calls['eth_getLogs'] === before ? true : undefined
    }, 'a new block is told by the first')
  })

  test('a node that falls behind what was read undoes nothing, whether asked alone or not', async () => {
    const { messagesUpTo, factsOf } = await expectCleanOver([first, second])
    second.faults.reset = true
    first.chain.head -= 8
    const before = first.calls['eth_getBlockByNumber'] ?? 0
    await until(async () => (first.calls['eth_getBlockByNumber'] ?? 0) > before + 6 || undefined, 'the first is asked')
    first.chain.head += 10
    second.faults.reset = false
    await messagesUpTo(DAY.lastBlock + 2)
    expect(factsOf('reorg')).toEqual([])
  })
})

test('a node alone that lacks a block is named with the request, and is behind no other', async () => {
  const { facts, factsOf } = await expectCleanOver([first])
  first.chain.head -= 8
  const failed = await until(
    async () => factsOf('rpc-failed').find(({ problem }) => problem === 'behind'),
    'it is named',
  )
  expect(failed).toMatchObject({ endpoint: hostOf(first) })
  expect(facts.filter(({ kind }) => kind === 'endpoint-behind')).toEqual([])
})

test('a failed request is named with its method and its blocks', async () => {
  first.faults.onCall = (method) => {
    if (method === 'eth_getLogs') first.faults.nextStatus = [500]
  }
  const { factsOf } = await expectCleanOver([first, second])
  expect(factsOf('rpc-failed')[0]).toMatchObject({
    endpoint: hostOf(first),
    method: expect.stringMatching(/^eth_/),
    blocks: expect.stringMatching(/^\d+( to \d+)?$/),
    error: { message: expect.stringMatching(/ did not answer eth_\w+ of blocks? \d+( to \d+)? \(unreachable\): /) },
  })
})

test('empty answers past the head of a node are not believed', async () => {
  // It claims to be at the head, and has blocks up to somewhere in the middle of the final ones.
  first.chain.head = FINALIZED - 300
  first.chain.finalized = FINALIZED - 350
  const { factsOf } = await expectCleanOver([first, second])
  expect(factsOf('endpoint-behind')[0]).toMatchObject({ endpoint: hostOf(first) })
})

describe('failover', () => {
  test('the first of two sound nodes alone is asked for logs', async () => {
    const { factsOf } = await expectCleanOver([first, second])
    expect(second.calls['eth_getLogs']).toBeUndefined()
    expect(factsOf('rpc-failed')).toEqual([])
  })

  test('a node that dies in the middle of the catch-up and comes back is the preferred one again', async () => {
    let asked = 0
    first.faults.onCall = (method) => {
      if (method === 'eth_getLogs' && ++asked === 2) first.faults.reset = true
    }
    let whenDead = 0
    second.faults.onCall = (method) => {
      if (method === 'eth_getLogs' && ++whenDead === 2) first.faults.reset = false
    }
    const { facts, messagesUpTo } = await expectCleanOver([first, second])
    const isOfFirst = (fact: IngestFact) => 'endpoint' in fact && fact.endpoint === hostOf(first)
    const kinds = () => [...new Set(facts.filter(isOfFirst).map((fact) => fact.kind))]
    await until(async () => kinds().includes('endpoint-recovered') || undefined, 'the first is back')
    expect(kinds()).toEqual(['rpc-called', 'rpc-erred', 'rpc-failed', 'endpoint-cooling', 'endpoint-recovered'])
    // New blocks are the first one's to tell.
    const before = second.calls['eth_getLogs']
    first.chain.head = second.chain.head = DAY.lastBlock + 3
    await messagesUpTo(DAY.lastBlock + 3)
    expect(second.calls['eth_getLogs']).toBe(before)
  })

  test('nodes that are all dead are waited for', async () => {
    first.faults.reset = second.faults.reset = true
    setTimeout(() => {
      second.faults.reset = false
    }, 300)
    const { problemsOf } = await expectCleanOver([first, second])
    expect([first, second].map((node) => problemsOf(node)[0])).toEqual(['unreachable', 'unreachable'])
  })
})
