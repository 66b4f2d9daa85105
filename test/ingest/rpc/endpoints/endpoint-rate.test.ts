/** The rate limiter's reaction to refusals, in virtual time. */
import { setMaxListeners } from 'node:events'
import { createClient, custom } from 'viem'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Endpoint } from '../../../../ingest/rpc/endpoints/endpoint.ts'
import { RateLimiter } from '../../../../ingest/rpc/endpoints/rate-limiter.ts'
import { RETRY_POLICY } from '../../../../ingest/rpc/retry-policy.ts'

const { signal } = new AbortController()
setMaxListeners(0, signal)
let rate: RateLimiter

beforeEach(() => {
  vi.useFakeTimers()
  rate = new RateLimiter({ ...RETRY_POLICY, rateLimitMs: 1_000, minPerSecond: 20, random: () => 1 })
})

afterEach(() => {
  vi.useRealTimers()
})

/** When each of `count` requests asked for now is sent, after now. */
async function sendTimes(count: number): Promise<number[]> {
  const start = performance.now()
  const taken = Promise.all(Array.from({ length: count }, () => rate.take(signal)))
  await vi.runAllTimersAsync()
  return (await taken).map((time) => time - start)
}

test('the rate is unlimited until the first refusal', async () => {
  expect(await sendTimes(100)).toEqual(new Array(100).fill(0))
})

test('a refusal is waited out for as long as it says, by those that wait already too, and nothing is dropped', async () => {
  rate.refused(await rate.take(signal), 0)
  const early = sendTimes(30)
  rate.refused(performance.now() + 1, 7_000)
  expect(rate.waitMs()).toBe(7_000)
  const times = await early
  expect(times).toHaveLength(30)
  // One second's worth had gone out before.
  expect(Math.min(...times.filter((time) => time > 0))).toBe(7_000)
})

test('a wait of ten minutes is kept, and a wait of a year is cut to an hour', async () => {
  const sent = await rate.take(signal)
  rate.refused(sent, 600_000)
  expect(rate.waitMs()).toBe(600_000)
  rate.refused(sent, 365 * 86_400_000)
  expect(rate.waitMs()).toBe(3_600_000)
})

test('no second after a refusal has more requests than the lowered rate', async () => {
  rate.refused(await rate.take(signal), 3_000)
  expect(rate.perSecond).toBe(14)
  const times = await sendTimes(100)
  for (const start of times) {
    expect(times.filter((time) => time >= start && time < start + 1_000).length).toBeLessThanOrEqual(14)
  }
  expect(times.at(-1)).toBe(3_000 + Math.floor(99 / 14) * 1_000)
})

test('a clock that steps back holds back no request', async () => {
  vi.setSystemTime(Date.now() + 90_000)
  rate.refused(await rate.take(signal), 0)
  expect(await sendTimes(14)).toHaveLength(14)
  vi.setSystemTime(Date.now() - 90_000)
  const times = await sendTimes(14)
  expect(Math.max(...times)).toBeLessThanOrEqual(1_000)
})

test('requests wait no longer than until the signal aborts', async () => {
  const stop = new AbortController()
  rate.refused(await rate.take(signal), 60_000)
  const waiting = rate.take(stop.signal)
  stop.abort()
  await expect(waiting).resolves.toBe(performance.now())
})

test('refusals of requests that were sent before it slowed down lower it once', async () => {
  const sent = await rate.take(signal)
  for (let refusals = 0; refusals < 10; refusals++) rate.refused(sent, undefined)
  expect(rate.perSecond).toBe(14)
})

test('refusals without a time are waited out for longer and longer', async () => {
  const waits: number[] = []
  for (let refusals = 0; refusals < 4; refusals++) {
    const [sent = 0] = await sendTimes(1).then(() => [performance.now() + 1])
    rate.refused(sent, undefined)
    waits.push(rate.waitMs())
  }
  expect(waits).toEqual([1_000, 2_000, 4_000, 8_000])
})

test('time with answers brings the rate back, slowly, until there is no limit', async () => {
  rate.refused(await rate.take(signal), 1_000)
  const answeredFor = (seconds: number) => {
    for (let answers = 0; answers < seconds * 10; answers++) {
      vi.advanceTimersByTime(100)
      rate.answered()
    }
  }
  answeredFor(1)
  expect(rate.perSecond).toBe(14)
  answeredFor(8)
  expect(rate.perSecond).toBeGreaterThan(20)
  expect(rate.perSecond).toBeLessThan(22)
  answeredFor(100)
  expect(rate.perSecond).toBe(Number.POSITIVE_INFINITY)
})

test.each([
  [5, undefined],
  [20, 1_000],
  [100, undefined],
])(
  'most of the %d requests a second that a provider bears are used, and few are refused',
  async (limit, retryAfterMs) => {
    const sent: number[] = []
    const counts = { answered: 0, refused: 0 }
    async function worker(): Promise<void> {
      while (performance.now() < 60_000) {
        const at = await rate.take(signal)
        const isRefused = sent.filter((time) => time > at - 1_000).length >= limit
        if (!isRefused) sent.push(at)
        await new Promise((resolve) => setTimeout(resolve, 50))
        counts[isRefused ? 'refused' : 'answered']++
        if (isRefused) rate.refused(at, retryAfterMs)
        else rate.answered()
      }
    }
    const workers = Promise.all(Array.from({ length: 8 }, worker))
    await vi.advanceTimersByTimeAsync(70_000)
    await workers
    expect(counts.answered / 60).toBeGreaterThan(0.75 * limit)
    expect(counts.refused).toBeLessThan(0.1 * counts.answered)
  },
)

test('a limit does not take apart what is asked in one turn, nor does it send more in any second', async () => {
  const sent: number[] = []
  const request = async ({ method }: { method: string }) => {
    sent.push(performance.now())
    return method === 'eth_getLogs' ? [] : null
  }
  const node = createClient({ transport: custom({ request }, { retryCount: 0 }) })
  const policy = { ...RETRY_POLICY, rateLimitMs: 1_000, minPerSecond: 6, random: () => 1 }
  const context = {
    policy,
    budget: undefined,
    headers: undefined,
    signal,
    onCalled: () => {},
    onOddity: () => {},
    onHead: () => {},
  }
  const endpoint = new Endpoint('node', 'node', node, context)
  endpoint.limiter.refused(performance.now(), 0)
  const { perSecond } = endpoint.limiter
  const ask = (method: string) => endpoint.client.request({ method } as never)
  for (let range = 0; range < 5; range++) {
    const asked = ['eth_getLogs', 'eth_getBlockByNumber', 'eth_getBlockByNumber'].map(ask)
    await vi.runAllTimersAsync()
    await Promise.all(asked)
    expect(new Set(sent.slice(-3)).size).toBe(1)
  }
  expect(perSecond).toBeLessThan(6)
  // More than a limited number in one turn keep their pace.
  const from = sent.length
  const many = Promise.all(Array.from({ length: 30 }, () => ask('eth_getBlockByNumber')))
  await vi.runAllTimersAsync()
  await many
  for (const start of sent.slice(from))
    expect(sent.filter((time) => time >= start && time < start + 1_000).length).toBeLessThanOrEqual(
      perSecond * 1.05 ** 20 + 3,
    )
})
