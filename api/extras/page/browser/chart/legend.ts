/// <reference lib="dom" />
/** The figures of one candle above the chart, and the newest candles as a table for screen readers. */

import { make, part } from '../lib/dom.ts'
import { amountText, changeText, decimalsOf, priceText, timeText } from '../lib/format.ts'
import type { BarSide, ChartCandle } from './candles.ts'

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
  const figure = (name: string, value: string) => make('span', {}, make('i', {}, name), ` ${value}`)
  legend.dataset['side'] = side ?? 'up'
  legend.replaceChildren(
    make('time', {}, timeText(row.time, interval)),
    figure('O', priceText(row.open, decimals)),
    figure('H', priceText(row.high, decimals)),
    figure('L', priceText(row.low, decimals)),
    figure('C', priceText(row.close, decimals)),
    make('span', { class: 'change' }, changeText((row.close - row.open) / row.open)),
    figure('Vol', `${amountText(row.volume)} ${unit}`),
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
      .map(({ time, open, high, low, close, volume }) =>
        make(
          'tr',
          {},
          make('th', { scope: 'row' }, timeText(time, interval)),
          ...[open, high, low, close].map((price) => make('td', {}, priceText(price, decimals))),
          make('td', {}, amountText(volume)),
        ),
      ),
  )
}
