/** A listener over several nodes of one network, each with the faults of real providers: it says what it says over a good one. */
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { connectChain } from '../../infra/chain-client.ts'
import type { IngestFact } from '../../ingest/fact.ts'
import { listen } from '../../ingest/listener.ts'
import { blocksOf, type Message, tipOf } from '../../ingest/message.ts'
import { NETWORKS } from '../../ingest/networks.ts'
import type { Patience } from '../../ingest/patience.ts'
import { type ArrayLog, arrayLog } from '../support/array-log.ts'
import { until } from '../support/candlepool.ts'
import { DAY, madeUpHash } from '../support/recorded.ts'
import { recordedDayChain } from '../support/recorded-day.ts'
import { type RpcServer, startRpcServer } from '../support/rpc-server.ts'

const FROM = DAY.lastBlock - 1_200
const FINALIZED = DAY.lastBlock - 40
const chain = recordedDayChain({ finalized: FINALIZED })
const PATIENCE: Patience = {
  coolDownMs: 20,
  maxCoolDownMs: 80,
  rateLimitMs: 20,
  firstPerSecond: 1_000,
  capMs: 60_000,
  behindMs: 200,
  compareMs: 50,
  random: () => 0.5,
}

let first: RpcServer
let second: RpcServer
let facts: IngestFact[]
let stop: () => Promise<void>
/** What a listener over one node without faults says. */
let clean: unknown[]

beforeAll(async () => {
  const node = await startRpcServer({ ...chain })
  facts = []
  clean = contentOf(await messagesUpTo(DAY.lastBlock, start([node])))
  await stop()
  await node.stop()
})

beforeEach(async () => {
  first = await startRpcServer({ ...chain })
  second = await startRpcServer({ ...chain })
  facts = []
})

afterEach(async () => {
  await stop()
  await Promise.all([first.stop(), second.stop()])
})

function start(nodes: readonly RpcServer[], { timeoutMs = 10_000, path = '', patience = PATIENCE } = {}): ArrayLog {
  const log = arrayLog()
  const stopping = new AbortController()
  const network = NETWORKS.ethereum
  const shared = { network, report: (fact: IngestFact) => void facts.push(fact), signal: stopping.signal }
  const urls = nodes.map(({ url }) => `${url}${path}`)
  const { endpoints } = connectChain(urls, { ...shared, timeoutMs, patience })
  const listening = listen(endpoints, {
    ...shared,
    log,
    stored: { tip: async () => undefined, below: async () => [] },
    start: { kind: 'block', number: FROM },
    pollMs: 10,
  })
  failed = undefined
  listening.catch((error: unknown) => {
    failed = error
  })
  stop = async () => {
    stopping.abort()
    await listening.catch(() => undefined)
  }
  return log
}

let failed: unknown

async function messagesUpTo(block: number, log: ArrayLog): Promise<readonly Message[]> {
  await until(async () => {
    if (failed) throw failed
    const newest = log.messages.at(-1)
    return newest && tipOf(newest).number === block ? true : undefined
  }, `block ${block} is appended`)
  return log.messages
}

/** What was said of the chain, however it was cut into ranges; and that it was said without a gap. */
function contentOf(messages: readonly Message[]): unknown[] {
  let next = FROM
  for (const message of messages) {
    expect(message.kind === 'range' ? message.from : message.number).toBe(next)
    next = tipOf(message).number + 1
  }
  return messages.flatMap((message): unknown[] => (message.kind === 'range' ? [...blocksOf(message)] : [message]))
}

async function expectClean(log: ArrayLog): Promise<void> {
  expect(contentOf(await messagesUpTo(DAY.lastBlock, log))).toEqual(clean)
}

const kindsOf = (endpoint: RpcServer) =>
  facts.flatMap((fact) =>
    fact.kind === 'rpc-failed' && fact.endpoint?.startsWith(new URL(endpoint.url).host) ? [fact.problem] : [],
  )

