/// <reference lib="dom" />
/** The figures of one candle above the chart, and the newest candles as a table for screen readers. */

import { make, part } from '../lib/dom.ts'
import { amountText, changeText, decimalsOf, priceText, timeText } from '../lib/format.ts'
import { type BarSide, type ChartCandle, sidesOfVolume } from './candles.ts'

const MAX_ROWS = 20

export function showLegend(
  row: ChartCandle | undefined,
  side: BarSide | undefined,
  interval: number,
  unit: string,
): void {
  const legend = part('legend', HTMLElement)
  legend.replaceChildren('\u00a0')
  if (row === undefined) return
  const decimals = decimalsOf(row.close)
  const { bought, sold } = sidesOfVolume(row)
  const figure = (name: string, value: string, kind = '') =>
    make('span', kind === '' ? {} : { class: kind }, make('i', {}, name), ` ${value}`)
  legend.dataset['side'] = side ?? 'up'
  legend.replaceChildren(
    make('time', {}, timeText(row.time, interval)),
    figure('O', priceText(row.open, decimals)),
    figure('H', priceText(row.high, decimals)),
    figure('L', priceText(row.low, decimals)),
    figure('C', priceText(row.close, decimals)),
    make('span', { class: 'change' }, changeText((row.close - row.open) / row.open)),
    figure('Vol', `${amountText(row.volume)} ${unit}`),
    figure('Buys', amountText(bought), 'gain'),
    figure('Sells', amountText(sold), 'loss'),
    figure('VWAP', priceText(row.vwap ?? Number.NaN, decimals), 'vwap'),
  )
}

/** Newest first. */
export function showTable(rows: readonly ChartCandle[], interval: number, unit: string): void {
  part('volume-title', HTMLElement).textContent = `Volume, ${unit}`
  const decimals = decimalsOf(rows.at(-1)?.close ?? 1)
  part('candle-rows', HTMLTableSectionElement).replaceChildren(
    ...rows
      .slice(-MAX_ROWS)
      .toReversed()
      .map((row) => {
        const { time, open, high, low, close, volume } = row
        const { bought, sold } = sidesOfVolume(row)
        return make(
          'tr',
          {},
          make('th', { scope: 'row' }, timeText(time, interval)),
          ...[open, high, low, close].map((price) => make('td', {}, priceText(price, decimals))),
          ...[volume, bought, sold].map((amount) => make('td', {}, amountText(amount))),
        )
      }),
  )
}
