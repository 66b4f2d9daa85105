/** When an endpoint rests, and how it is tried out again. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { CircuitBreaker } from '../../../../ingest/rpc/endpoints/circuit-breaker.ts'
import { RETRY_POLICY } from '../../../../ingest/rpc/retry-policy.ts'

let health: CircuitBreaker

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] })
  health = new CircuitBreaker({ ...RETRY_POLICY, coolDownMs: 100, maxCoolDownMs: 1_000, random: () => 1 })
})

afterEach(() => {
  vi.useRealTimers()
})

function fail(): number | undefined {
  return health.failed(health.begin())
}

test('each failure in a row doubles the rest, up to a limit', () => {
  const rests = Array.from({ length: 6 }, () => fail())
  expect(rests).toEqual([100, 200, 400, 800, 1_000, 1_000])
})

test('requests that were under way together fail as one', () => {
  const epochs = [health.begin(), health.begin(), health.begin()]
  expect(epochs.map((epoch) => health.failed(epoch))).toEqual([100, undefined, undefined])
  expect(health.failures).toBe(1)
})

test('one request tries an endpoint after its rest, and the others wait for its outcome', () => {
  fail()
  expect(health.waitMs()).toBe(100)
  vi.advanceTimersByTime(100)
  expect(health.waitMs()).toBe(0)
  const probe = health.begin()
  expect(health.waitMs()).toBeGreaterThan(0)
  health.succeeded(probe)
  expect(health.waitMs()).toBe(0)
  expect(health.failures).toBe(0)
})

test('faults are counted over answers in between, until there was none for a while', () => {
  const fault = () => health.failed(health.begin(), { isFault: true })
  const answer = () => health.succeeded(health.begin())
  expect(fault()).toBe(100)
  answer()
  expect(fault()).toBe(200)
  answer()
  expect(fail()).toBe(100)
  answer()
  expect(health.faults).toBe(2)
  vi.advanceTimersByTime(RETRY_POLICY.capMs + 1)
  expect(health.faults).toBe(0)
  expect(fault()).toBe(100)
})

test('an answer to what was asked before the failure does not end the rest', () => {
  const early = health.begin()
  fail()
  health.succeeded(early)
  expect(health.waitMs()).toBe(100)
})

test('a clock that steps back does not lengthen a rest, and one that steps forward does not end it', () => {
  vi.setSystemTime(Date.now() + 90_000)
  fail()
  vi.setSystemTime(Date.now() - 90_000)
  expect(health.waitMs()).toBe(100)
  vi.setSystemTime(Date.now() + 90_000)
  expect(health.waitMs()).toBe(100)
})
