/** Programs of the kind that such services are made for, as their authors would write them: a chart, a bot, the README's own loop. */
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { BlockContent } from '../../../../ingest/model/message.ts'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import { createClient } from '../../../client/client.ts'
import { type Bar, chartDatafeed, type Datafeed, type SymbolInfo } from '../../../client/datafeed.ts'
import { fetchOhlcv, pageBack } from '../../../client/ohlcv.ts'
import { udfDatafeed } from '../../../client/udf-datafeed.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { type FoldTick, fillFolded, foldTicks } from '../../../support/fold.ts'
import { openStore } from '../../../support/store.ts'
import { until } from '../../../support/until.ts'
import { type Service, startService } from '../../service.ts'
import { POOL, walkFrom } from '../../walk.ts'

const SEED = Number(process.env['SEED'] ?? 1)
const HOUR = 3_600
const JANUARY = Date.UTC(2026, 0, 1) / 1_000
const FEBRUARY = Date.UTC(2026, 1, 1) / 1_000
/** The market is some hours older than January, and lasts for some days after it. */
const [FIRST, LAST] = [JANUARY - 7 * HOUR, FEBRUARY + 70 * HOUR]
const COUNT_BACK = 329

describe.skipIf(withoutClickHouse)('clients', () => {
  const walk = walkFrom(FIRST, SEED)
  const blocks: BlockContent[] = []
  let database: TestDatabase
  let service: Service
  let store: (blocks: readonly BlockContent[]) => Promise<void>
  let now = 0

  beforeAll(async () => {
    database = await freshDatabase()
    store = openStore(database.client, 'ethereum')
    await goOn(LAST)
    const options = { client: database.client, networks: [NETWORKS.ethereum], clock: () => new Date(now * 1_000) }
    service = await startService({ ...options, freshMs: 100 })
  })
  afterAll(async () => {
    await service?.stop()
    await database?.drop()
  })

  /** The market and the clock move on. */
  async function goOn(to: number): Promise<void> {
    const more = walk.on(to)
    await store(more)
    blocks.push(...more)
    now = (blocks.at(-1)?.timestamp ?? 0) + 30
  }
  const client = () => createClient({ url: service.url, key: service.key })
  const traded = (): FoldTick[] =>
    blocks.flatMap(({ timestamp, ticks }) =>
      ticks.map(({ price, amount1 }) => ({
        timestamp: new Date(timestamp * 1_000).toISOString(),
        price,
        amount1: `${amount1 / 10n ** 18n}.${`${amount1 < 0n ? -amount1 : amount1}`.padStart(19, '0').slice(-18)}`,
      })),
    )
  /** Every bar of the market, as its trades say. */
  const folded = (interval: number): Bar[] =>
    fillFolded(foldTicks(traded(), interval), interval, now).map(({ time, ...prices }) => ({
      time: Date.parse(time),
      ...prices,
    }))

  describe('a chart', () => {
    const resolve = (feed: Datafeed, name: string) =>
      new Promise<SymbolInfo>((done, fail) => feed.resolveSymbol(name, done, (reason) => fail(new Error(reason))))

    /** A user drags the chart to the right, from now until no older candle is left. */
    async function scrollBack(feed: Datafeed, symbol: SymbolInfo, resolution: string, interval: number) {
      const bars: Bar[] = []
      for (let to = now + 1; ; to = (bars[0]?.time ?? 0) / 1_000) {
        const period = { from: to - 300 * interval, to, countBack: COUNT_BACK, firstDataRequest: bars.length === 0 }
        const [page, { noData }] = await new Promise<[readonly Bar[], { noData: boolean }]>((done, fail) =>
          feed.getBars(
            symbol,
            resolution,
            period,
            (...result) => done(result),
            (reason) => fail(new Error(reason)),
          ),
        )
        if (noData) return bars
        bars.unshift(...page)
      }
    }

    const feeds = {
      candles: () => chartDatafeed(client(), { pollMs: 50 }),
      UDF: () => udfDatafeed(service.url, { 'X-API-KEY': service.key }),
    } as const

    test.each([
      ['candles', '7', 7 * 60, POOL.id],
      ['candles', '60', HOUR, POOL.id],
      ['candles', '240', 4 * HOUR, POOL.id],
      ['candles', '1D', 24 * HOUR, POOL.id],
      ['candles', '60', HOUR, 'USDC-WETH'],
      ['UDF', '15', 15 * 60, POOL.id],
      ['UDF', '60', HOUR, POOL.id],
      ['UDF', '240', 4 * HOUR, POOL.id],
      ['UDF', '1D', 24 * HOUR, 'USDC-WETH'],
    ] as const)(
      'scrolls from now to the first trade over every bar once: %s, %s, %i s, %s',
      async (kind, resolution, interval, name) => {
        const feed = feeds[kind]()
        const ready = await new Promise<{ supported_resolutions: readonly string[] }>((done) => feed.onReady(done))
        expect(ready.supported_resolutions).toContain(resolution)
        const bars = await scrollBack(feed, await resolve(feed, name), resolution, interval)
        expect(bars.length).toBeGreaterThan(30)
        expect(bars).toEqual(folded(interval))
        expect(bars).toEqual(await whole(name, interval))
      },
    )

    test.each(['candles', 'UDF'] as const)('a symbol that nothing trades is told of: %s', async (kind) => {
      await expect(resolve(feeds[kind](), 'NOPE-WETH')).rejects.toThrow('NOPE-WETH')
    })

    test.each(['candles', 'UDF'] as const)('grows live, bar by bar, and never goes back: %s', async (kind) => {
      const feed = feeds[kind]()
      const symbol = await resolve(feed, POOL.id)
      const seen: Bar[] = []
      feed.subscribeBars(symbol, '60', (bar) => seen.push(bar), 'chart')
      const caughtUp = () => JSON.stringify(seen.at(-1)) === JSON.stringify(folded(HOUR).at(-1))
      const isSeen = async () => caughtUp() || undefined
      await until(isSeen, 'the chart shows the present')
      const start = seen.at(-1)?.time ?? 0
      for (let step = 0; step < 5; step++) {
        await goOn(now + 2 * HOUR)
        await until(isSeen, 'the chart shows what was traded')
      }
      feed.unsubscribeBars('chart')
      const times = seen.map(({ time }) => time)
      expect(times).toEqual(times.toSorted((one, other) => one - other))
      // The last that was told of each bar is the bar.
      expect([...new Map(seen.map((bar) => [bar.time, bar])).values()]).toEqual(
        folded(HOUR).filter(({ time }) => time >= start),
      )
      const told = seen.length
      await goOn(now + 2 * HOUR)
      await new Promise((done) => setTimeout(done, 200))
      expect(seen).toHaveLength(told)
    })

    /** The other way, in ranges with both ends. */
    async function whole(name: string, interval: number): Promise<Bar[]> {
      const bars: Bar[] = []
      const market = name.startsWith('0x') ? `pool=${name}` : `symbol=${name}`
      for (let from = FIRST - (FIRST % interval); from <= now; from += 100 * interval) {
        const [start, end] = [from, from + 100 * interval].map((second) => new Date(second * 1_000).toISOString())
        const path = `/v0/candles?${market}&interval=${interval}s&from=${start}&to=${end}&limit=100`
        const { data } = (await service.get(path)).body as { data: (Omit<Bar, 'time'> & { time: string })[] }
        bars.push(...data.map(({ time, ...prices }) => ({ time: Date.parse(time), ...prices })))
      }
      return bars
    }
  })

  test('a bot that pages a month of hours with `to` has each of them once', async () => {
    const rows = await pageBack(client(), { pool: POOL.id }, '1h', { from: JANUARY * 1_000, to: FEBRUARY * 1_000 })
    expect(rows.map(([time]) => time / 1_000)).toEqual(
      Array.from({ length: (FEBRUARY - JANUARY) / HOUR }, (_, index) => JANUARY + index * HOUR),
    )
    const bars = folded(HOUR).filter(({ time }) => time >= JANUARY * 1_000 && time < FEBRUARY * 1_000)
    expect(rows).toEqual(bars.map(({ time, open, high, low, close, volume }) => [time, open, high, low, close, volume]))
  })

  test('ccxt’s OHLCV begins at `since` and has no more bars than `limit`', async () => {
    const since = JANUARY * 1_000 + 5 * HOUR * 1_000
    const rows = await fetchOhlcv(client(), { symbol: 'USDC-WETH' }, '1h', since, 10)
    const bars = folded(HOUR).filter(({ time }) => time >= since)
    expect(rows).toEqual(
      bars.slice(0, 10).map(({ time, open, high, low, close, volume }) => [time, open, high, low, close, volume]),
    )
    const [newest] = await fetchOhlcv(client(), { pool: POOL.id }, '1h', undefined, 1)
    expect(newest?.[0]).toBe(folded(HOUR).at(-1)?.time)
  })

  test('an answer that is kept has one tag, compressed or not, and it is a weak one', async () => {
    const path = `/v0/candles?pool=${POOL.id}&interval=1h&limit=100&to=2026-01-10`
    const ask = (more: Record<string, string>) =>
      service.get(path, { 'X-API-KEY': service.key, 'Cache-Control': 'max-age=0', ...more })
    const [gzip, identity] = [await ask({ 'Accept-Encoding': 'gzip' }), await ask({ 'Accept-Encoding': 'identity' })]
    expect([gzip, identity].map(({ headers }) => headers.get('content-encoding'))).toEqual(['gzip', null])
    expect(gzip.body).toEqual(identity.body)
    const tag = gzip.headers.get('etag') ?? ''
    expect(tag).toMatch(/^W\/"[\w-]+"$/)
    const known = await ask({ 'Accept-Encoding': 'identity', 'If-None-Match': tag })
    expect([known.status, known.body]).toEqual([304, ''])
    for (const { headers } of [gzip, identity, known]) {
      expect([headers.get('etag'), headers.get('vary')]).toEqual([tag, 'Accept, Accept-Encoding'])
    }
  })

  test('the loop of the documents finds every tick once, in the order of the chain', async () => {
    const text = await readFile(new URL('../../../../api/extras/docs/api.md', import.meta.url), 'utf8')
    const [, code = ''] = /## Paging ticks[\s\S]*?```js\n([\s\S]*?)```/.exec(text) ?? []
    const loop = new AsyncFunction('BASE', 'KEY', 'pool', `${code}; return ticks.map(({ id }) => id)`)
    const found: string[] = await loop(service.url, service.key, POOL.id)
    const expected = blocks
      .filter(({ timestamp }) => timestamp >= JANUARY)
      .flatMap(({ ticks }) => ticks.map(({ transactionHash, logIndex }) => `${transactionHash}-${logIndex}`))
    // Or there would be one page.
    expect(expected.length).toBeGreaterThan(1_000)
    expect(found).toEqual(expected)
  })
})

const AsyncFunction = (async () => {}).constructor as new (
  ...parts: readonly string[]
) => (...values: readonly string[]) => Promise<string[]>
