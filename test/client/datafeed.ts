/**
 * A chart's datafeed, in the shape that TradingView's charting library takes (its Datafeed API): written as by the author of such a
 * chart before the service. The library calls it, and it calls back.
 */
import type { Client } from 'openapi-fetch'
import type { paths } from '../../api/extras/clients/typescript/src/schema.ts'

/** `time` is the start of the bar, in ms. */
export type Bar = { time: number; open: number; high: number; low: number; close: number; volume: number }

/** Seconds: bars of `from ≤ time < to`, and at least `countBack` that end at `to`, even where they are older than `from`. */
export type PeriodParams = { from: number; to: number; countBack: number; firstDataRequest: boolean }

export type SymbolInfo = {
  /** A pair or a pool, as it was asked for. */
  ticker: string
  name: string
  exchange: string
  type: 'crypto'
  session: '24x7'
  timezone: 'Etc/UTC'
  has_intraday: true
  has_seconds: true
  supported_resolutions: readonly string[]
}

export type Datafeed = {
  onReady(callback: (configuration: { supported_resolutions: readonly string[] }) => void): void
  resolveSymbol(name: string, onResolve: (symbol: SymbolInfo) => void, onError: (reason: string) => void): void
  getBars(
    symbol: SymbolInfo,
    resolution: string,
    period: PeriodParams,
    onResult: (bars: readonly Bar[], meta: { noData: boolean }) => void,
    onError: (reason: string) => void,
  ): void
  subscribeBars(symbol: SymbolInfo, resolution: string, onTick: (bar: Bar) => void, listener: string): void
  unsubscribeBars(listener: string): void
}

/** Minutes, or seconds and days with their letter. */
const RESOLUTIONS = ['1S', '15S', '1', '5', '7', '15', '60', '240', '1D'] as const
const PAGE = 100
/** Whatever was first is later than this. */
const EVER = '1970-01-01'

/** `pollMs`: how often a chart that shows the present asks for what is new. */
export function chartDatafeed(client: Client<paths>, { pollMs }: { pollMs: number }): Datafeed {
  const listening = new Map<string, NodeJS.Timeout>()

  async function ask(
    { ticker }: SymbolInfo,
    resolution: string,
    range: { from?: string; to?: string; limit: number },
  ): Promise<Bar[]> {
    const market = ticker.startsWith('0x') ? { pool: ticker } : { symbol: ticker }
    const query = { ...market, interval: intervalOf(resolution), ...range }
    const { data, error } = await client.GET('/v0/candles', { params: { query } })
    if (data === undefined) throw new Error(error?.message ?? 'The service did not answer.')
    return data.data.map(({ time, ...prices }) => ({ time: Date.parse(time), ...prices }))
  }

  /** Page by page, the newest first; a page that is not full is the first one of all. */
  async function back(symbol: SymbolInfo, resolution: string, { from, to, countBack }: PeriodParams): Promise<Bar[]> {
    const bars: Bar[] = []
    for (let end = to * 1_000; ; ) {
      const page = await ask(symbol, resolution, { from: EVER, to: new Date(end).toISOString(), limit: PAGE })
      bars.unshift(...page)
      const [oldest] = page
      const isEnough = bars.length >= countBack && (oldest?.time ?? 0) <= from * 1_000
      if (oldest === undefined || page.length < PAGE || isEnough) return bars
      end = oldest.time
    }
  }

  return {
    onReady(callback) {
      setTimeout(callback, 0, { supported_resolutions: RESOLUTIONS })
    },
    resolveSymbol(name, onResolve, onError) {
      const symbol: SymbolInfo = {
        ticker: name,
        name,
        exchange: 'Candlepool',
        type: 'crypto',
        session: '24x7',
        timezone: 'Etc/UTC',
        has_intraday: true,
        has_seconds: true,
        supported_resolutions: RESOLUTIONS,
      }
      ask(symbol, '1D', { limit: 1 }).then(
        () => onResolve(symbol),
        (error: Error) => onError(error.message),
      )
    },
    getBars(symbol, resolution, period, onResult, onError) {
      back(symbol, resolution, period).then(
        (bars) => onResult(bars, { noData: bars.length === 0 }),
        (error: Error) => onError(error.message),
      )
    },
    subscribeBars(symbol, resolution, onTick, listener) {
      let last: Bar | undefined
      const poll = async () => {
        // The last bar may have grown since; those after it are new.
        const since = last && { from: new Date(last.time).toISOString() }
        const bars = await ask(symbol, resolution, { ...since, limit: last ? PAGE : 1 }).catch(() => [])
        for (const bar of bars) {
          if (last && isSame(last, bar)) continue
          last = bar
          if (listening.has(listener)) onTick(bar)
        }
        if (listening.has(listener)) listening.set(listener, setTimeout(poll, pollMs))
      }
      listening.set(listener, setTimeout(poll, 0))
    },
    unsubscribeBars(listener) {
      clearTimeout(listening.get(listener))
      listening.delete(listener)
    },
  }
}

function intervalOf(resolution: string): string {
  const [, count = '', unit = ''] = /^(\d+)([SD]?)$/.exec(resolution) ?? []
  return `${count}${unit === '' ? 'm' : unit.toLowerCase()}`
}

function isSame(one: Bar, other: Bar): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
