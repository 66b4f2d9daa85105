/// <reference lib="dom" />
/** The chart of one scene with its legend and its notes: the page and the embedded chart have it. */
import { parseInterval } from '../../../query/interval.ts'
import { type BarSide, type ChartCandle, sidesOf } from './chart/candles.ts'
import { openChart } from './chart/chart.ts'
import { showLegend } from './chart/legend.ts'
import { part, say } from './lib/dom.ts'
import { decimalsOf, priceText, title } from './lib/format.ts'
import { pairOf } from './market/scene.ts'
import type { SceneData } from './scene-data.ts'

export type ChartPanel = {
  /** Draws the data; `reset` where the view starts at the newest candles. */
  draw(data: SceneData, reset?: boolean): void
  /** Writes the times of the axis again: their zone has changed. */
  rezone(): void
  /** Shows over the chart which scene is requested. */
  pending(text: string): void
  /** Shows why there are no candles. */
  note(text: string): void
}

export function openChartPanel(onOlder: () => void): ChartPanel {
  const container = part('chart', HTMLElement)
  const over = part('chart-state', HTMLElement)
  let shown: readonly ChartCandle[] = []
  let sides: readonly BarSide[] = []
  let pointed: number | undefined
  let unit = ''
  let interval = 60
  const chart = openChart(container, {
    older: onOlder,
    pointed(time) {
      pointed = time
      legend()
    },
  })

  function legend(): void {
    const index = shown.findIndex(({ time }) => time === pointed)
    showLegend(shown.at(index), sides.at(index), interval, unit)
  }

  return {
    draw(data, reset = false) {
      if (reset) pending('')
      const { scene, rows, devnet } = data
      interval = parseInterval(scene.interval) ?? 60
      unit = data.unit
      shown = rows
      sides = sidesOf(rows)
      const price = shown.at(-1)?.close
      chart.draw(shown, sides, interval, reset)
      legend()
      part('devnet', HTMLElement).hidden = !devnet
      over.hidden = rows.length > 0
      over.textContent = 'No trade yet'
      part('gap', HTMLElement).hidden = !data.incomplete || rows.length === 0
      const pair = pairOf(scene)
      const what = `${pair} ${scene.interval}`
      document.title = price === undefined ? what : `${priceText(price, decimalsOf(price))} ${what}`
      container.setAttribute('aria-label', `${pair} on ${title(scene.listing.network)}, candles of ${scene.interval}`)
      if (reset) say(price === undefined ? `${pair}: no trade yet` : `${pair}, last price ${price}`)
    },
    rezone: () => chart.rezone(),
    pending,
    note(text) {
      pending('')
      shown = []
      chart.draw([], [], interval, true)
      legend()
      part('gap', HTMLElement).hidden = true
      document.title = 'Candlepool'
      container.setAttribute('aria-label', 'No candles')
      over.hidden = false
      over.textContent = text
      say(text)
    },
  }
}

function pending(text: string): void {
  const shown = part('pending', HTMLElement)
  if (shown.textContent !== text) shown.textContent = text
  shown.hidden = text === ''
}
