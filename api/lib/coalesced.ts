/** One answer for all who ask the same at nearly the same time. */

export type Coalesced<T> = (key: string, load: () => Promise<T>) => Promise<T>

/** An answer is given again while it is less than `freshMs` old, counted from when its load began; failures are not. */
export function coalesced<T>(freshMs: number, most = 1_000): Coalesced<T> {
  const held = new Map<string, { since: number; answer: Promise<T> }>()

  return function get(key, load) {
    const now = performance.now()
    const known = held.get(key)
    if (known && now - known.since < freshMs) return known.answer
    const entry = { since: now, answer: load() }
    entry.answer.catch(() => {
      if (held.get(key) === entry) held.delete(key)
    })
    // In the order of their age, so that the oldest ones are found first.
    held.delete(key)
    held.set(key, entry)
    for (const [old, { since }] of held) {
      if (held.size <= most && now - since < freshMs) break
      held.delete(old)
    }
    return entry.answer
  }
}
