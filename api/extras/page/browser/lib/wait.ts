/// <reference lib="dom" />
/** Waits that an `AbortSignal` ends. */

/** A browser's timer holds 31 bits of milliseconds, 24.8 days: a longer one would end at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Rejects where the signal aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  let left = ms
  for (; left > MAX_TIMER_MS; left -= MAX_TIMER_MS) await shortPause(MAX_TIMER_MS, signal)
  await shortPause(left, signal)
}

function shortPause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, ms)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}

/** Waits while the tab is hidden, so that it sends no requests. */
export function untilVisible(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.reject(signal.reason)
  if (!document.hidden) return Promise.resolve()
  return new Promise((resolve, reject) => {
    const done = new AbortController()
    const look = () => {
      if (document.hidden) return
      done.abort()
      resolve()
    }
    document.addEventListener('visibilitychange', look, { signal: done.signal })
    signal.addEventListener(
      'abort',
      () => {
        done.abort()
        reject(signal.reason)
      },
      { once: true, signal: done.signal },
    )
  })
}
