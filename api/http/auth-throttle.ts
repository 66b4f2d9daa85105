/** Counts bad keys by address, and says until when an address has sent too many. A good key is never looked up here. */

import { LRUCache } from 'lru-cache'

export type AuthThrottle = {
  recordFailure(address: string, now: number): void
  /** Seconds until the address may fail again; 0 while it may. */
  retryAfterSeconds(address: string, now: number): number
}

const MAX_ADDRESSES = 10_000

/** `maxFailures` in each window of so many seconds. */
export function openAuthThrottle({
  maxFailures = 20,
  seconds = 60,
}: {
  maxFailures?: number
  seconds?: number
} = {}): AuthThrottle {
  const windows = new LRUCache<string, { until: number; count: number }>({ max: MAX_ADDRESSES })
  return {
    recordFailure(address, now) {
      const window = windows.get(address)
      if (window !== undefined && window.until > now) {
        window.count += 1
        return
      }
      windows.set(address, { until: now + seconds, count: 1 })
    },
    retryAfterSeconds(address, now) {
      const window = windows.get(address)
      if (window === undefined || window.until <= now || window.count < maxFailures) return 0
      return Math.ceil(window.until - now)
    },
  }
}
