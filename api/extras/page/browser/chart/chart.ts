/// <reference lib="dom" />
/** Candles and volume, drawn by TradingView's Lightweight Charts. */
import {
  CandlestickSeries,
  ColorType,
  CrosshairMode,
  createChart,
  HistogramSeries,
  type IChartApi,
  type IPriceLine,
  type ISeriesApi,
  TickMarkType,
  type UTCTimestamp,
} from 'lightweight-charts'
import { decimalsOf, priceText, timeText } from '../lib/format.ts'
import { isUtc } from '../lib/zone.ts'
import { type BarSide, type ChartCandle, isSame, sidesOfVolume } from './candles.ts'
import { onPaletteChange, type Palette, readPalette } from './palette.ts'
import { firstView, MAX_BAR_PIXELS } from './view.ts'

export type Chart = {
  /** All rows with their sides, ascending, in the direction of the pair. `reset`: another market, so the view starts at its newest candles. */
  draw(rows: readonly ChartCandle[], sides: readonly BarSide[], interval: number, reset: boolean): void
  /** Writes the times of the axis again: their zone has changed. */
  rezone(): void
}

export type ChartEvents = {
  /** The view reached the oldest candle. */
  older(): void
  /** Undefined where the pointer has left. */
  pointed(time: number | undefined): void
}

export function openChart(container: HTMLElement, on: ChartEvents): Chart {
  return new CandleChart(container, on)
}

class CandleChart implements Chart {
  #palette = readPalette()
  #interval = 60
  #drawn: readonly ChartCandle[] = []
  #sides: readonly BarSide[] = []
  /** False while the page sets the view: only the reader scrolls back. */
  #isSettled = false
  readonly #chart: IChartApi
  readonly #candles: ISeriesApi<'Candlestick'>
  readonly #volume: ISeriesApi<'Histogram'>
  /** Over `#volume`, which is seen where takers sold. */
  readonly #bought: ISeriesApi<'Histogram'>
  readonly #latest: IPriceLine

  constructor(container: HTMLElement, on: ChartEvents) {
    this.#chart = createChart(container, {
      autoSize: true,
      // The notice and the link are at the foot of the page; the logo would add a style that the page's policy forbids.
      layout: { attributionLogo: false, fontFamily: getComputedStyle(container).fontFamily, fontSize: 11 },
      crosshair: { mode: CrosshairMode.Normal },
      timeScale: { rightOffset: 3, minBarSpacing: 1, maxBarSpacing: MAX_BAR_PIXELS, timeVisible: true },
      localization: { locale: 'en', timeFormatter: (time: unknown) => timeText(Number(time), this.#interval) },
    })
    this.#candles = addCandles(this.#chart)
    this.#latest = this.#candles.createPriceLine({
      price: 0,
      lineStyle: 2,
      lineVisible: false,
      axisLabelVisible: false,
    })
    this.#volume = addVolume(this.#chart)
    this.#bought = addVolume(this.#chart)
    this.#paint()
    onPaletteChange(() => {
      this.#palette = readPalette()
      this.#paint()
    })
    this.rezone()
    this.#chart.subscribeCrosshairMove(({ time }) => on.pointed(typeof time === 'number' ? time : undefined))
    this.#chart.timeScale().subscribeVisibleLogicalRangeChange((range) => {
      if (this.#isSettled && range !== null && range.from < -1) on.older()
    })
    container.addEventListener('keydown', (event) => {
      const acted = this.#steer(event.key)
      if (acted) event.preventDefault()
    })
  }

  draw(rows: readonly ChartCandle[], sides: readonly BarSide[], seconds: number, reset: boolean): void {
    const sameStart = !reset && seconds === this.#interval && this.#drawn[0]?.time === rows[0]?.time
    const kept = sameStart && this.#drawn.length <= rows.length ? firstDifference(this.#drawn, rows) : 0
    const newest = this.#drawn.at(-1)?.time ?? 0
    this.#interval = seconds
    this.#drawn = rows
    this.#sides = sides
    this.#paintLatest()
    // The newest candles changed, or there are more of them: the common case while live.
    if (kept > 0) {
      for (const { candle, volume, bought } of this.#bars(kept)) {
        const isOld = candle.time < newest
        this.#candles.update(candle, isOld)
        this.#volume.update(volume, isOld)
        this.#bought.update(bought, isOld)
      }
      return
    }
    const decimals = decimalsOf(rows.at(-1)?.close ?? 1)
    this.#candles.applyOptions({
      priceFormat: {
        type: 'custom',
        formatter: (price: number) => priceText(price, decimals),
        minMove: 10 ** -decimals,
      },
    })
    this.#chart.applyOptions({ timeScale: { secondsVisible: seconds < 60 } })
    this.#setData()
    if (reset) this.#showNewest()
  }

  rezone(): void {
    // A new function makes the chart forget the labels that it has drawn.
    const tickMarkFormatter = (time: unknown, type: TickMarkType) => markText(Number(time), type, this.#interval)
    this.#chart.applyOptions({ timeScale: { tickMarkFormatter } })
  }

  #setData(): void {
    const bars = this.#bars()
    this.#candles.setData(bars.map(({ candle }) => candle))
    this.#volume.setData(bars.map(({ volume }) => volume))
    this.#bought.setData(bars.map(({ bought }) => bought))
  }

  /** The drawn rows from that index on, as the library takes them. */
  #bars(from = 0) {
    return this.#drawn.slice(from).map((row, index) => toBars(row, this.#sides[from + index], this.#palette))
  }

  #showNewest(): void {
    const { length } = this.#drawn
    this.#isSettled = false
    this.#chart.timeScale().setVisibleLogicalRange(firstView(length))
    // The view changes with the next frame.
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        this.#isSettled = length > 0
      }),
    )
  }

  #paint(): void {
    const { back, muted, grid, line, label } = this.#palette
    this.#chart.applyOptions({
      layout: { background: { type: ColorType.Solid, color: back }, textColor: muted },
      grid: { vertLines: { color: grid }, horzLines: { color: grid } },
      rightPriceScale: { borderColor: line },
      timeScale: { borderColor: line },
      crosshair: {
        vertLine: { color: muted, labelBackgroundColor: label },
        horzLine: { color: muted, labelBackgroundColor: label },
      },
    })
    this.#setData()
    this.#paintLatest()
  }

  #paintLatest(): void {
    const row = this.#drawn.at(-1)
    const { up, down, onSide } = this.#palette
    this.#latest.applyOptions({
      price: row?.close ?? 0,
      color: this.#sides.at(-1) === 'down' ? down : up,
      axisLabelTextColor: onSide,
      lineVisible: row !== undefined,
      axisLabelVisible: row !== undefined,
    })
  }

  #steer(key: string): boolean {
    const scale = this.#chart.timeScale()
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
}

