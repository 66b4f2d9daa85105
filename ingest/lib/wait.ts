/** Waits that an `AbortSignal` can end. */

/** Calls back when the signal aborts, at once where it has: an aborted signal calls no listener that is added later. Returns a function that takes it back. */
export function onAbort(signal: AbortSignal, aborted: () => void): () => void {
  if (signal.aborted) aborted()
  else signal.addEventListener('abort', aborted, { once: true })
  return () => signal.removeEventListener('abort', aborted)
}

export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => onAbort(signal, resolve))
}

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

export type RetryOptions = {
  firstMs: number
  maxMs: number
  /** From 0 up to 1: this share of each pause is random, so that many processes do not retry in step. */
  jitter?: number
  signal: AbortSignal
  /** Called at each failure; throws where a retry cannot help. */
  failed(error: unknown, retryMs: number, attempt: number): void
}

/**
 * Retries a task until it succeeds, with a doubling pause. Throws the last failure when the signal aborts. p-retry would not shorten this:
 * it has no callback with the length of the next pause, which every fact about a retry states.
 */
export async function retried<T>(task: () => Promise<T>, options: RetryOptions): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await task()
    } catch (error) {
      await backOff(error, attempt, options)
    }
  }
}

/** Repeats a step until the signal aborts, each time retried until it succeeds. The step itself waits until there is work. */
export async function repeated(step: () => Promise<void>, options: RetryOptions): Promise<void> {
  const { signal } = options
  while (!signal.aborted) {
    await retried(step, options).catch((error: unknown) => {
      if (!signal.aborted) throw error
    })
  }
}

/** The pause after a failed attempt, counted from 1: for a loop that makes progress between its attempts. */
export async function backOff(error: unknown, attempt: number, options: RetryOptions): Promise<void> {
  const { firstMs, maxMs, jitter = 0, signal, failed } = options
  if (signal.aborted) throw error
  const longestMs = Math.min(maxMs, firstMs * 2 ** (attempt - 1))
  const retryMs = Math.round(longestMs * (1 - jitter * Math.random()))
  failed(error, retryMs, attempt)
  await pause(retryMs, signal)
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
