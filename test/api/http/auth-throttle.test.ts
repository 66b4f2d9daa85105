import { expect, test } from 'vitest'
import { openAuthThrottle } from '../../../api/http/auth-throttle.ts'

test('an address that fails too often waits for the end of its window', () => {
  const failures = openAuthThrottle({ maxFailures: 3, seconds: 60 })
  for (const now of [0, 1, 2]) {
    expect(failures.retryAfterSeconds('1.2.3.4', now)).toBe(0)
    failures.recordFailure('1.2.3.4', now)
  }
  expect(failures.retryAfterSeconds('1.2.3.4', 10)).toBe(50)
  expect(failures.retryAfterSeconds('5.6.7.8', 10)).toBe(0)
  expect(failures.retryAfterSeconds('1.2.3.4', 60)).toBe(0)
  // Its next failures begin a window of their own.
  for (const now of [61, 62, 63]) failures.recordFailure('1.2.3.4', now)
  expect(failures.retryAfterSeconds('1.2.3.4', 63)).toBe(58)
})
