/** Waiting that a signal can end. */

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

/** Lets one side sleep until the other has news; news that came while nobody slept is not lost. */
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
