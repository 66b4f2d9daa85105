/// <reference lib="dom" />
/** One scene on the screen: draws its loaded data in every part. */
import { parseInterval } from '../../../query/interval.ts'
import { candlesCsv, download } from './chart/download.ts'
import { showTable } from './chart/legend.ts'
import { type ChartPanel, openChartPanel } from './chart-panel.ts'
import { part } from './lib/dom.ts'
import { showFacts } from './market/facts.ts'
import { pairOf } from './market/scene.ts'
import { openTape } from './market/tape.ts'
import { figuresOf, type SceneData } from './scene-data.ts'

export type Screen = Pick<ChartPanel, 'draw' | 'pending' | 'note'> & {
  /** Draws the data where the zone of times has changed. */
  rezone(data: SceneData): void
  /** Shows over the chart why a requested scene is not shown; empty hides it. */
  refuse(text: string): void
}

export function openScreen(onOlder: () => void): Screen {
  const panel = openChartPanel(onOlder)
  const tape = openTape()
  let shown: SceneData | undefined

  part('csv', HTMLButtonElement).addEventListener('click', () => {
    const name = shown === undefined ? 'candles' : `${pairOf(shown.scene)}-${shown.scene.interval}`
    download(`${name}.csv`, candlesCsv(shown?.rows ?? []))
  })

  return {
    draw(data, reset = false) {
      const { scene, rows, unit, ticks, devnet } = data
      shown = data
      panel.draw(data, reset)
      showTable(rows, parseInterval(scene.interval) ?? 60, unit)
      tape.show(ticks, scene.flipped, devnet ? undefined : scene.listing.network)
      showFacts(scene, figuresOf(data), devnet)
    },
    rezone(data) {
      panel.rezone()
      this.draw(data)
    },
    pending: panel.pending,
    refuse(text) {
      const refused = part('refused', HTMLElement)
      refused.textContent = text
      refused.hidden = text === ''
      if (text !== '') panel.pending('')
    },
    note(text) {
      panel.note(text)
      showTable([], 60, shown?.unit ?? '')
      shown = undefined
      tape.note('')
      part('facts', HTMLElement).replaceChildren()
    },
  }
}