describe('one of two nodes fails', () => {
  test('both well: only the first one is asked for logs', async () => {
    await expectClean(start([first, second]))
    expect(second.calls['eth_getLogs']).toBeUndefined()
    expect(facts.filter((fact) => fact.kind === 'rpc-failed')).toEqual([])
  })

  test('5xx', async () => {
    first.faults.nextStatus = [500, 502, 503]
    await expectClean(start([first, second]))
    expect(kindsOf(first)).toContain('unreachable')
  })

  test('a connection that is reset', async () => {
    first.faults.reset = true
    await expectClean(start([first, second]))
    expect(kindsOf(first)).toContain('unreachable')
    expect(facts.find((fact) => fact.kind === 'endpoint-cooling')).toMatchObject({
      problem: 'unreachable',
      failures: 1,
    })
  })

  test('a node that is too slow', async () => {
    first.faults.delayMs = 2_000
    const patience = { ...PATIENCE, coolDownMs: 60_000, maxCoolDownMs: 60_000 }
    await expectClean(start([first, second], { timeoutMs: 500, patience }))
    expect(kindsOf(first)).toContain('timeout')
  })

  test('an answer that is not JSON', async () => {
    first.faults.malformedNext = 3
    await expectClean(start([first, second]))
    expect(kindsOf(first)).toContain('malformed')
  })

  test('429 without Retry-After: the other one stands in at once', async () => {
    first.faults.nextStatus = [429, 429]
    await expectClean(start([first, second]))
    expect(kindsOf(first)).toContain('rate-limited')
  })

  test('another chain: it is told once, and never asked for logs', async () => {
    first.chain.chainId = 5
    await expectClean(start([first, second]))
    expect(facts.filter((fact) => fact.kind === 'endpoint-disabled')).toEqual([
      { kind: 'endpoint-disabled', network: 'ethereum', endpoint: new URL(first.url).host, chainId: 5, expected: 1 },
    ])
    expect(first.calls['eth_getLogs']).toBeUndefined()
  })

  test('one that dies in the middle of the catch-up and comes back is asked again', async () => {
    let asked = 0
    first.faults.onCall = (method) => {
      if (method === 'eth_getLogs' && ++asked === 2) first.faults.reset = true
    }
    let whenDead = 0
    second.faults.onCall = (method) => {
      if (method !== 'eth_getLogs') return
      if (++whenDead === 2) {
        first.faults.reset = false
        first.faults.onCall = undefined as never
      }
    }
    const log = start([first, second])
    await expectClean(log)
    expect(kindsOf(first)).toContain('unreachable')
    const before = first.calls['eth_getBlockByNumber'] ?? 0
    await until(
      async () => ((first.calls['eth_getBlockByNumber'] ?? 0) > before + 3 ? true : undefined),
      'the first is asked again',
    )
  })
})

describe('one of two nodes is behind', () => {
  test('it answers `[]` past its own head: that is not believed', async () => {
    // It claims to be at the head, and has blocks up to somewhere in the middle of the final ones.
    first.chain.head = FINALIZED - 300
    first.chain.finalized = FINALIZED - 350
    await expectClean(start([first, second]))
  })

  test('one that stands still without an error is found out by its peers, and said once', async () => {
    first.chain.head = DAY.lastBlock - 10
    const log = start([first, second])
    await expectClean(log)
    expect(facts.find((fact) => fact.kind === 'endpoint-behind')).toMatchObject({
      endpoint: new URL(first.url).host,
      head: DAY.lastBlock - 10,
    })
  })

  test('one that falls behind what was read undoes nothing, whether asked alone or not', async () => {
    const log = start([first, second])
    await expectClean(log)
    second.faults.reset = true
    first.chain.head -= 8
    const before = first.calls['eth_getBlockByNumber'] ?? 0
    await until(
      async () => ((first.calls['eth_getBlockByNumber'] ?? 0) > before + 6 ? true : undefined),
      'the first is asked a few times',
    )
    first.chain.head += 10
    second.faults.reset = false
    await messagesUpTo(DAY.lastBlock + 2, log)
    expect(facts.some((fact) => fact.kind === 'reorg')).toBe(false)
  })
})

describe('one of two nodes lies', () => {
  const isLive = (block: string) => Number(block) > FINALIZED

  test('logs that its own bloom shows, but its answer does not, are asked for elsewhere', async () => {
    first.faults.hideLogs = (log) => isLive(log.blockNumber)
    await expectClean(start([first, second]))
    expect(kindsOf(first)).toContain('contradictory')
  })

  test('two hashes of one block', async () => {
    const { logs } = first.chain
    const twin = logs.find(
      (log, index) => Number(log.blockNumber) > FROM && logs[index + 1]?.blockHash === log.blockHash,
    )
    first.faults.twistLog = (log) => (log === twin ? { ...log, blockHash: madeUpHash(1, 9) } : log)
    await expectClean(start([first, second]))
    expect(kindsOf(first)).toContain('contradictory')
  })

  test('a log that it says is removed', async () => {
    first.faults.twistLog = (log) => ({ ...log, removed: true })
    await expectClean(start([first, second]))
    expect(kindsOf(first)).toContain('contradictory')
  })

  test('logs of another range', async () => {
    first.faults.twistLog = (log) => ({ ...log, blockNumber: '0x1' })
    await expectClean(start([first, second]))
    expect(kindsOf(first)).toContain('contradictory')
  })

  test('logs of another block', async () => {
    first.faults.twistLog = (log) =>
      isLive(log.blockNumber) ? { ...log, blockHash: madeUpHash(Number(log.blockNumber), 9) } : log
    await expectClean(start([first, second]))
    expect(kindsOf(first)).toContain('contradictory')
  })
})

