/** One load for equal requests that arrive at nearly the same time. */
import { LRUCache } from 'lru-cache'

export type Coalesced<T> = (key: string, load: () => Promise<T>) => Promise<T>

/** A result is shared while it is less than `freshMs` old, counted from the start of its load; failures are not shared. */
export function coalesced<T>(freshMs: number, maxEntries = 1_000): Coalesced<T> {
  if (freshMs === 0) return (_, load) => load()
  const results = new LRUCache<string, Promise<T>>({ max: maxEntries, ttl: freshMs, ttlResolution: 0 })

  return function get(key, load) {
    const known = results.get(key)
    if (known) return known
    const result = load()
    result.catch(() => {
      if (results.peek(key) === result) results.delete(key)
    })
    results.set(key, result)
    return result
  }
}
