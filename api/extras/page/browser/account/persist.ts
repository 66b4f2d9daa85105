/** Retries a request until it succeeds; transient failures are waited for with a visible notice. */

import { Refusal } from '../lib/refusal.ts'
import { showMinuteUsedUp, showState } from './account.ts'
import { hideNotice, showNotice } from './notice.ts'

/** Rejects only where a retry would not help. `onWait` is called at each failure. */
export async function persist<T>(
  work: () => Promise<T>,
  signal: AbortSignal,
  onWait: () => void = () => undefined,
): Promise<T> {
  for (;;) {
    try {
      const result = await work()
      hideNotice()
      return result
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof Refusal) || !PASSING.some((kind) => kind === error.kind)) throw error
      onWait()
      if (error.kind === 'minute-credits') showMinuteUsedUp()
      showState('waiting', new Date(Date.now() + error.waitMs))
      await showNotice(error, signal)
    }
  }
}

const PASSING = ['minute-credits', 'month-credits', 'away', 'empty'] as const
