/** Waits that an `AbortSignal` can end. */

/** Resolves after `ms` or when the signal aborts, whichever is first. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done, { once: true })
  })
}

/**
 * Retries a task until it succeeds, with a doubling pause. `failed` is called at each failure, and throws where a retry cannot help. Throws
 * the last failure when the signal aborts.
 */
export async function retried<T>(
  task: () => Promise<T>,
  options: { firstMs: number; maxMs: number; signal: AbortSignal; failed(error: unknown, retryMs: number): void },
): Promise<T> {
  const { firstMs, maxMs, signal, failed } = options
  for (let retryMs = firstMs; ; retryMs = Math.min(maxMs, retryMs * 2)) {
    try {
      return await task()
    } catch (error) {
      if (signal.aborted) throw error
      failed(error, retryMs)
      await pause(retryMs, signal)
    }
  }
}

/** A wake-up flag between two loops. A wake-up while the other side is busy is kept. */
export class Waker {
  #news = false
  #wakeUp: (() => void) | undefined

  wake(): void {
    this.#news = true
    this.#wakeUp?.()
  }

  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#news) {
      const stop = new AbortController()
      this.#wakeUp = () => stop.abort()
      await pause(ms, AbortSignal.any([signal, stop.signal]))
      this.#wakeUp = undefined
    }
    this.#news = false
  }
}
