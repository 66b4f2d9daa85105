/** How often an address has come with a bad key: guessing is slowed, and the store is spared. */

export type Failures = {
  note(address: string, now: number): void
  /** Seconds until the address may fail again; 0 while it may. */
  wait(address: string, now: number): number
}

const MOST_ADDRESSES = 10_000

/** `most` failures in each window of so many seconds. */
export function countFailures({ most = 20, seconds = 60 }: { most?: number; seconds?: number } = {}): Failures {
  const windows = new Map<string, { until: number; count: number }>()
  return {
    note(address, now) {
      const window = windows.get(address)
      if (window !== undefined && window.until > now) {
        window.count += 1
        return
      }
      // Deleted first, so that the map stays in the order in which windows end.
      windows.delete(address)
      windows.set(address, { until: now + seconds, count: 1 })
      const [oldest] = windows.keys()
      if (windows.size > MOST_ADDRESSES && oldest !== undefined) windows.delete(oldest)
    },
    wait(address, now) {
      const window = windows.get(address)
      if (window === undefined || window.until <= now || window.count < most) return 0
      return Math.ceil(window.until - now)
    },
  }
}
