/// <reference lib="dom" />
/** All pairs as a table, by volume: read again each minute while it is open, at no cost. */
import { make, part } from '../lib/dom.ts'
import { decimalsOf, dollarText, priceText } from '../lib/format.ts'
import type { Suggestion } from './suggestions.ts'

const RENEW_MS = 60_000

export type Overview = { offer(suggestions: readonly Suggestion[]): void }

export function openOverview(on: { choose(suggestion: Suggestion): void; renew(): void }): Overview {
  const details = part('overview', HTMLDetailsElement)
  const body = part('overview-rows', HTMLTableSectionElement)
  let offered: readonly Suggestion[] = []
  const show = () => {
    if (details.open) body.replaceChildren(...offered.map((one) => toRow(one, () => on.choose(one))))
  }
  details.addEventListener('toggle', () => {
    show()
    if (details.open) on.renew()
  })
  setInterval(() => {
    if (details.open && !document.hidden) on.renew()
  }, RENEW_MS)
  return {
    offer(suggestions) {
      offered = suggestions
      show()
    },
  }
}

function toRow(suggestion: Suggestion, onChoose: () => void): HTMLTableRowElement {
  const { pair, names, price, change5m, change1h, change, volumeUsd, valueUsd } = suggestion
  const button = make('button', { type: 'button', class: 'quiet', title: names }, pair)
  button.addEventListener('click', onChoose)
  return make(
    'tr',
    {},
    make('th', { scope: 'row' }, button),
    make('td', {}, price === undefined ? '–' : priceText(price, decimalsOf(price))),
    ...[change5m, change1h, change].map(changeCell),
    make('td', {}, dollarText(volumeUsd)),
    make('td', {}, dollarText(valueUsd)),
  )
}

function changeCell(change: number | undefined): HTMLTableCellElement {
  if (change === undefined) return make('td', {}, '–')
  const text = `${change < 0 ? '−' : '+'}${Math.abs(change * 100).toFixed(2)}%`
  return make('td', { class: change < 0 ? 'loss' : 'gain' }, text)
}
