import { readFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { amountText, decimalsOf, priceText } from '../../../../api/extras/page/browser/lib/format.ts'
import type { PoolListBody } from '../../../../api/extras/pool-lists/operation.ts'
import { candleColumns } from '../../../../api/market/answer-rows.ts'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { startProxy, type TcpProxy } from '../../../support/proxy.ts'
import { drawn, inSoak } from '../../../support/sample.ts'
import { until } from '../../../support/until.ts'
import { Candles, CandlesWithFlow } from '../../body.ts'
import { NETWORKS_SERVED, POOLS } from '../../scenario.ts'
import { type Service, startService } from '../../service.ts'
import { inEveryAppearance, oneRowOnDesks } from './appearances.ts'
import { barAt, tallBar } from './bars.ts'
import { chromiumPath, launch, openTab, type Screen, shot, type Watched } from './browser.ts'
import { type Lively, POLL_MS, storeLively } from './lively.ts'
import { accessible, amountOf, asked, isLive, newestTrade, price, streamsOf, untilPolledNoMore } from './reading.ts'

const END = Date.UTC(2024, 0, 5, 14, 3, 20) / 1_000
const MAIN = POOLS.main.id

describe.skipIf(withoutClickHouse || chromiumPath === undefined)('the page', () => {
  let database: TestDatabase
  let service: Service
  let proxy: TcpProxy
  let browser: Browser
  let market: Lively
  let began = 0
  const tabs: Watched[] = []
  const services: Service[] = []
  /** Runs as ours does, from the market's end on. */
  const clock = () => new Date(END * 1_000 + Date.now() - began)
  const now = () => Math.floor(clock().getTime() / 1_000)

  beforeAll(async () => {
    database = await freshDatabase()
    market = await storeLively(database.client, END, 5, 2_000, () => {
      for (const { look } of services) look({ network: 'ethereum' })
    })
    began = Date.now()
    const { port } = new URL(database.connection.url)
    proxy = await startProxy(Number(port))
    service = await start({})
    browser = await launch()
  })
  afterEach(async () => {
    for (const { context, complaints, requests } of tabs.splice(0)) {
      await context.close()
      expect(complaints).toEqual([])
      const addresses = requests.map((request) => new URL(request.url()))
      const origins = addresses.filter(({ protocol }) => protocol !== 'data:').map(({ origin }) => origin)
      expect(new Set(origins).size).toBe(1)
      expect(services.map(({ url }) => url)).toContain(origins[0])
      expect(addresses.filter(({ href }) => href.includes('cp_'))).toEqual([])
    }
  })
  afterAll(async () => {
    await browser?.close()
    for (const one of services) await one.stop()
    await proxy?.stop()
    await database?.drop()
  })

  /** Writes are told to it, as by an aggregator in its process. */
  async function start(options: Partial<Parameters<typeof startService>[0]>): Promise<Service> {
    const same = { client: database.client, networks: NETWORKS_SERVED, clock, pollMs: POLL_MS, freshMs: 100 }
    const started = await startService({ ...same, ...options })
    services.push(started)
    return started
  }

  async function open(fragment: string, screen: Screen = {}, of = service): Promise<Watched> {
    const tab = await openTab(browser, { clock, ...screen })
    tabs.push(tab)
    await tab.page.goto(`${of.url}/${fragment}`)
    return tab
  }

  async function openLive(screen: Screen = {}, of = service, place = ''): Promise<Watched> {
    const tab = await open(`#code=${of.code()}${place}`, screen, of)
    await isLive(tab.page)
    return tab
  }

  const SCREENS = drawn<[string, Screen]>(
    'screens',
    [
      ['light', {}],
      ['dark', { dark: true }],
      ['phone', { width: 390, height: 844 }],
      ['phone-dark', { width: 390, height: 844, dark: true }],
    ],
    1,
  )
  test.each(SCREENS)('is for everyone to use: %s', async (name, screen) => {
    const { page } = await openLive(screen)
    await page
      .locator('#facts')
      .getByText(/[\d.]+M USDC$/)
      .first()
      .waitFor()
    await shot(page, name)
    await accessible(page)
    await page.locator('#rows summary').click()
    await page.locator('#pair').click()
    await shot(page, `${name}-open`)
    await accessible(page)
    // Nothing is wider than the screen.
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0)
  })

  test('exchanges the code of the link for the key, and sends that in a header only', async () => {
    const tab = await openLive()
    expect(tab.page.url()).not.toMatch(/code=|key=/)
    const [exchange, ...more] = tab.requests.filter((request) => request.method() !== 'GET')
    expect([new URL(exchange?.url() ?? '').pathname, more]).toEqual(['/page/code', []])
    expect(await tab.page.evaluate(() => [...Object.values(sessionStorage)])).toEqual([service.key])
    expect(await tab.page.evaluate(() => localStorage.length + document.cookie.length)).toBe(0)
    const questions = tab.requests.filter((request) => request.url().includes('/v0/'))
    expect(questions.length).toBeGreaterThan(4)
    for (const question of questions) expect(question.headers()['x-api-key']).toBe(service.key)
    await tab.page.reload()
    await isLive(tab.page)
    // A link that is good no more takes nothing from the tab that it was good in.
    await tab.page.goto(`${service.url}/#code=${'x'.repeat(32)}`)
    await isLive(tab.page)
  })

  test(
    'says plainly that a link was opened before, in another browser too, and takes the key instead',
    inSoak,
    async () => {
      const code = service.code()
      const first = await open(`#code=${code}`)
      await isLive(first.page)
      const { page } = await open(`#code=${code}`)
      await page.getByText('This link was opened before').waitFor()
      await inEveryAppearance(page, 'used-link')
      expect(page.url()).not.toContain('code=')
      await page.getByLabel('API key').fill(service.key)
      await page.keyboard.press('Enter')
      await isLive(page)
    },
  )

  test('takes no key from an address, and leaves none there', async () => {
    const { page } = await open('#key=not-of-the-address')
    await page.getByText('Addresses stay in the history').waitFor()
    expect(page.url()).not.toContain('key=')
    expect(await page.evaluate(() => sessionStorage.length)).toBe(0)
  })

  test('asks for a key, and says which one is wrong', async () => {
    const { page } = await open('')
    const field = page.getByLabel('API key')
    await field.waitFor()
    expect(await field.evaluate((it) => it === document.activeElement)).toBe(true)
    await inEveryAppearance(page, 'no-key')
    await field.fill('cp_wrong')
    await page.keyboard.press('Enter')
    await page.getByText('This key is not known here.').waitFor()
    await inEveryAppearance(page, 'wrong-key')
    await field.fill(service.key)
    await page.keyboard.press('Enter')
    await isLive(page)
    await page.getByRole('button', { name: 'Forget key' }).click()
    await field.waitFor()
    expect(await page.evaluate(() => sessionStorage.length)).toBe(0)
  })

  test('a pair is picked with the keyboard, its pool read as the pair is written', async () => {
    const tab = await openLive()
    const { page } = tab
    tab.questions()
    await page.getByRole('combobox', { name: 'Pair or pool' }).focus()
    await page.keyboard.type('weth/usdc')
    await page.keyboard.press('ArrowDown')
    // The scene before the search stays live until the pools are found.
    const found = page.waitForResponse((it) => it.url().includes('/v0/pools'))
    const pools = await asked(tab, '/v0/pools', () => page.keyboard.press('Enter'))
    await (await found).finished()
    // Ether and its wrapped form are one pair.
    expect(pools.get('symbol')).toBe('ETH-USDC')
    await isLive(page)
    expect(await page.locator('#pools option').count()).toBe(2)

    // What is drawn is what the API says, the other way round.
    const { body } = await service.get(`/v0/candles?pool=${MAIN}&interval=1m&limit=2&to=2024-01-05T14:03:00Z`)
    const [older, newer] = Candles.parse(body).data
    await page.locator('#rows summary').click()
    const row = await page.locator('#candle-rows tr', { hasText: '2024-01-05 14:02' }).locator('td').allTextContents()
    const shown = row.slice(0, 4).map((text) => Number(text.replaceAll(',', '')))
    const inverse = [newer?.open, newer?.low, newer?.high, newer?.close].map((it) => Number((1 / (it ?? 0)).toFixed(2)))
    expect(shown).toEqual(inverse)
    expect(older?.time).toBe('2024-01-05T14:01:00Z')
    expect(await page.locator('#ticks tr').count()).toBe(100)
    const link = await page.locator('#ticks a').first().getAttribute('href')
    expect(link).toMatch(/^https:\/\/etherscan\.io\/tx\/0x[0-9a-f]{64}$/)
    // The pointer's candles are drawn: the canvas is not of one colour.
    expect(await colours(page)).toBeGreaterThan(5)

    await page.getByRole('button', { name: 'Flip pair' }).click()
    await until(
      async () => (/^0\.000/.test((await price(page)) ?? '') ? true : undefined),
      'the price is the other way round',
    )
    expect(tab.questions().filter(({ searchParams }) => !searchParams.has('pool'))).toHaveLength(1)
  })

  test('a pair that is flipped during its search is shown flipped', async () => {
    const { page } = await openLive()
    let release = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    await page.route('**/v0/pools?*', async (route) => {
      await released
      await route.continue()
    })
    await page.getByRole('combobox', { name: 'Pair or pool' }).fill('weth/usdc')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Flip pair' }).click()
    release()
    const isInEther = async () => (/^0\.000/.test((await price(page)) ?? '') ? true : undefined)
    await until(isInEther, 'the price is the other way round')
    expect(await page.getByRole('combobox', { name: 'Pair or pool' }).inputValue()).toMatch(/^USDC-W?ETH$/)
  })

  test('all pairs are compared in a table, and one is opened from there', async () => {
    const tab = await openLive()
    const { page } = tab
    const before = tab.requests.length
    await page.locator('#overview summary').click()
    const rows = page.locator('#overview-rows tr')
    await rows.first().waitFor()
    await inEveryAppearance(page, 'overview')
    const table = (await rows.all()).map((row) => row.locator('th, td').allTextContents())
    const [first, ...more] = await Promise.all(table)
    expect(first?.[0]).toBe('ETH-USDC')
    const answer = await tab.requests.findLast((it) => it.url().includes('/pools/top'))?.response()
    const body: PoolListBody = await answer?.json()
    const [main] = body.data
    const percent = (change: number) => `${(-100 * change) / (1 + change)}`.replace(/^(?!-)/, '+').slice(0, 4)
    expect(first?.slice(2, 5).map((text) => text.replace('−', '-').slice(0, 4))).toEqual(
      [main?.change5m, main?.change1h, main?.change24h].map((change) => (change == null ? '–' : percent(change))),
    )
    expect(more.map(([pair]) => pair)).toEqual(['WBTC-ETH'])
    // On chain the pool is USDC-WETH: its sells are purchases of ether.
    const count = (sides?: number | null) => sides?.toLocaleString('en')
    expect(main?.pair?.buys24h).toBeGreaterThan(100)
    expect(first?.slice(5, 7)).toEqual([count(main?.pair?.sells24h), count(main?.pair?.buys24h)])
    await page.locator('#overview-rows button', { hasText: 'WBTC-ETH' }).click()
    await page.getByText('No trade yet', { exact: true }).waitFor()
    expect(page.url()).toContain(POOLS.silent.id)
    expect(tab.requests.slice(before).filter((it) => it.url().includes('/pools/top')).length).toBeLessThan(2)
  })

  async function minuteOf(time: string) {
    const to = new Date(Date.parse(time) + 60_000).toISOString()
    const query = `symbol=WETH-USDC&pool=${MAIN}&interval=1m&from=${time}&to=${to}&include=flow`
    const [candle] = CandlesWithFlow.parse((await service.get(`/v0/candles?${query}`)).body).data
    if (candle === undefined) throw new Error(`There is no candle of ${time}.`)
    return candle
  }

  test('a volume bar has a bought part and a sold part, which legend and table say', async () => {
    await market.rest(now())
    const { page } = await openLive()
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      // The bars move where a minute begins.
      await until(
        async () => {
          const { x, y } = await tallBar(page)
          await page.mouse.move(x, y)
          const { legend, bought, sold } = await barAt(page, x)
          const { volume, buyVolume, vwap, close } = await minuteOf(`${legend.slice(0, 16).replace(' ', 'T')}:00Z`)
          const sides = `Buys ${amountText(buyVolume)}Sells ${amountText(volume - buyVolume)}`
          const average = priceText(vwap ?? 0, decimalsOf(close))
          expect(legend).toContain(`Vol ${amountText(volume)} USDC${sides}VWAP ${average}`)
          expect(bought * sold).toBeGreaterThan(0)
          // Pixels are rounded.
          expect(Math.abs(bought - (bought + sold) * (buyVolume / volume)), colorScheme).toBeLessThan(1.6)
          return true
        },
        'a bar has the parts of its legend',
        20_000,
      )
      await shot(page, `bars-${colorScheme}`)
    }
    await page.locator('#rows summary').click()
    const cells = await page.locator('#candle-rows tr').nth(5).locator('th, td').allTextContents()
    const { volume, buyVolume } = await minuteOf(`${cells[0]?.replace(' ', 'T')}:00Z`)
    expect(cells.slice(5)).toEqual([volume, buyVolume, volume - buyVolume].map(amountText))
  })

  test('the flow of the last hour is that of its minutes, in the chart or by one request', async () => {
    await market.rest(now())
    const tab = await openLive()
    const { page } = tab
    const requests = () =>
      tab.requests.map((it) => new URL(it.url()).searchParams).filter((query) => query.get('limit') === '60')
    const isOf = (symbol: string) =>
      until(async () => {
        const shown = page.locator('#facts .flow')
        // The hour of the figure: a minute may begin meanwhile.
        const [, date, minute] = /Until (\S+) (\S+) UTC/.exec((await shown.getAttribute('title')) ?? '') ?? []
        const query = `symbol=${symbol}&pool=${MAIN}&interval=1m&limit=60&include=flow&to=${date}T${minute}:00Z`
        const { data } = CandlesWithFlow.parse((await service.get(`/v0/candles?${query}`)).body)
        const sum = (of: (row: (typeof data)[number]) => number) => data.reduce((total, row) => total + of(row), 0)
        const share = (100 * sum(({ buyVolume }) => buyVolume)) / sum(({ volume }) => volume)
        const [buys, sells] = [sum((row) => row.buys), sum((row) => row.sells)]
        const text = `${share.toFixed(0)}% bought · ${buys} buys / ${sells} sells`
        return (await shown.textContent()) === text || undefined
      }, `the flow of ${symbol} is shown`)
    await isOf('WETH-USDC')
    expect(requests()).toEqual([])
    await page.getByRole('button', { name: '5m', exact: true }).click()
    await until(async () => page.url().includes('interval=5m') || undefined, 'another interval is shown')
    await isOf('WETH-USDC')
    await page.waitForTimeout(2_500)
    expect(requests()).toEqual([])
    await page.getByRole('button', { name: 'Flip pair' }).click()
    await isOf('USDC-WETH')
    await page.getByRole('button', { name: 'Flip pair' }).click()
    await isOf('WETH-USDC')
    await page.waitForTimeout(2_500)
    // One of each direction.
    expect(requests().map((query) => [query.get('interval'), query.get('include'), query.get('symbol')])).toEqual([
      ['1m', 'flow', null],
      ['1m', 'flow', 'WETH-USDC'],
    ])
  })

  test('loaded candles are downloaded as CSV, and trades are counted by side', async () => {
    // Minutes after the newest block have no row.
    await market.rest(now())
    const { page } = await openLive()
    await page.locator('#rows summary').click()
    const [file] = await Promise.all([page.waitForEvent('download'), page.locator('#csv').click()])
    expect(file.suggestedFilename()).toBe('WETH-USDC-1m.csv')
    const [head, ...lines] = readFileSync((await file.path()) ?? '', 'utf8')
      .trimEnd()
      .split('\r\n')
    expect(head).toBe(candleColumns(['flow']).join())
    // A minute may begin meanwhile.
    expect([99, 100, 101]).toContain(lines.length)
    const times = lines.map((line) => Date.parse(line.split(',')[0] ?? ''))
    expect(times).toEqual(times.map((_, index) => (times[0] ?? 0) + index * 60_000))
    const candle = await minuteOf(lines[50]?.split(',')[0] ?? '')
    expect(lines[50]).toBe(Object.values(candle).join())
    const [told, ...sides] = await page.locator('#sides, #ticks .side').allTextContents()
    const bought = sides.filter((side) => side === 'Buy').length
    expect(told).toBe(`${bought} bought, ${sides.length - bought} sold`)
  })

  test('a pool is picked by its id, and a pair without pools is reported', async () => {
    const tab = await openLive()
    const { page } = tab
    const field = page.getByRole('combobox', { name: 'Pair or pool' })
    await field.fill(POOLS.side.id)
    // The shown pool stays live until this one is found.
    const words = new RegExp(`${POOLS.side.id}.*interval=1m&price`)
    const candles = await asked(tab, words, () => page.keyboard.press('Enter'))
    expect(candles.get('networks')).toBe('ethereum')
    await page.getByText('No trade yet', { exact: true }).waitFor()
    await page.getByText('No trade in the last hour').waitFor()
    await inEveryAppearance(page, 'empty')
    expect(page.url()).toContain(`pool=${POOLS.side.id}`)
    await field.fill('NOPE-NADA')
    await page.keyboard.press('Enter')
    await page.locator('#refused').getByText('No pool that is stored here trades NOPE-NADA.').waitFor()
    await inEveryAppearance(page, 'no-pool')
    await field.fill(`0x${'77'.repeat(20)}`)
    await page.keyboard.press('Enter')
    await page
      .locator('#refused')
      .getByText(/^No pool 0x77\S+ is known on/)
      .waitFor()
    // The pool that was shown still is.
    expect(page.url()).toContain(`pool=${POOLS.side.id}`)
    expect(await field.inputValue()).toBe('WETH-USDC')
    await page.locator('#pools').selectOption({ index: 0 })
    await until(async () => (await page.locator('#ticks tr').count()) === 100 || undefined, 'the other pool is shown')
    expect(await page.locator('#refused').isVisible()).toBe(false)
  })

  const REFUSED_LINKS = [
    ['an unknown pool', `pool=0x${'77'.repeat(20)}&network=ethereum`, /^No pool 0x77\S+ is known on/],
    ['an ill-formed pool', 'pool=0x12', /^pool /],
    ['an unknown network', `pool=${MAIN}&network=nowhere`, /^networks /],
    ['an unknown pair', 'pair=NOPE-NADA', /^No pool that is stored here trades NOPE-NADA\./],
  ] as const
  test.each(drawn('refused links', REFUSED_LINKS, 2))(
    'a link to %s is refused in words, and the first pair is shown',
    async (_, place, text) => {
      const { page } = await openLive({}, service, `&${place}&interval=5m`)
      await page.locator('#refused').getByText(text).waitFor()
      expect(await page.locator('#ticks tr').count()).toBe(100)
      expect(page.url()).toContain(`pool=${MAIN}&network=ethereum&interval=5m`)
      await inEveryAppearance(page, 'refused')
      // A link in the open page leaves what is shown.
      await page.getByRole('button', { name: '15m' }).click()
      await until(async () => page.url().includes('interval=15m') || undefined, 'another interval is shown')
      expect(await page.locator('#refused').isVisible()).toBe(false)
      await page.goto(`${service.url}/#${place}`)
      await page.locator('#refused').getByText(text).waitFor()
      expect(page.url()).toContain(`pool=${MAIN}&network=ethereum&interval=15m`)
      expect(await page.locator('#ticks tr').count()).toBe(100)
    },
  )

  test('a link is not followed by more requests where the first pair is refused as well', async () => {
    const tab = await open('')
    const { page } = tab
    const refused = '**/v0/{pools,candles,ticks}*'
    await page.route(refused, (route) => route.fulfill({ status: 404, json: { code: 'unknown_pool', message: 'No.' } }))
    await page.goto(`${service.url}/#code=${service.code()}&pool=0x${'77'.repeat(20)}`)
    await page.locator('#chart-state').getByText('No.', { exact: true }).waitFor()
    await page.getByText('Idle', { exact: true }).waitFor()
    expect(await page.locator('#refused').isVisible()).toBe(false)
    expect(tab.questions().map(({ pathname }) => pathname)).toEqual(['/v0/candles', '/v0/pools'])
    // The search still has its list.
    await page.unroute(refused)
    await page.locator('#pair').click()
    await page.locator('#pairs [role=option]').first().click()
    await isLive(page)
  })

  test('a pool that is refused after its pair was found leaves the shown one', async () => {
    const { page } = await openLive()
    await page.route(`**/v0/candles?*${POOLS.side.id}*`, (route) =>
      route.fulfill({ status: 404, json: { code: 'unknown_pool', message: 'It is gone.' } }),
    )
    await page.locator('#pools').selectOption({ index: 1 })
    await page.locator('#refused').getByText('It is gone.').waitFor()
    await isLive(page)
    expect(page.url()).toContain(MAIN)
    expect(await page.locator('#ticks tr').count()).toBe(100)
  })

  test('intervals and prices are asked for as they are pressed', async () => {
    const tab = await openLive()
    const { page } = tab
    const minutes = await asked(tab, 'interval=5m', () => page.getByRole('button', { name: '5m', exact: true }).click())
    expect([minutes.get('limit'), minutes.get('price'), minutes.get('symbol')]).toEqual([
      '100',
      'execution',
      'WETH-USDC',
    ])
    await page.getByLabel('Another interval').fill('7m')
    await asked(tab, 'interval=7m', () => page.keyboard.press('Enter'))
    await isLive(page)
    expect(await page.getByRole('button', { name: '5m', exact: true }).getAttribute('aria-pressed')).toBe('false')
    const spot = page.getByRole('button', { name: 'Spot' })
    // Ticks of the price before may be asked for as it is pressed.
    const ticks = await asked(tab, /\/v0\/ticks\?.*price=spot/, () => spot.click())
    await isLive(page)
    expect([ticks.get('price'), await spot.getAttribute('aria-pressed')]).toEqual(['spot', 'true'])

    tab.questions()
    await page.getByLabel('Another interval').fill('2d')
    await page.keyboard.press('Enter')
    await page.getByText(/Not an interval: a whole number/).waitFor()
    await inEveryAppearance(page, 'wrong-interval')
    expect(tab.questions().filter(({ searchParams }) => searchParams.get('interval') === '2d')).toEqual([])
  })

  test('a chart that is scrolled back gets older candles, up to the first', inSoak, async () => {
    const tab = await openLive()
    const { page } = tab
    const older = () => tab.requests.map((it) => new URL(it.url()).searchParams).filter((query) => query.has('to'))
    const ends = () => older().map((query) => Date.parse(query.get('to') ?? ''))
    const untilAsked = (pages: number) =>
      until(async () => {
        await scrollBack(page)
        return ends().length >= pages || undefined
      }, 'the next page is asked for')
    // Before any scrolling.
    await page.waitForTimeout(1_500)
    expect(ends()).toEqual([])
    await untilAsked(1)
    const [first] = older()
    expect([first?.get('limit'), first?.get('pool'), first?.get('symbol')]).toEqual(['100', MAIN, 'WETH-USDC'])
    await untilAsked(2)
    expect((ends()[0] ?? 0) - (ends()[1] ?? 0)).toBe(100 * 60_000)
    await shot(page, 'scrolled')
    // The market is five hours old: once all of it is here, nothing more is asked for.
    let pages = 2
    for (let rounds = 0; rounds < 4; rounds += 1) {
      pages = ends().length
      for (let times = 0; times < 4; times += 1) await scrollBack(page)
      await page.waitForTimeout(2_000)
    }
    expect(ends()).toHaveLength(pages)
    expect(ends().at(-1)).toBeGreaterThan((END - 5 * 3_600) * 1_000)
    expect((ends().at(-1) ?? 0) - 100 * 60_000).toBeLessThanOrEqual((END - 5 * 3_600) * 1_000)
  })

  async function expectTraded(page: Page, dollars: string): Promise<void> {
    await until(async () => ((await newestTrade(page))[2] === dollars ? true : undefined), 'the trade is on the tape')
    expect((await newestTrade(page)).slice(1, 5)).toEqual(['Buy', dollars, '1', `$${dollars}`])
    await until(async () => ((await price(page)) === dollars ? true : undefined), 'the candle in progress has moved')
    expect(await page.title()).toMatch(new RegExp(`^${dollars} `))
    expect(await page.locator('#legend').textContent()).toContain(`C ${dollars}`)
    // It bought one ether; a minute may begin meanwhile.
    const bought = await page.locator('#candle-rows td:nth-child(7)').allTextContents()
    expect(Math.max(...bought.slice(0, 2).map(amountOf))).toBeGreaterThanOrEqual(amountOf(dollars))
  }

  test('two streams bring the trades, without questions', async () => {
    const tab = await openLive()
    await until(async () => streamsOf(tab).length === 2 || undefined, 'both streams are asked for')
    // Candles and trades are polled no more; the figures of the pool are.
    const isPoll = ({ searchParams }: URL) => searchParams.get('interval') !== '15m'
    await untilPolledNoMore(tab, isPoll)
    for (const dollars of [2_345.5, 2_346.5]) {
      await market.trade(dollars, now())
      await expectTraded(tab.page, `${dollars.toLocaleString('en-US')}0`)
    }
    expect(tab.questions().filter(isPoll)).toEqual([])
  })

  test('a second with one trade has the colour of its price against the one before', async () => {
    const { page } = await openLive({}, service, '&interval=1s')
    const side = () => page.locator('#legend').getAttribute('data-side')
    for (const [dollars, text, expected] of [
      [2_351.5, '2,351.50', 'up'],
      [2_350.5, '2,350.50', 'down'],
      [2_352.5, '2,352.50', 'up'],
    ] as const) {
      await page.waitForTimeout(1_100)
      await market.trade(dollars, now())
      await until(async () => ((await price(page)) === text ? true : undefined), 'the trade is drawn')
      expect(await side(), text).toBe(expected)
    }
  })

  test('a third tab polls, since a browser opens few connections to a host', inSoak, async () => {
    const tab = await openLive()
    await until(async () => streamsOf(tab).length === 2 || undefined, 'the first has streams')
    const others: Watched[] = []
    for (let count = 0; count < 2; count += 1) {
      const page = await tab.context.newPage()
      const requests: Watched['requests'] = []
      page.on('request', (request) => requests.push(request))
      await page.goto(`${service.url}/#code=${service.code()}`)
      await isLive(page)
      others.push({ ...tab, page, requests })
    }
    await until(async () => others.some((one) => streamsOf(one).length === 2) || undefined, 'the second has streams')
    await market.trade(2_349.5, now())
    for (const { page } of [tab, ...others]) await expectTraded(page, '2,349.50')
    expect(others.reduce((sum, one) => sum + streamsOf(one).length, 0)).toBe(2)
  })

  test('trades arrive without streams too, by one small question a second', inSoak, async () => {
    const tab = await open('')
    const { page } = tab
    await page.route('**/v0/**', (route) =>
      route.request().headers()['accept'] === 'text/event-stream' ? route.abort() : route.fallback(),
    )
    await page.goto(`${service.url}/#code=${service.code()}`)
    await isLive(page)
    await market.trade(2_347.5, now())
    await expectTraded(page, '2,347.50')

    const asked = () =>
      tab.questions().filter(({ searchParams }) => searchParams.has('from') || searchParams.has('interval'))
    asked()
    const start = Date.now()
    await page.waitForTimeout(5_000)
    const questions = asked()
    expect(questions.length).toBeGreaterThan(2)
    expect(questions.length).toBeLessThanOrEqual(Math.ceil((Date.now() - start) / 1_000))
    for (const { searchParams } of questions) {
      expect(searchParams.get('pool')).toBe(MAIN)
      expect(Number(searchParams.get('limit'))).toBeLessThanOrEqual(100)
    }
  })

  test('a trade that comes late is drawn where it belongs', inSoak, async () => {
    await market.rest(now())
    const { page } = await openLive({}, service, '&interval=1s')
    await page.locator('#rows summary').click()
    // An empty candle, which is held by now and not the newest one.
    const at = now() - 1
    const row = page.locator('#candle-rows tr', { hasText: new Date(at * 1_000).toISOString().slice(11, 19) })
    await row.getByText('0', { exact: true }).first().waitFor()
    await market.trade(2_111, at)
    await row.getByText('2,111.00').first().waitFor()
  })

  test('a hidden tab sends no requests, and resumes when it is visible', inSoak, async () => {
    const tab = await openLive()
    const hide = (hidden: boolean) =>
      tab.page.evaluate((value) => {
        Object.defineProperty(document, 'hidden', { value, configurable: true })
        document.dispatchEvent(new Event('visibilitychange'))
      }, hidden)
    await hide(true)
    await tab.page.waitForTimeout(500)
    const before = tab.requests.length
    await tab.page.waitForTimeout(3_500)
    expect(tab.requests.length).toBe(before)
    await hide(false)
    await tab.page.waitForRequest(/\/v0\//)
  })

  test('a small plan is never spent by more than half, and its end has a time', inSoak, async () => {
    // Its minute begins now.
    const offset = Date.UTC(2024, 0, 5, 14, 30) - Date.now()
    const clock = () => new Date(Date.now() + offset)
    const small = await start({ plan: 'free', clock })
    onTestFinished(small.stop)
    const spend = () => small.get(`/v0/ticks?pool=${MAIN}&limit=1`)
    for (let spent = 0; spent < 30; spent += 1) await spend()
    const tab = await openLive({ clock }, small)
    const { page } = tab
    await page.waitForTimeout(1_000)
    tab.questions()
    await page.waitForTimeout(9_000)
    // Some 27 credits are left, so 13 for a minute's live questions.
    expect(tab.questions().length).toBeLessThan(4)
    let status = 200
    while (status === 200) status = (await spend()).status
    expect(status).toBe(429)
    const text = page.getByText(/The credits of this minute are used up\. They come back at \d\d:\d\d:\d\d UTC\./)
    await page.getByRole('button', { name: '15m' }).click()
    await text.waitFor()
    await inEveryAppearance(page, 'limit')
    expect(await page.getByRole('button', { name: 'Try now' }).isVisible()).toBe(false)
  })

  test('a store that is down is waited for', inSoak, async () => {
    const { username, password, database: name } = database.connection
    const client = database.connect({ url: `http://127.0.0.1:${proxy.port}`, username, password, database: name })
    const behind = await start({ client, accounts: database.client })
    onTestFinished(behind.stop)
    const { page } = await openLive({}, behind)
    await proxy.goAway()
    await page.getByText(/The next try is at/).waitFor()
    await inEveryAppearance(page, 'store-down')
    expect(await page.locator('#ticks tr').count()).toBe(100)
    await proxy.comeBack()
    await page.getByRole('button', { name: 'Try now' }).click()
    await isLive(page)
    expect(await page.getByText(/The next try is at/).isVisible()).toBe(false)
  })

  test('made-up trades are said to be', async () => {
    const devnet = await start({ networks: [{ ...NETWORKS.ethereum, devnet: true }] })
    onTestFinished(devnet.stop)
    const { page } = await openLive({}, devnet)
    await page.getByText('these trades are made up').waitFor()
    await inEveryAppearance(page, 'devnet')
    expect(await page.locator('#ticks a').count()).toBe(0)
    await oneRowOnDesks(page)
  })

  test('files are kept for ever, the page that names them is revalidated', async () => {
    const page = await service.get('/', {})
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'; script-src 'self'")
    expect(page.headers.get('cache-control')).toBe('no-cache')
    const again = await service.get('/', {
      'If-None-Match': page.headers.get('etag') ?? '',
      'Cache-Control': 'max-age=0',
    })
    expect(again.status).toBe(304)
    const files = [...String(page.body).matchAll(/(?:href|src)="(\/page\/[^"]+)"/g)].map(([, path]) => path ?? '')
    expect(files).toHaveLength(3)
    for (const path of files) {
      const file = await service.get(path, {})
      expect([file.status, file.headers.get('cache-control')]).toEqual([200, 'public, max-age=31536000, immutable'])
      if (path.endsWith('.js')) expect(file.headers.get('content-encoding')).not.toBeNull()
    }
    expect((await service.get('/', {}, 'POST')).status).toBe(405)
  })
})

async function scrollBack(page: Page): Promise<void> {
  await page.locator('#chart').evaluate(async (chart) => {
    for (let press = 0; press < 14; press += 1) {
      chart.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowLeft' }))
      await new Promise((resolve) => requestAnimationFrame(resolve))
    }
  })
}

/** How many there are on the chart. */
function colours(page: Page): Promise<number> {
  return page.evaluate(() => {
    const seen = new Set<number>()
    for (const canvas of document.querySelectorAll('canvas')) {
      const pixels = canvas.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height).data.buffer
      for (const pixel of new Uint32Array(pixels ?? new ArrayBuffer(0))) seen.add(pixel)
    }
    return seen.size
  })
}
