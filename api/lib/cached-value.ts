/** A value that is loaded again before it is too old, by one load for all who wait. */
import { whenIdle } from '../../ingest/lib/live-priority.ts'

export type CachedValue<T> = {
  /** At most `maxAgeMs` old, counted from the start of its load. Who asks often does not wait. */
  get(): Promise<T>
  /** Loaded after this call. */
  reload(): Promise<T>
}

/** From this share of its age on it is loaded anew while the old one still serves. */
const AHEAD = 0.75

export function cachedValue<T>(load: () => Promise<T>, maxAgeMs: number): CachedValue<T> {
  let held: { value: T; since: number } | undefined
  let running: Promise<T> | undefined
  let runningSince = 0
  let next: Promise<T> | undefined

  function start(before?: Promise<void>): Promise<T> {
    const since = performance.now()
    runningSince = since
    running = (before?.then(load) ?? load())
      .then((value) => {
        held = { value, since }
        return value
      })
      .finally(() => {
        running = undefined
      })
    return running
  }

  function renew(): Promise<T> {
    if (running === undefined) return start()
    // The load under way may have read before this call, so one more follows it, shared as well.
    next ??= running
      .catch(() => undefined)
      .then(() => {
        next = undefined
        return start()
      })
    return next
  }

  return {
    get() {
      const now = performance.now()
      const oldest = now - maxAgeMs
      if (held !== undefined && held.since > oldest) {
        const isDue = now - held.since > AHEAD * maxAgeMs && running === undefined
        // Who asks once it is too old is told what is wrong.
        if (isDue) start(whenIdle()).catch(() => undefined)
        return Promise.resolve(held.value)
      }
      return running !== undefined && runningSince > oldest ? running : renew()
    },
    reload: renew,
  }
}
