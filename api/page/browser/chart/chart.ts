/// <reference lib="dom" />
/** Candles and volume, drawn by TradingView's Lightweight Charts. */
import {
  CandlestickSeries,
  ColorType,
  CrosshairMode,
  createChart,
  HistogramSeries,
  type UTCTimestamp,
} from 'lightweight-charts'
import { decimalsOf, priceText, timeText } from '../lib/format.ts'
import { type ChartCandle, isSame } from './candles.ts'
import { onPaletteChange, type Palette, readPalette } from './palette.ts'
import { firstView, MAX_BAR_PIXELS } from './view.ts'

export type Chart = {
  /** All rows, ascending, in the direction of the pair. `reset`: another market, so the view starts at its newest candles. */
  draw(rows: readonly ChartCandle[], interval: number, reset: boolean): void
}

export function openChart(
  container: HTMLElement,
  on: {
    /** The view reached the oldest candle. */
    older(): void
    /** Undefined where the pointer has left. */
    pointed(time: number | undefined): void
  },
): Chart {
  let palette = readPalette()
  let interval = 60
  let drawn: readonly ChartCandle[] = []
  /** False while the page sets the view: only the reader scrolls back. */
  let isSettled = false
  const chart = createChart(container, {
    autoSize: true,
    // The notice and the link are at the foot of the page; the logo would add a style that the page's policy forbids.
    layout: { attributionLogo: false, fontFamily: getComputedStyle(container).fontFamily, fontSize: 11 },
    crosshair: { mode: CrosshairMode.Normal },
    timeScale: { rightOffset: 3, minBarSpacing: 1, maxBarSpacing: MAX_BAR_PIXELS, timeVisible: true },
    localization: { locale: 'en', timeFormatter: (time: unknown) => timeText(Number(time), interval) },
  })
  const candles = chart.addSeries(CandlestickSeries, {
    borderVisible: false,
    // The library's own label shows the last visible candle, which is an old price after scrolling back.
    lastValueVisible: false,
    priceLineVisible: false,
  })
  const latest = candles.createPriceLine({ price: 0, lineStyle: 2, lineVisible: false, axisLabelVisible: false })
  candles.priceScale().applyOptions({ scaleMargins: { top: 0.08, bottom: 0.24 } })
  const volume = chart.addSeries(HistogramSeries, {
    priceScaleId: '',
    priceFormat: { type: 'volume' },
    lastValueVisible: false,
    priceLineVisible: false,
  })
  volume.priceScale().applyOptions({ scaleMargins: { top: 0.82, bottom: 0 } })

  paint()
  onPaletteChange(() => {
    palette = readPalette()
    paint()
  })

  chart.subscribeCrosshairMove(({ time }) => on.pointed(typeof time === 'number' ? time : undefined))
  chart.timeScale().subscribeVisibleLogicalRangeChange((range) => {
    if (isSettled && range !== null && range.from < -1) on.older()
  })
  container.addEventListener('keydown', (event) => {
    const acted = steer(event.key)
    if (acted) event.preventDefault()
  })

  function paint(): void {
    const { back, muted, grid, line, label, up, down } = palette
    chart.applyOptions({
      layout: { background: { type: ColorType.Solid, color: back }, textColor: muted },
      grid: { vertLines: { color: grid }, horzLines: { color: grid } },
      rightPriceScale: { borderColor: line },
      timeScale: { borderColor: line },
      crosshair: {
        vertLine: { color: muted, labelBackgroundColor: label },
        horzLine: { color: muted, labelBackgroundColor: label },
      },
    })
    candles.applyOptions({ upColor: up, downColor: down, wickUpColor: up, wickDownColor: down })
    candles.setData(drawn.map((row) => toCandle(row, palette)))
    volume.setData(drawn.map((row) => toVolume(row, palette)))
    paintLatest()
  }

  function paintLatest(): void {
    const row = drawn.at(-1)
    const { up, down, onSide } = palette
    latest.applyOptions({
      price: row?.close ?? 0,
      color: row !== undefined && row.close < row.open ? down : up,
      axisLabelTextColor: onSide,
      lineVisible: row !== undefined,
      axisLabelVisible: row !== undefined,
    })
  }

  function steer(key: string): boolean {
    const scale = chart.timeScale()
    const range = scale.getVisibleLogicalRange()
    if (range === null) return false
    const width = range.to - range.from
    const moves: Readonly<Record<string, () => void>> = {
      ArrowLeft: () => scale.setVisibleLogicalRange({ from: range.from - width / 10, to: range.to - width / 10 }),
      ArrowRight: () => scale.setVisibleLogicalRange({ from: range.from + width / 10, to: range.to + width / 10 }),
      '+': () => scale.setVisibleLogicalRange({ from: range.from + width / 5, to: range.to }),
      '-': () => scale.setVisibleLogicalRange({ from: range.from - width / 4, to: range.to }),
      End: () => scale.scrollToRealTime(),
    }
    moves[key]?.()
    return key in moves
  }

  return {
    draw(rows, seconds, reset) {
      const sameStart = !reset && seconds === interval && drawn[0]?.time === rows[0]?.time
      const kept = sameStart && drawn.length <= rows.length ? firstDifference(drawn, rows) : 0
      const newest = drawn.at(-1)?.time ?? 0
      interval = seconds
      drawn = rows
      paintLatest()
      // The newest candles changed, or there are more of them: the common case while live.
      if (kept > 0) {
        for (const row of rows.slice(kept)) {
          candles.update(toCandle(row, palette), row.time < newest)
          volume.update(toVolume(row, palette), row.time < newest)
        }
        return
      }
      const decimals = decimalsOf(rows.at(-1)?.close ?? 1)
      candles.applyOptions({
        priceFormat: {
          type: 'custom',
          formatter: (price: number) => priceText(price, decimals),
          minMove: 10 ** -decimals,
        },
      })
      chart.applyOptions({ timeScale: { secondsVisible: interval < 60 } })
      candles.setData(rows.map((row) => toCandle(row, palette)))
      volume.setData(rows.map((row) => toVolume(row, palette)))
      if (!reset) return
      isSettled = false
      chart.timeScale().setVisibleLogicalRange(firstView(rows.length))
      // The view changes with the next frame.
      requestAnimationFrame(() =>
        requestAnimationFrame(() => {
          isSettled = rows.length > 0
        }),
      )
    },
  }
}

/** A candle without trades has neither a colour nor a volume. */
function toCandle({ time, open, high, low, close, volume }: ChartCandle, { muted }: Palette) {
  const bar = { time: time as UTCTimestamp, open, high, low, close }
  return volume === 0 ? { ...bar, color: muted, wickColor: muted } : bar
}

function toVolume({ time, open, close, volume }: ChartCandle, { upSoft, downSoft }: Palette) {
  const color = close >= open ? upSoft : downSoft
  return { time: time as UTCTimestamp, value: volume, color: volume === 0 ? 'transparent' : color }
}

/** The index from which on two runs with one start differ. */
function firstDifference(before: readonly ChartCandle[], after: readonly ChartCandle[]): number {
  const index = after.findIndex((row, at) => {
    const old = before[at]
    return old === undefined || !isSame(old, row)
  })
  return index === -1 ? after.length : index
}
