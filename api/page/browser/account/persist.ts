/** Asking until there is an answer: what passes by itself is waited for, in sight of the reader. */

import { Refusal } from '../lib/refusal.ts'
import { showMinuteUsedUp, showState } from './account.ts'
import { hideNotice, showNotice } from './notice.ts'

/** Rejects only where waiting would not help. `onWait`: called each time that there is no answer yet. */
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

const PASSING = ['minute-credits', 'month-credits', 'away'] as const
