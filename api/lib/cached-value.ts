/** A value with a maximum age, reloaded ahead of its expiry by one load for all callers. */

export type CachedValue<T> = {
  /** At most `maxAgeMs` old, counted from the start of its load. Frequent callers do not wait. */
  get(): Promise<T>
  /** The result of a load that starts after this call. */
  reload(): Promise<T>
}

/** From this share of the maximum age on, a load runs while the old value still serves. */
const AHEAD = 0.75

export function cachedValue<T>(load: () => Promise<T>, maxAgeMs: number): CachedValue<T> {
  let cached: { value: T; since: number } | undefined
  let running: Promise<T> | undefined
  let runningSince = 0
  let next: Promise<T> | undefined

  function start(): Promise<T> {
    const since = performance.now()
    runningSince = since
    running = load()
      .then((value) => {
        cached = { value, since }
        return value
      })
      .finally(() => {
        running = undefined
      })
    return running
  }

  function reload(): Promise<T> {
    if (running === undefined) return start()
    // The running load may have read before this call, so that one more follows, shared by its callers.
    next ??= running
      .catch(() => undefined)
      .then(() => {
        next = undefined
        // A caller of the load that has just ended may have begun one.
        return running ?? start()
      })
    return next
  }

  return {
    get() {
      const now = performance.now()
      const oldest = now - maxAgeMs
      if (cached !== undefined && cached.since > oldest) {
        const isDue = now - cached.since > AHEAD * maxAgeMs && running === undefined
        // Once the value is too old, the next caller repeats the load and gets its error.
        if (isDue) start().catch(() => undefined)
        return Promise.resolve(cached.value)
      }
      return running !== undefined && runningSince > oldest ? running : reload()
    },
    reload: reload,
  }
}