describe('a node alone', () => {
  test('429 with Retry-After is waited out, and every range keeps its width', async () => {
    first.faults.nextStatus = [{ status: 429, headers: { 'retry-after': '1' } }]
    await expectClean(start([first]))
    expect(kindsOf(first)[0]).toBe('rate-limited')
    const [failure] = facts.filter((fact) => fact.kind === 'rpc-failed')
    expect(failure?.retryMs).toBeGreaterThan(500)
    expect(facts.some((fact) => fact.kind === 'range-split')).toBe(false)
  })

  test('429 with a date', async () => {
    const date = new Date(Date.now() + 1_500).toUTCString()
    first.faults.nextStatus = [{ status: 429, headers: { 'retry-after': date } }]
    await expectClean(start([first]))
    expect(facts.some((fact) => fact.kind === 'range-split')).toBe(false)
  })

  test('429 in the middle, without a word on how long, again and again', async () => {
    let asked = 0
    first.faults.onCall = (method) => {
      if (method === 'eth_getLogs' && ++asked % 7 === 0) first.faults.nextStatus.push(429)
    }
    await expectClean(start([first]))
    expect(kindsOf(first)).toContain('rate-limited')
    expect(facts.some((fact) => fact.kind === 'range-split')).toBe(false)
  })

  test('that takes no batches is asked for one thing at a time', async () => {
    first.faults.refuseBatches =
      'Batch of more than 3 requests are not allowed on free plan, to use this feature register paid account'
    await expectClean(start([first]))
  })

  test('is waited for while it is away', async () => {
    let asked = 0
    first.faults.onCall = (method) => {
      if (method !== 'eth_getLogs' || ++asked !== 2) return
      first.faults.reset = true
      setTimeout(() => {
        first.faults.reset = false
      }, 100)
    }
    await expectClean(start([first]))
    expect(kindsOf(first)).toContain('unreachable')
  })

  test('of another chain ends the listener', async () => {
    first.chain.chainId = 5
    start([first])
    await until(async () => (failed ? true : undefined), 'the listener ends')
    expect(failed).toMatchInlineSnapshot(
      `[WrongChain: ETHEREUM_RPC_URL answers as chain 5, but ethereum is chain 1. Point it at a node of ethereum.]`,
    )
  })

  test('a cap on ranges is learnt once, and kept', async () => {
    first.faults.maxBlocks = 200
    const log = start([first])
    await expectClean(log)
    const widths = log.messages.flatMap((message) => (message.kind === 'range' ? [message.to - message.from + 1] : []))
    expect(Math.max(...widths)).toBe(200)
    // The look for the first price learnt it, so that no range was refused.
    expect(facts.some((fact) => fact.kind === 'range-split')).toBe(false)
  })

  test('of two, the one that takes wider ranges is asked for them', async () => {
    first.faults.maxBlocks = 10
    await expectClean(start([first, second]))
    expect(facts.some((fact) => fact.kind === 'range-split')).toBe(false)
  })

  test('a block whose bloom has none of our topics is not asked for its logs', async () => {
    const [log] = first.chain.logs
    const foreign = (block: number) =>
      ({ ...log, blockNumber: `0x${block.toString(16)}`, blockHash: madeUpHash(block), topics: ['0x01'] }) as never
    const logged = new Set(first.chain.logs.map(({ blockNumber }) => Number(blockNumber)))
    const live = Array.from({ length: DAY.lastBlock - FINALIZED }, (_, index) => FINALIZED + 1 + index)
    const quiet = live.filter((block) => !logged.has(block))
    first.chain.logs = [...first.chain.logs, ...quiet.map(foreign)]
    const asked = () => first.calls['eth_getLogs'] ?? 0
    await messagesUpTo(DAY.lastBlock, start([first]))
    const withBlooms = asked()
    await stop()
    first.chain.logs = first.chain.logs.filter((it) => it.topics[0] !== '0x01')
    await messagesUpTo(DAY.lastBlock, start([first]))
    expect(asked() - withBlooms - withBlooms).toBe(quiet.length)
  })
})

test('no fact tells more of an endpoint than its host', async () => {
  first.faults.nextStatus = [401, 429, 500]
  first.faults.malformedNext = 1
  await expectClean(start([first, second], { path: '/v3/a-secret-key' }))
  const told = facts.map((fact) => ('error' in fact ? `${JSON.stringify(fact)} ${(fact.error as Error).stack}` : ''))
  expect(told.join('\n')).toContain('127.0.0.1')
  expect(told.join('\n')).not.toContain('a-secret-key')
})
