/// <reference lib="dom" />
/** One scene on the screen: draws its loaded data in every part. */

import { parseInterval } from '../../query/interval.ts'
import type { ChartCandle } from './chart/candles.ts'
import { openChart } from './chart/chart.ts'
import { candlesCsv, download } from './chart/download.ts'
import { showLegend, showTable } from './chart/legend.ts'
import { part, say } from './lib/dom.ts'
import { decimalsOf, priceText, title } from './lib/format.ts'
import { showFacts } from './market/facts.ts'
import type { TickRow } from './market/orientation.ts'
import { pairOf, type Scene } from './market/scene.ts'
import { openTape } from './market/tape.ts'

export type SceneData = {
  scene: Scene
  /** In the direction of the scene. */
  rows: readonly ChartCandle[]
  /** Unit of the volumes. */
  unit: string
  /** In the pool's own order. */
  ticks: readonly TickRow[]
  /** Volume of the 24 h that end now, with its unit. */
  dayVolume: string | undefined
  devnet: boolean
  /** The time of the candles is not stored completely. */
  incomplete: boolean
}

export type Screen = {
  /** Draws the data; `reset` where the view starts at the newest candles. */
  draw(held: SceneData, reset?: boolean): void
  /** Draws the data where the zone of times has changed. */
  rezone(held: SceneData): void
  /** Shows over the chart which scene is requested. */
  pending(text: string): void
  /** Shows why there are no candles and trades. */
  note(text: string): void
}

export function openScreen(onOlder: () => void): Screen {
  const container = part('chart', HTMLElement)
  const over = part('chart-state', HTMLElement)
  const tape = openTape()
  let shown: readonly ChartCandle[] = []
  let pointed: number | undefined
  let unit = ''
  let interval = 60
  let name = 'candles'
  const chart = openChart(container, {
    older: onOlder,
    pointed(time) {
      pointed = time
      legend()
    },
  })

  part('csv', HTMLButtonElement).addEventListener('click', () => download(`${name}.csv`, candlesCsv(shown)))

  function legend(): void {
    showLegend(shown.find(({ time }) => time === pointed) ?? shown.at(-1), interval, unit)
  }

  return {
    draw(held, reset = false) {
      if (reset) pending('')
      const { scene, rows, ticks, dayVolume, devnet } = held
      interval = parseInterval(scene.interval) ?? 60
      unit = held.unit
      shown = rows
      const price = shown.at(-1)?.close
      chart.draw(shown, interval, reset)
      legend()
      showTable(shown, interval, unit)
      tape.show(ticks, scene.flipped, devnet ? undefined : scene.listing.network)
      showFacts(scene, { price, dayVolume }, devnet)
      part('devnet', HTMLElement).hidden = !devnet
      over.hidden = rows.length > 0
      over.textContent = 'No trade yet'
      part('gap', HTMLElement).hidden = !held.incomplete || rows.length === 0
      const pair = pairOf(scene)
      const what = `${pair} ${scene.interval}`
      name = `${pair}-${scene.interval}`
      document.title = price === undefined ? what : `${priceText(price, decimalsOf(price))} ${what}`
      container.setAttribute('aria-label', `${pair} on ${title(scene.listing.network)}, candles of ${scene.interval}`)
      if (reset) say(price === undefined ? `${pair}: no trade yet` : `${pair}, last price ${price}`)
    },
    rezone(held) {
      chart.rezone()
      this.draw(held)
    },
    pending,
    note(text) {
      pending('')
      shown = []
      chart.draw([], interval, true)
      legend()
      showTable([], interval, unit)
      tape.note('')
      part('facts', HTMLElement).replaceChildren()
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
