/** One load for equal requests that arrive at nearly the same time. */

export type Coalesced<T> = (key: string, load: () => Promise<T>) => Promise<T>

/** A result is shared while it is less than `freshMs` old, counted from the start of its load; failures are not shared. */
export function coalesced<T>(freshMs: number, maxEntries = 1_000): Coalesced<T> {
  const held = new Map<string, { since: number; result: Promise<T> }>()

  return function get(key, load) {
    const now = performance.now()
    const known = held.get(key)
    if (known && now - known.since < freshMs) return known.result
    const entry = { since: now, result: load() }
    entry.result.catch(() => {
      if (held.get(key) === entry) held.delete(key)
    })
    // In the order of their age, the oldest first.
    held.delete(key)
    held.set(key, entry)
    for (const [old, { since }] of held) {
      if (held.size <= maxEntries && now - since < freshMs) break
      held.delete(old)
    }
    return entry.result
  }
}
