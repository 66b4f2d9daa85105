/// <reference lib="dom" />
/** All pairs as a table, by volume, and new pools as another: read again while it is open. */
import { make, part } from '../lib/dom.ts'
import { changeText, decimalsOf, dollarText, priceText, timeText, title } from '../lib/format.ts'
import type { NewSuggestion, Suggestion } from './suggestions.ts'

const LOOK_MS = 5_000

export type Overview = { offer(suggestions: readonly Suggestion[], newest: readonly NewSuggestion[]): void }

export function openOverview(on: {
  choose(suggestion: Suggestion): void
  /** The reader opened it. */
  open(): void
  /** It is open: checks whether its rows are to be read again. */
  keep(): void
}): Overview {
  const details = part('overview', HTMLDetailsElement)
  let offered: readonly Suggestion[] = []
  let created: readonly NewSuggestion[] = []
  const show = () => {
    if (!details.open) return
    part('overview-rows', HTMLTableSectionElement).replaceChildren(...offered.map((one) => toRow(one, on.choose)))
    part('newest-rows', HTMLTableSectionElement).replaceChildren(...created.map((one) => toNewRow(one, on.choose)))
    part('newest-state', HTMLElement).hidden = created.length > 0
    part('newest', HTMLElement).hidden = created.length === 0
  }
  details.addEventListener('toggle', () => {
    show()
    if (details.open) on.open()
  })
  setInterval(() => {
    if (details.open && !document.hidden) on.keep()
  }, LOOK_MS)
  return {
    offer(suggestions, newest) {
      offered = suggestions
      created = newest
      show()
    },
  }
}

function toRow(one: Suggestion, onChoose: (one: Suggestion) => void): HTMLTableRowElement {
  return make(
    'tr',
    {},
    nameCell(one, onChoose),
    priceCell(one),
    ...[one.change5m, one.change1h, one.change].map(changeCell),
    make('td', {}, countText(one.buys)),
    make('td', {}, countText(one.sells)),
    make('td', {}, dollarText(one.volumeUsd)),
    make('td', {}, dollarText(one.valueUsd)),
  )
}

function toNewRow(one: NewSuggestion, onChoose: (one: Suggestion) => void): HTMLTableRowElement {
  return make(
    'tr',
    {},
    nameCell(one, onChoose),
    make('td', {}, title(one.pool.network)),
    make('td', {}, timeText(one.firstSeen, 60)),
    priceCell(one),
    changeCell(one.change1h),
    make('td', {}, countText(one.buys)),
    make('td', {}, countText(one.sells)),
    make('td', {}, dollarText(one.volumeUsd)),
    make('td', {}, dollarText(one.valueUsd)),
  )
}

function nameCell(one: Suggestion, onChoose: (one: Suggestion) => void): HTMLTableCellElement {
  const button = make('button', { type: 'button', class: 'quiet', title: one.names }, one.pair)
  button.addEventListener('click', () => onChoose(one))
  return make('th', { scope: 'row' }, button)
}

function priceCell({ price }: Suggestion): HTMLTableCellElement {
  return make('td', {}, price === undefined ? '–' : priceText(price, decimalsOf(price)))
}

function countText(count: number | undefined): string {
  return count === undefined ? '–' : count.toLocaleString('en')
}

function changeCell(change: number | undefined): HTMLTableCellElement {
  if (change === undefined) return make('td', {}, '–')
  return make('td', { class: change < 0 ? 'loss' : 'gain' }, changeText(change))
}
