/// <reference lib="dom" />
/** The account bar: remaining credits, and whether the page is live. */
import type { CreditUsage } from '../lib/client.ts'
import { make, part } from '../lib/dom.ts'
import { clockText, timeText } from '../lib/format.ts'

export type State = 'idle' | 'loading' | 'live' | 'saving' | 'waiting'

const NAMES: Readonly<Record<State, string>> = {
  idle: 'Idle',
  loading: 'Loading',
  live: 'Live',
  saving: 'Saving credits',
  waiting: 'Waiting',
}

export function showCredits({ minute, month }: CreditUsage): void {
  const credits = part('credits', HTMLElement)
  const count = (value: number) => value.toLocaleString('en')
  credits.replaceChildren(
    make(
      'span',
      {},
      make('b', {}, count(minute.remaining)),
      make('span', { class: 'whole' }, ` of ${count(minute.limit)}`),
      make('span', { class: 'unit' }, ' credits'),
      make('span', { class: 'whole' }, ' this minute'),
    ),
    make('span', {}, make('b', {}, count(month.remaining)), ' this month'),
  )
  credits.dataset['low'] = String(minute.remaining < minute.limit / 5)
}

/** A refusal is newer than the last reading of the budget. */
export function showMinuteUsedUp(): void {
  const credits = part('credits', HTMLElement)
  const [minute] = credits.querySelectorAll('b')
  if (minute) minute.textContent = '0'
  credits.dataset['low'] = 'true'
}

/** Time of day, with the date where it is not today. */
function whenText(at: Date): string {
  return at.getTime() - Date.now() < 43_200_000 ? clockText(at) : timeText(at.getTime() / 1_000, 60)
}

/** `until`: time of the next request. */
export function showState(state: State, until?: Date): void {
  const shown = part('state', HTMLElement)
  shown.dataset['state'] = state
  shown.textContent = until === undefined ? NAMES[state] : `${NAMES[state]} until ${whenText(until)}`
}
