/** The estimate of a backfill against the requests that it then sends to a node with a recorded day, and its limit of requests. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { connectChain } from '../../../infra/rpc/chain-client.ts'
import { backfill } from '../../../ingest/backfill/backfill.ts'
import { type Estimate, estimate } from '../../../ingest/backfill/estimate.ts'
import type { RangeOverwrite } from '../../../ingest/model/message.ts'
import { NETWORKS } from '../../../ingest/model/networks.ts'
import { DAY } from '../../support/recorded.ts'
import { startRecordedDay } from '../../support/recorded-day.ts'
import type { RpcServer } from '../../support/rpc-server.ts'

const FINALIZED = DAY.lastBlock - 40
/** The price of the native currency is found in the blocks before. */
const FIRST = DAY.firstBlock + 500
const network = NETWORKS.ethereum

let node: RpcServer

beforeEach(async () => {
  node = await startRecordedDay({ finalized: FINALIZED })
})

afterEach(() => node.stop())

async function run({ from = FIRST, concurrency = 4, max }: { from?: number; concurrency?: number; max?: number }) {
  const stopping = new AbortController()
  const { signal } = stopping
  let sent = 0
  const report = (fact: { kind: string }) => {
    if (fact.kind === 'rpc-called') sent++
  }
  const { endpoints } = connectChain([node.url], { network, headerProof: 'off', report, signal })
  const read: RangeOverwrite[] = []
  let estimated: (Estimate & { after: number }) | undefined
  const rest = await backfill(endpoints, {
    network,
    job: 1,
    ranges: [{ from, to: FINALIZED }],
    pools: undefined,
    concurrency,
    ...(max !== undefined && { requests: { max, sent: () => sent } }),
    async onEstimate(it) {
      estimated = { ...it, after: sent }
    },
    log: {
      append: async (messages) => void read.push(...messages),
      last: async () => undefined,
      at: async () => undefined,
      async *read() {},
    },
    report,
    signal,
  })
  stopping.abort()
  if (!estimated) throw new Error('There was no estimate.')
  return { estimated, rest, read, sent, ofReading: sent - estimated.after }
}

describe('an estimate', () => {
  test.each([
    ['times in logs', {}],
    ['times in headers', { hideTimestamps: true }],
    ['a limit of 100 blocks', { maxBlocks: 100 }],
    ['a limit of 100 blocks, and times in headers', { maxBlocks: 100, hideTimestamps: true }],
  ])('is within a third of what is sent: %s', async (_, faults) => {
    Object.assign(node.faults, faults)
    const { estimated, ofReading } = await run({})
    expect(estimated.requests).toBeGreaterThan(ofReading / 1.34)
    expect(estimated.requests).toBeLessThan(ofReading * 1.34)
  })

  test('takes a sample of few requests', async () => {
    const { estimated } = await run({})
    expect(estimated.after).toBeLessThan(15)
  })
})

describe('the time of an estimate', () => {
  const sample = { logsPerBlock: 1, headersPerBlock: 0, maxBlocks: 1_000, roundTripMs: 100, msPerLog: 0.1 }
  const ranges = [{ from: 1, to: 1_000_000 }]
  const budget = { perSecond: 25, leftForHistory: Number.POSITIVE_INFINITY, perDayOfHistory: Number.POSITIVE_INFINITY }

  test('is that of round trips and logs, shared by the ranges in flight', () => {
    const { requests, seconds } = estimate(sample, ranges, 4)
    expect(requests).toBeGreaterThan(4_000)
    expect(requests).toBeLessThan(4_050)
    expect(seconds).toBeCloseTo(50, 0)
    expect(estimate(sample, ranges, 8).seconds).toBeCloseTo(25, 0)
  })

  test('is that of the budget where that is slower', () => {
    expect(estimate(sample, ranges, 16, budget).seconds).toBeCloseTo(160, -1)
    const { seconds } = estimate(sample, ranges, 16, { ...budget, leftForHistory: 500, perDayOfHistory: 1_000 })
    // The rest of today, three whole days, and a part of the fifth.
    expect(seconds).toBeGreaterThan(3 * 86_400)
    expect(seconds).toBeLessThan(5 * 86_400)
  })
})

describe('a limit of requests', () => {
  test('ends the reading close to it; what is read is appended without a gap up to the named block', async () => {
    node.faults.maxBlocks = 100
    const { rest, read, sent } = await run({ max: 100 })
    expect(sent).toBeGreaterThan(80)
    expect(sent).toBeLessThanOrEqual(110)
    expect(read.map(({ from }) => from)).toEqual([FIRST, ...read.slice(0, -1).map(({ to }) => to + 1)])
    expect(rest).toBe((read.at(-1)?.to ?? 0) + 1)
    expect(rest).toBeLessThan(FINALIZED)
  })

  test('however small, lets one range be read, so that repeated commands come to the end', async () => {
    const { rest, read } = await run({ max: 1 })
    expect(read).toHaveLength(1)
    expect(rest).toBe((read[0]?.to ?? 0) + 1)
    const last = await run({ from: FINALIZED - 100, max: 1 })
    expect(last.rest).toBeUndefined()
  })
})
