/** A chart on another site, with the library lightweight-charts: bars come over UDF, across origins, with the key in a header. */
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { ROOT } from '../../../support/files.ts'
import { openStore } from '../../../support/store.ts'
import { type Service, startService } from '../../service.ts'
import { walkFrom } from '../../walk.ts'
import { chromiumPath, launch, openTab, shot } from './browser.ts'

const HOUR = 3_600
const FIRST = Date.UTC(2026, 0, 1) / 1_000
const LAST = FIRST + 30 * 24 * HOUR
const BARS = 300

const LIBRARY = join(ROOT, 'node_modules/lightweight-charts/dist/lightweight-charts.standalone.production.js')
const PAGE = `<!doctype html><title>Chart</title><body style="margin:0"><div id="chart" style="height:600px"></div>
<script src="/library.js"></script>`

describe.skipIf(withoutClickHouse || chromiumPath === undefined)('a chart over UDF', () => {
  let database: TestDatabase
  let service: Service
  let browser: Browser
  let site: Server

  beforeAll(async () => {
    database = await freshDatabase()
    await openStore(database.client, 'ethereum')(walkFrom(FIRST, 1).on(LAST))
    const clock = () => new Date(LAST * 1_000)
    service = await startService({ client: database.client, networks: [NETWORKS.ethereum], clock })
    site = createServer((req, res) =>
      req.url === '/library.js'
        ? res.setHeader('Content-Type', 'text/javascript').end(readFileSync(LIBRARY))
        : res.setHeader('Content-Type', 'text/html').end(PAGE),
    )
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
    browser = await launch()
  })
  afterAll(async () => {
    await browser?.close()
    await new Promise((resolve) => (site ? site.close(resolve) : resolve(undefined)))
    await service?.stop()
    await database?.drop()
  })

  test('draws the bars of the symbol that was searched for', async () => {
    const { page, complaints } = await openTab(browser)
    await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`)
    const drawn = await page.evaluate(drawChart, { url: service.url, key: service.key, now: LAST, bars: BARS })
    expect(drawn.ticker).toMatch(/^ethereum:0x[0-9a-f]{40}:ETH-USDC$/)
    expect(drawn.times).toHaveLength(BARS)
    const steps = drawn.times.slice(1).map((time, index) => time - (drawn.times[index] ?? 0))
    expect(new Set(steps)).toEqual(new Set([HOUR]))
    const [, pool] = drawn.ticker.split(':')
    const to = new Date(LAST * 1_000).toISOString()
    const { body } = await service.get(`/v0/candles?pool=${pool}&symbol=WETH-USDC&interval=1h&limit=100&to=${to}`)
    expect((body as { data: { close: number }[] }).data.at(-1)?.close).toBe(drawn.close)
    expect(drawn.shown).toBe(drawn.close.toFixed(2))
    await page.waitForTimeout(300)
    await shot(page, 'udf-chart')
    expect(complaints).toEqual([])
  })
})

type Drawn = { ticker: string; times: number[]; close: number; shown: string }
type Bar = { time: number; open: number; high: number; low: number; close: number }
type Series = { setData(bars: Bar[]): void; data(): Bar[]; priceFormatter(): { format(price: number): string } }
type Library = {
  CandlestickSeries: unknown
  createChart(
    element: HTMLElement,
    options: object,
  ): {
    addSeries(kind: unknown, options: object): Series
    timeScale(): { fitContent(): void }
  }
}

/** Runs in the page. */
async function drawChart({
  url,
  key,
  now,
  bars,
}: {
  url: string
  key: string
  now: number
  bars: number
}): Promise<Drawn> {
  const ask = async (path: string) => (await fetch(`${url}/v0/udf/${path}`, { headers: { 'X-API-KEY': key } })).json()
  const [{ ticker }] = await ask('search?query=weth-usd&type=&exchange=&limit=1')
  const { pricescale } = await ask(`symbols?symbol=${encodeURIComponent(ticker)}`)
  const range = `from=${now - bars * 3_600}&to=${now}&countback=${bars}`
  const { t, o, h, l, c } = await ask(`history?symbol=${encodeURIComponent(ticker)}&resolution=60&${range}`)
  const { createChart, CandlestickSeries } = (globalThis as unknown as { LightweightCharts: Library }).LightweightCharts
  const chart = createChart(document.querySelector('#chart') as HTMLElement, { autoSize: true })
  const precision = Math.round(Math.log10(pricescale))
  const series = chart.addSeries(CandlestickSeries, {
    priceFormat: { type: 'price', precision, minMove: 1 / pricescale },
  })
  series.setData(
    t.map((time: number, index: number) => ({ time, open: o[index], high: h[index], low: l[index], close: c[index] })),
  )
  chart.timeScale().fitContent()
  const data = series.data()
  const { close } = data.at(-1) as Bar
  return { ticker, times: data.map(({ time }) => time), close, shown: series.priceFormatter().format(close) }
}
