/** Counts bad keys by address, and says until when an address has sent too many. A good key is never looked up here. */

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
  const windows = new Map<string, { until: number; count: number }>()
  return {
    recordFailure(address, now) {
      const window = windows.get(address)
      if (window !== undefined && window.until > now) {
        window.count += 1
        return
      }
      // Deleted first, so that the map stays in the order of the windows' ends.
      windows.delete(address)
      windows.set(address, { until: now + seconds, count: 1 })
      const [oldest] = windows.keys()
      if (windows.size > MAX_ADDRESSES && oldest !== undefined) windows.delete(oldest)
    },
    retryAfterSeconds(address, now) {
      const window = windows.get(address)
      if (window === undefined || window.until <= now || window.count < maxFailures) return 0
      return Math.ceil(window.until - now)
    },
  }
}