function addCandles(chart: IChartApi): ISeriesApi<'Candlestick'> {
  const candles = chart.addSeries(CandlestickSeries, {
    borderVisible: false,
    // The library's own label shows the last visible candle, which is an old price after scrolling back.
    lastValueVisible: false,
    priceLineVisible: false,
  })
  candles.priceScale().applyOptions({ scaleMargins: { top: 0.08, bottom: 0.24 } })
  return candles
}

/** Bars of one scale, the later ones over the earlier ones. */
function addVolume(chart: IChartApi): ISeriesApi<'Histogram'> {
  const volume = chart.addSeries(HistogramSeries, {
    priceScaleId: 'volume',
    priceFormat: { type: 'volume' },
    lastValueVisible: false,
    priceLineVisible: false,
  })
  volume.priceScale().applyOptions({ scaleMargins: { top: 0.82, bottom: 0 } })
  return volume
}

/** A candle without trades has neither a colour nor a volume. */
function toBars(row: ChartCandle, side: BarSide | undefined, { muted, up, down, upSoft, downSoft }: Palette) {
  const { open, high, low, close, volume } = row
  const { bought } = sidesOfVolume(row)
  const time = row.time as UTCTimestamp
  const strong = side === 'down' ? down : up
  const color = volume === 0 ? muted : strong
  // The library draws a bar of 0 as a line.
  const bar = (value: number, shown: string) => ({ time, value, color: value === 0 ? 'transparent' : shown })
  return {
    candle: { time, open, high, low, close, color, wickColor: color },
    volume: bar(volume, downSoft),
    bought: bar(bought, upSoft),
  }
}

/** The index from which on two runs with one start differ. */
function firstDifference(before: readonly ChartCandle[], after: readonly ChartCandle[]): number {
  const index = after.findIndex((row, at) => {
    const old = before[at]
    return old === undefined || !isSame(old, row)
  })
  return index === -1 ? after.length : index
}

/** Null: as the chart does it, in UTC. Marks are at days of UTC, which begin at any hour of another zone. */
function markText(time: number, type: TickMarkType, interval: number): string | null {
  if (isUtc()) return null
  const text = timeText(time, interval)
  if (type === TickMarkType.Time || type === TickMarkType.TimeWithSeconds) return text.slice(11)
  return interval >= 86_400 ? text.slice(0, 10) : text.slice(5)
}
