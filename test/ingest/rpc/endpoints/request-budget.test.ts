/** The request budget of a network in virtual time: order and pace within a second, the reserve within a day. */
import { setMaxListeners } from 'node:events'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { IngestFact } from '../../../../ingest/model/fact.ts'
import type { Priority } from '../../../../ingest/rpc/endpoints/rate-limiter.ts'
import { type BudgetLimits, RequestBudget, type RequestCount } from '../../../../ingest/rpc/endpoints/request-budget.ts'

const NOON = Date.UTC(2026, 10, 24, 12)
const MIDNIGHT = Date.UTC(2026, 10, 25)
const { signal } = new AbortController()
setMaxListeners(0, signal)

let facts: IngestFact[]
let days: Map<string, number>
let claims: number

beforeEach(() => {
  vi.useFakeTimers({ now: NOON })
  facts = []
  days = new Map()
  claims = 0
})

afterEach(() => {
  vi.useRealTimers()
})

const count: RequestCount = {
  async add(day, requests) {
    claims++
    days.set(day, (days.get(day) ?? 0) + requests)
    return days.get(day) ?? 0
  },
}

function open(limits: Partial<BudgetLimits>): RequestBudget {
  const all = { perSecond: undefined, perDay: undefined, ...limits }
  return new RequestBudget('ethereum', all, count, (fact) => void facts.push(fact))
}

/** When each request is sent, in ms from now on. */
function sendTimes(budget: RequestBudget, requests: number, priority: Priority): Promise<number[]> {
  const start = Date.now()
  const sent = async () => {
    await budget.take(signal, priority)
    return Date.now() - start
  }
  return Promise.all(Array.from({ length: requests }, sent))
}

const kinds = () => facts.map(({ kind }) => kind).filter((kind) => kind !== 'budget-counted')

describe('a budget of a second', () => {
  test('sends no more than its number in any second; requests wait, and none is dropped', async () => {
    const sent = sendTimes(open({ perSecond: 25 }), 100, 'live')
    await vi.runAllTimersAsync()
    const times = await sent
    expect(times).toHaveLength(100)
    for (const start of times) {
      expect(times.filter((time) => time >= start && time < start + 1_000).length).toBeLessThanOrEqual(25)
    }
    expect(Math.max(...times)).toBe(3_000)
  })

  test('spaces history evenly, and sends the requests of a new head before it', async () => {
    const budget = open({ perSecond: 25 })
    const history = sendTimes(budget, 200, 'history')
    await vi.advanceTimersByTimeAsync(2_000)
    const live = sendTimes(budget, 5, 'live')
    await vi.runAllTimersAsync()
    const times = await history
    expect(times.slice(0, 20)).toEqual(Array.from({ length: 20 }, (_, index) => index * 40))
    // Five places of the last second become free one after the other, and no request of history takes one of them.
    expect(Math.max(...(await live))).toBeLessThanOrEqual(200)
    const all = [...times, ...(await live).map((time) => time + 2_000)]
    for (const start of all) {
      expect(all.filter((time) => time >= start && time < start + 1_000).length).toBeLessThanOrEqual(25)
    }
  })
})

describe('a budget of a day', () => {
  test('leaves a fifth of it to live following; history waits until the next UTC day and reports that once', async () => {
    const budget = open({ perDay: 100 })
    const history = sendTimes(budget, 90, 'history')
    await vi.advanceTimersByTimeAsync(60_000)
    expect(budget.leftForHistory).toBe(0)
    expect(kinds()).toEqual(['budget-reserved'])
    const live = sendTimes(budget, 20, 'live')
    await vi.advanceTimersByTimeAsync(0)
    expect(await live).toEqual(new Array(20).fill(0))
    await vi.runAllTimersAsync()
    expect(await history).toEqual([...new Array(80).fill(0), ...new Array(10).fill(MIDNIGHT - NOON)])
    expect(kinds()).toEqual(['budget-reserved'])
  })

  test('ends live following too where even the reserve is used up', async () => {
    const live = sendTimes(open({ perDay: 100 }), 101, 'live')
    await vi.runAllTimersAsync()
    expect((await live).at(-1)).toBe(MIDNIGHT - NOON)
    expect(kinds()).toEqual(['budget-reached'])
  })

  test('is counted in claims of a thousandth; the next process begins with what is counted', async () => {
    const first = sendTimes(open({ perDay: 100_000 }), 5_000, 'live')
    await vi.runAllTimersAsync()
    await first
    expect(claims).toBeLessThanOrEqual(53)
    expect(days.get('2026-11-24')).toBeGreaterThanOrEqual(5_000)
    expect(days.get('2026-11-24')).toBeLessThanOrEqual(5_150)
    const next = open({ perDay: 100_000 })
    days.set('2026-11-24', 79_950)
    const last = sendTimes(next, 60, 'history')
    await vi.runAllTimersAsync()
    expect(await last).toEqual([...new Array(50).fill(0), ...new Array(10).fill(MIDNIGHT - NOON)])
  })

  test('a wait ends with the signal', async () => {
    const stop = new AbortController()
    const budget = open({ perDay: 10 })
    await sendTimes(budget, 10, 'live')
    const waiting = budget.take(stop.signal, 'live')
    await vi.advanceTimersByTimeAsync(0)
    stop.abort()
    await waiting
    expect(Date.now()).toBe(NOON)
  })
})
