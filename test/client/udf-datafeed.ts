/** A chart's datafeed over `/v0/udf`, as the adapters of chart libraries do it: a requester with headers, and the members of UDF. */
import type { Datafeed, SymbolInfo } from './datafeed.ts'

type Columns = { s: string; errmsg?: string } & Record<'t' | 'o' | 'h' | 'l' | 'c' | 'v', number[]>

export function udfDatafeed(url: string, headers: Record<string, string>): Datafeed {
  const polling = new Map<string, NodeJS.Timeout>()

  async function send<Answer>(name: string, parameters: Record<string, string | number> = {}): Promise<Answer> {
    const query = new URLSearchParams(Object.entries(parameters).map(([key, value]) => [key, String(value)]))
    const answer = await fetch(`${url}/v0/udf/${name}?${query}`, { headers })
    return JSON.parse(await answer.text()) as Answer
  }
  async function history(symbol: SymbolInfo, resolution: string, range: Record<string, number>) {
    const answer = await send<Columns>('history', { symbol: symbol.ticker, resolution, ...range })
    if (answer.s === 'no_data') return []
    if (answer.s !== 'ok') throw new Error(answer.errmsg)
    const at = (name: 'o' | 'h' | 'l' | 'c' | 'v', index: number) => answer[name][index] ?? Number.NaN
    return answer.t.map((second, index) => ({
      time: second * 1_000,
      open: at('o', index),
      high: at('h', index),
      low: at('l', index),
      close: at('c', index),
      volume: at('v', index),
    }))
  }

  return {
    onReady(callback) {
      void send<{ supported_resolutions: readonly string[] }>('config').then(callback)
    },
    resolveSymbol(name, onResolve, onError) {
      send<SymbolInfo & { s?: string; errmsg?: string }>('symbols', { symbol: name }).then(
        (answer) => (answer.s === undefined ? onResolve(answer) : onError(answer.errmsg ?? '')),
        (error: Error) => onError(error.message),
      )
    },
    getBars(symbol, resolution, { from, to, countBack }, onResult, onError) {
      history(symbol, resolution, { from: Math.max(0, from), to, countback: countBack }).then(
        (bars) => onResult(bars, { noData: bars.length === 0 }),
        (error: Error) => onError(error.message),
      )
    },
    subscribeBars(symbol, resolution, onTick, listener) {
      let last = 0
      const poll = async () => {
        const now = Number(await (await fetch(`${url}/v0/udf/time`, { headers })).text())
        const bars = await history(symbol, resolution, {
          from: now - 1,
          to: now + 1,
          countback: last === 0 ? 1 : 20,
        }).catch(() => [])
        for (const bar of bars) {
          if (last !== 0 && bar.time < last) continue
          last = bar.time
          if (polling.has(listener)) onTick(bar)
        }
        if (polling.has(listener)) polling.set(listener, setTimeout(poll, 20))
      }
      polling.set(listener, setTimeout(poll, 0))
    },
    unsubscribeBars(listener) {
      clearTimeout(polling.get(listener))
      polling.delete(listener)
    },
  }
}
