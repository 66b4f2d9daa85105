/** A listener over nodes that lie, and over nodes with limits of their own: it says what it says over a good one. */
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { DAY, madeUpHash } from '../../../support/recorded.ts'
import type { RpcServer } from '../../../support/rpc-server.ts'
import { cleanContent, contentOf, FINALIZED, FROM, type Listening, listenTo, startNode } from '../../over-nodes.ts'

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

describe('one of two nodes lies', () => {
  const isLive = (block: string) => Number(block) > FINALIZED

  test('logs that its own bloom shows, but its answer does not, are asked for elsewhere', async () => {
    first.faults.hideLogs = (log) => isLive(log.blockNumber)
    const { problemsOf } = await expectCleanOver([first, second])
    expect(problemsOf(first)).toContain('contradictory')
  })

  test('two hashes of one block are a contradiction', async () => {
    const { logs } = first.chain
    const twin = logs.find(
      (log, index) => Number(log.blockNumber) > FROM && logs[index + 1]?.blockHash === log.blockHash,
    )
    first.faults.twistLog = (log) => (log === twin ? { ...log, blockHash: madeUpHash(1, 9) } : log)
    const { problemsOf } = await expectCleanOver([first, second])
    expect(problemsOf(first)).toContain('contradictory')
  })

  test('a log that is marked as removed is a contradiction', async () => {
    first.faults.twistLog = (log) => ({ ...log, removed: true })
    const { problemsOf } = await expectCleanOver([first, second])
    expect(problemsOf(first)).toContain('contradictory')
  })

  test('logs of another range are a contradiction', async () => {
    first.faults.twistLog = (log) => ({ ...log, blockNumber: '0x1' })
    const { problemsOf } = await expectCleanOver([first, second])
    expect(problemsOf(first)).toContain('contradictory')
  })

  test('logs of another block are a contradiction', async () => {
    first.faults.twistLog = (log) =>
      isLive(log.blockNumber) ? { ...log, blockHash: madeUpHash(Number(log.blockNumber), 9) } : log
    const { problemsOf } = await expectCleanOver([first, second])
    expect(problemsOf(first)).toContain('contradictory')
  })
})

describe('a node alone', () => {
  test('a node that takes no batches is asked for one thing at a time', async () => {
    first.faults.refuseBatches =
      'Batch of more than 3 requests are not allowed on free plan, to use this feature register paid account'
    await expectCleanOver([first])
  })

  test('a cap on ranges is learnt once, and kept', async () => {
    first.faults.maxBlocks = 200
    const { log, factsOf } = await expectCleanOver([first])
    const widths = log.messages.flatMap((message) => (message.kind === 'range' ? [message.to - message.from + 1] : []))
    expect(Math.max(...widths)).toBe(200)
    // The look for the first price learnt it, so that no range was refused.
    expect(factsOf('range-split')).toEqual([])
  })

  test('the one of two capped nodes that takes wider ranges is asked for them', async () => {
    first.faults.maxBlocks = 10
    const { factsOf } = await expectCleanOver([first, second])
    expect(factsOf('range-split')).toEqual([])
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
    const listenAgain = async () => {
      await listening?.stop()
      listening = listenTo([first])
      await listening.messagesUpTo(DAY.lastBlock)
    }
    await listenAgain()
    const withBlooms = asked()
    first.chain.logs = first.chain.logs.filter((it) => it.topics[0] !== '0x01')
    await listenAgain()
    expect(asked() - withBlooms - withBlooms).toBe(quiet.length)
  })
})

test('no fact tells more of an endpoint than its host', async () => {
  first.faults.nextStatus = [401, 429, 500]
  first.faults.malformedNext = 1
  const { facts } = await expectCleanOver([first, second], { path: '/v3/a-secret-key' })
  const told = facts.map((fact) => ('error' in fact ? `${JSON.stringify(fact)} ${(fact.error as Error).stack}` : ''))
  expect(told.join('\n')).toContain('127.0.0.1')
  expect(told.join('\n')).not.toContain('a-secret-key')
})
