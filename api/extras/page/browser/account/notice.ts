/// <reference lib="dom" />
/** The notice over the chart: the reason of a pause, its end, and a button that retries at once. */
import { part } from '../lib/dom.ts'
import { clockText, timeText } from '../lib/format.ts'
import type { Refusal } from '../lib/refusal.ts'
import { pause } from '../lib/wait.ts'
import { zoneName } from '../lib/zone.ts'

/** Resolves at the time of the next attempt, or at a click. */
export async function showNotice(refusal: Refusal, signal: AbortSignal): Promise<void> {
  const notice = part('notice', HTMLElement)
  const retry = part('notice-retry', HTMLButtonElement)
  const until = new Date(Date.now() + refusal.waitMs)
  part('notice-text', HTMLElement).textContent = textOf(refusal, until)
  // An earlier attempt is useless where credits are used up; an invalid request stays invalid.
  retry.hidden = refusal.kind !== 'away' && refusal.kind !== 'empty'
  notice.dataset['kind'] = refusal.kind
  notice.hidden = false
  const done = new AbortController()
  const pressed = new Promise<void>((resolve) =>
    retry.addEventListener('click', () => resolve(), { once: true, signal: done.signal }),
  )
  try {
    await Promise.race([pressed, pause(refusal.waitMs, AbortSignal.any([signal, done.signal]))])
  } finally {
    done.abort()
    if (signal.aborted) hideNotice()
  }
}

export function hideNotice(): void {
  part('notice', HTMLElement).hidden = true
}

function textOf({ kind, message }: Refusal, until: Date): string {
  if (kind === 'minute-credits')
    return `The credits of this minute are used up. They come back at ${clockText(until)} ${zoneName(until)}.`
  if (kind === 'month-credits')
    return `The credits of this month are used up. They come back on ${timeText(until.getTime() / 1_000, 60)} ${zoneName(until)}.`
  if (kind === 'away' || kind === 'empty')
    return `${message} The next try is at ${clockText(until)} ${zoneName(until)}.`
  return message
}
