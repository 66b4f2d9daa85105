/** The page while something is amiss: what it shows is of one scene and of one chain, whatever comes in between. */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { drawn, inSoak } from '../../../support/sample.ts'
import { addressOf, block, liquidity, openStore, poolOf } from '../../../support/store.ts'
import { until } from '../../../support/until.ts'
import { Candles } from '../../body.ts'
import { NETWORKS_SERVED, POOLS, sqrtPrice } from '../../scenario.ts'
import { type Service, startService } from '../../service.ts'
import { inEveryAppearance } from './appearances.ts'
import { chromiumPath, launch, openTab, type Screen, type Watched } from './browser.ts'
import { type Lively, POLL_MS, storeLively } from './lively.ts'
import { accessible, isLive, newestTrade, price, streamsOf } from './reading.ts'

const END = Date.UTC(2024, 0, 5, 14, 30) / 1_000

describe.skipIf(withoutClickHouse || chromiumPath === undefined)('the page', () => {
  const databases: TestDatabase[] = []
  const services: Service[] = []
  const tabs: Watched[] = []
  let service: Service
  let market: Lively
  let browser: Browser
  let began = 0
  const clock = () => new Date(END * 1_000 + Date.now() - began)
  const now = () => Math.floor(clock().getTime() / 1_000)

  beforeAll(async () => {
    const stored = await store(5, 2_000)
    ;({ service, market } = stored)
    browser = await launch()
  })
  afterEach(async () => {
    for (const { context, complaints } of tabs.splice(0)) {
      await context.close()
      expect(complaints).toEqual([])
    }
  })
  afterAll(async () => {
    await browser?.close()
    for (const one of services) await one.stop()
    for (const one of databases) await one.drop()
  })

  /** A service over a store of its own; keys are those of the first one. */
  async function store(hours: number, firstPrice: number, options: Partial<Parameters<typeof startService>[0]> = {}) {
    const database = await freshDatabase()
    databases.push(database)
    if (began === 0) began = Date.now()
    const isFirst = services.length === 0
    const market =
      hours === 0
        ? undefined
        : await storeLively(database.client, now(), hours, firstPrice, () => started.look({ network: 'ethereum' }))
    const started = await startService({
      client: database.client,
      accounts: databases[0]?.client ?? database.client,
      networks: NETWORKS_SERVED,
      clock,
      freshMs: 100,
      pollMs: POLL_MS,
      ...(services[0] && { key: services[0].key }),
      ...options,
    })
    services.push(started)
    if (!isFirst) onTestFinished(started.stop)
    return { service: started, market: market as Lively, database }
  }

  async function openLive(screen: Screen = {}, of = service, place = ''): Promise<Watched> {
    const tab = await openTab(browser, { clock, ...screen })
    tabs.push(tab)
    await tab.page.goto(`${of.url}/#code=${of.code()}${place}`)
    await isLive(tab.page)
    return tab
  }

  const pressed = (page: Page) => page.locator('#intervals [aria-pressed="true"]').allTextContents()
  const chartName = (page: Page) => page.locator('#chart').getAttribute('aria-label')
  /** The interval by the tab's name, the selected button, the address and the chart. */
  async function intervals(page: Page): Promise<readonly (string | undefined)[]> {
    const address = new URLSearchParams(new URL(page.url()).hash.slice(1)).get('interval') ?? undefined
    const [button] = await pressed(page)
    return [(await page.title()).split(' ').at(-1), button, address, (await chartName(page))?.split(' ').at(-1)]
  }
  const all = (interval: string) => [interval, interval, interval, interval]

  test.each([
    ['the API is down', 'abort'],
    ['the credits of the minute are used up', '429'],
  ] as const)('keeps tab, name and chart together while %s', async (_, how) => {
    const { page } = await openLive()
    expect(await intervals(page)).toEqual(all('1m'))
    await page.route('**/v0/**', async (route) => {
      if (how === 'abort') await route.abort()
      else
        await route.fulfill({
          status: 429,
          headers: { 'Retry-After': '3' },
          contentType: 'application/problem+json',
          body: JSON.stringify({ code: 'minute_credits_exceeded', message: 'used up' }),
        })
    })
    await page.getByRole('button', { name: '15m' }).click()
    await page.getByText('WETH-USDC 15m (execution) follows by itself').waitFor()
    expect(await intervals(page)).toEqual(all('1m'))
    expect(await page.locator('#intervals [aria-busy="true"]').allTextContents()).toEqual(['15m'])
    // Presses add up, and another pool of the pair is waited for likewise.
    await page.getByRole('button', { name: 'Spot' }).click()
    await page.getByText('WETH-USDC 15m (spot) follows by itself').waitFor()
    await page.locator('#pools').selectOption({ index: 1 })
    expect(await page.locator('#pools').evaluate((it: HTMLSelectElement) => it.selectedIndex)).toBe(0)
    await page.getByRole('button', { name: '1h' }).click()
    await page.getByText('WETH-USDC 1h').waitFor()
    if (how === '429') expect(await page.locator('#credits b').first().textContent()).toBe('0')
    await inEveryAppearance(page, `switch-${how}`)
    await page.unroute('**/v0/**')
    if (how === 'abort') await page.getByRole('button', { name: 'Try now' }).click()
    await until(async () => ((await intervals(page))[0] === '1h' ? true : undefined), 'the hours have come')
    expect(await intervals(page)).toEqual(all('1h'))
    expect(await page.locator('[aria-busy="true"]').count()).toBe(0)
  })

  /** Prices of trades and candles, in one go, for what is shown may change between two. */
  const dollarsOn = (page: Page) =>
    page
      .locator('#ticks td:nth-child(3), #candle-rows td:nth-child(5)')
      .evaluateAll((cells) => cells.map(({ textContent }) => Number(textContent?.replace(',', ''))))
  /** Texts that say how much of both chains was shown at once, until nothing is left of the old one. */
  async function mixtures(page: Page): Promise<readonly string[]> {
    const seen: string[] = []
    await until(async () => {
      const prices = await dollarsOn(page)
      const [old, fresh] = [prices.filter((it) => it < 3_000), prices.filter((it) => it > 3_000)]
      if (old.length > 0 && fresh.length > 0) seen.push(`${old.length} of the old chain beside ${fresh.length}`)
      return fresh.length > 0 && old.length === 0 ? true : undefined
    }, 'nothing of the old chain is left')
    return seen
  }

  test('shows one chain alone where the first trades of its stream are of another one', async () => {
    const other = await store(5, 3_500)
    const { service: own } = await store(5, 2_000)
    const tab = await openTab(browser, { clock })
    tabs.push(tab)
    const { page } = tab
    const moved = new AbortController()
    await page.route('**/v0/{candles,ticks}*', async (route) => {
      const request = route.request()
      const isStream = request.headers()['accept'] === 'text/event-stream'
      if (isStream && !moved.signal.aborted) await once(moved.signal, 'abort')
      if (!moved.signal.aborted) return route.continue()
      if (!isStream || !request.url().includes('/v0/ticks')) await sleep(4_000)
      await route.continue({ url: request.url().replace(own.url, other.service.url) })
    })
    await page.goto(`${own.url}/#code=${own.code()}`)
    await isLive(page)
    await page.locator('#rows summary').click()
    expect((await dollarsOn(page)).every((it) => it < 3_000)).toBe(true)
    moved.abort()
    expect(await mixtures(page)).toEqual([])
  })

  const STORES = drawn<[string, number]>(
    'stores',
    [
      ['as long', 5],
      ['hardly begun', 0.05],
    ],
    1,
  )
  test.each(STORES)('shows one chain alone after the store has another one, %s', async (_, hours) => {
    const other = await store(hours, 3_500)
    const { service: own } = await store(5, 2_000)
    const { page } = await openLive({}, own)
    await page.locator('#rows summary').click()
    expect((await dollarsOn(page)).every((it) => it < 3_000)).toBe(true)
    await page.route('**/v0/**', (route) =>
      route.continue({ url: route.request().url().replace(own.url, other.service.url) }),
    )
    // Its streams end.
    await own.stop()
    expect(await mixtures(page)).toEqual([])
    await page.waitForTimeout(3_000)
    expect((await dollarsOn(page)).filter((it) => it < 3_000)).toEqual([])
    await inEveryAppearance(page, `other-chain-${hours}`)
  })

  test('opens streams again where they have ended, and misses nothing meanwhile', inSoak, async () => {
    const { service: first, market, database } = await store(1, 2_000)
    const tab = await openLive({}, first)
    const { page } = tab
    await until(async () => streamsOf(tab).length === 2 || undefined, 'both streams are asked for')
    // Another process of the API takes over.
    const accounts = databases[0]?.client ?? database.client
    const same = { client: database.client, accounts, networks: NETWORKS_SERVED, clock, key: first.key }
    const second = await startService(same)
    services.push(second)
    onTestFinished(second.stop)
    await page.route('**/v0/**', (route) =>
      route.continue({ url: route.request().url().replace(first.url, second.url) }),
    )
    await first.stop()
    await market.trade(2_348.5, now())
    await until(async () => ((await price(page)) === '2,348.50' ? true : undefined), 'the candle has moved')
    expect((await newestTrade(page))[2]).toBe('2,348.50')
    await until(async () => streamsOf(tab).length === 4 || undefined, 'streams are asked for again')
    await market.trade(2_349.5, now())
    await until(async () => ((await price(page)) === '2,349.50' ? true : undefined), 'the candle has moved again')
  })

  test('labels the scale with the latest price, however far the reader has scrolled back', inSoak, async () => {
    const tab = await openTab(browser, { clock })
    tabs.push(tab)
    const { page } = tab
    await page.addInitScript(recordCanvasText)
    await page.goto(`${service.url}/#code=${service.code()}`)
    await isLive(page)
    await market.rest(now())
    const latest = (await price(page)) ?? ''
    await page.locator('#chart').focus()
    for (let press = 0; press < 4; press += 1) await page.keyboard.press('ArrowLeft')
    const scrolled = await canvasText(page)
    await inEveryAppearance(page, 'scrolled-label')
    // Ticks of the scale are round; what has more digits is a label.
    const exact = scrolled.filter((text) => /^\d,\d{3}\.\d\d$/.test(text) && !text.endsWith('.00'))
    expect(exact).toEqual([latest])
  })

  test('shows times in the zone of the browser where the reader wants it', async () => {
    const tab = await openTab(browser, { clock, timezone: 'Asia/Kathmandu' })
    tabs.push(tab)
    const { page } = tab
    await page.addInitScript(recordCanvasText)
    await page.goto(`${service.url}/#code=${service.code()}`)
    await isLive(page)
    await page.locator('#rows summary').click()
    const times = async () => [
      await page.locator('#candle-rows th').last().textContent(),
      (await newestTrade(page))[0],
      await page.locator('#ticks td').first().getAttribute('title'),
    ]
    const [row, trade, title] = await times()
    // Marks are at tens of minutes, beside that of the first candle.
    const marksAt = async (minute: string) =>
      (await canvasText(page)).filter((text) => text.match(/^\d\d:\d\d$/) && text.endsWith(minute)).length
    expect(await marksAt('0')).toBeGreaterThan(3)
    await page.getByRole('button', { name: 'Times are UTC' }).click()
    await page.getByRole('button', { name: 'Times are local (UTC+5:45)' }).waitFor()
    const later = (text: string | null = '') =>
      new Date(Date.parse(`${text?.replace(' ', 'T')}Z`) + 20_700_000).toISOString().replace('T', ' ')
    expect(await times()).toEqual([
      later(row).slice(0, 16),
      later(`2024-01-05 ${trade}`).slice(11, 19),
      `${later(title?.replace(' UTC', '')).slice(0, 19)} UTC+5:45`,
    ])
    expect(await marksAt('5')).toBeGreaterThan(3)
    expect(await marksAt('0')).toBeLessThan(2)
    await inEveryAppearance(page, 'local')
    // It is kept, unlike the key, for the next visit.
    await page.reload()
    await page.getByRole('button', { name: 'Times are local (UTC+5:45)' }).waitFor()
    await page.getByRole('button', { name: 'Times are local' }).click()
    expect(await page.evaluate(() => localStorage.length)).toBe(0)
  })

  test('draws few candles wide, so that they fill the chart from the right', async () => {
    const { page } = await openLive({}, service, '&interval=1h')
    const box = await page.locator('#chart').boundingBox()
    if (box === null) throw new Error('The chart has no box.')
    const y = box.y + box.height / 2
    const times: string[] = []
    for (let x = box.x + 2; x < box.x + box.width - 70; x += 4) {
      await page.mouse.move(x, y)
      times.push((await page.locator('#legend time').textContent()) ?? '')
    }
    await inEveryAppearance(page, 'few')
    const widths = [...new Set(times)].map((time) => times.filter((it) => it === time).length * 4)
    expect(widths.length).toBeGreaterThanOrEqual(5)
    // Of the candles between the first and the last one, pixels each.
    for (const width of widths.slice(1, -1)) expect(width).toBeGreaterThanOrEqual(52)
    for (const width of widths.slice(1, -1)) expect(width).toBeLessThanOrEqual(68)
  })

  test('spends the month so that a tab that stays open lasts to its end', inSoak, async () => {
    const tab = await openTab(browser, { clock })
    tabs.push(tab)
    const { page } = tab
    // Two credits for the start would open streams, which are looked at again after a minute.
    let month = 500
    const inDays = (days: number) => new Date((END + days * 86_400) * 1_000).toISOString()
    await page.route('**/v0/usage', async (route) => {
      const answer = await route.fetch()
      const body = await answer.json()
      Object.assign(body.credits.month, { limit: 10_000, used: 10_000 - month, remaining: month, reset_at: inDays(15) })
      await route.fulfill({ response: answer, json: body })
    })
    await page.goto(`${service.url}/#code=${service.code()}`)
    // 500 credits in 15 days are one in 43 minutes.
    const state = page.locator('#state')
    await state.getByText('Saving credits until').waitFor()
    const next = async () => {
      const [, at] = /until (\S+)/.exec((await state.textContent()) ?? '') ?? []
      return (Date.parse(`2024-01-05T${at}Z`) - clock().getTime()) / 60_000
    }
    expect(await next()).toBeGreaterThan(30)
    expect(await next()).toBeLessThan(180)
    await inEveryAppearance(page, 'saving')
    tab.questions()
    await page.waitForTimeout(4_000)
    expect(tab.questions()).toEqual([])
    // What the reader asks for is answered at once.
    await page.getByRole('button', { name: '15m' }).click()
    await until(async () => ((await intervals(page))[0] === '15m' ? true : undefined), 'the candles have come')
    month = 0
    await state.getByText('Saving credits until').waitFor()
  })

  const SCREENS = drawn<[string, Screen]>(
    'screens',
    [
      ['light', {}],
      ['phone-dark', { width: 390, height: 844, dark: true }],
    ],
    1,
  )
  test.each(SCREENS)(
    'offers pairs that have pools, each once, with price, day, volume and value: %s',
    async (name, screen) => {
      const tab = await openLive(screen)
      const { page } = tab
      const field = page.getByRole('combobox', { name: 'Pair or pool' })
      const offered = () => page.locator('#pairs strong').allTextContents()
      await field.click()
      await page.locator('#pairs [role=option]').first().waitFor()
      expect(await offered()).toEqual(['ETH-USDC', 'WBTC-ETH'])
      const [row] = await page.locator('#pairs [role=option]').allTextContents()
      expect(row).toMatch(/Wrapped Ether in USD Coin.* 24 h vol\. \$[\d.,]+M, holds \$[\d.]+M/)
      expect(row).toContain('2,013.93')
      if (name === 'light') await inEveryAppearance(page, 'search')
      await accessible(page)
      for (const typed of ['wrapped btc', POOLS.silent.token0.address, POOLS.silent.id]) {
        await field.fill(typed)
        expect(await offered(), typed).toEqual(['WBTC-ETH'])
      }
      await page.keyboard.press('Enter')
      await page.getByText('No trade yet', { exact: true }).waitFor()
      expect(page.url()).toContain(POOLS.silent.id)
    },
  )

  test('names pairs near a search without a hit, and requests nothing for it', async () => {
    const tab = await openLive()
    const { page } = tab
    const field = page.getByRole('combobox', { name: 'Pair or pool' })
    const offered = () => page.locator('#pairs strong').allTextContents()
    const none = page.locator('#pairs-none')
    const lists = () => tab.requests.filter((it) => /\/pools/.test(it.url())).length
    await field.click()
    await page.locator('#pairs [role=option]').first().waitFor()
    const before = lists()
    await field.fill('btc-usdc')
    expect(await none.textContent()).toBe('No listed pair matches btc-usdc. Near it:')
    expect(await offered()).toEqual(['WBTC-ETH', 'ETH-USDC'])
    await inEveryAppearance(page, 'near')
    await field.fill('nope-nada')
    expect(await none.textContent()).toBe('No listed pair matches nope-nada. Enter searches all pools.')
    expect(await offered()).toEqual([])
    await inEveryAppearance(page, 'no-hit')
    await field.fill(`<img src=x> ${'a'.repeat(100_000)}`)
    expect(await none.textContent()).toBe(
      `No listed pair matches <img src=x> ${'a'.repeat(12)}…. Enter searches all pools.`,
    )
    expect(lists()).toBe(before)
    // Without a hit Enter asks for what was typed, and a near name is chosen as others are.
    await field.fill('btc-usdx')
    const asked = page.waitForRequest((it) => it.url().includes('/v0/pools?symbol=btc-usdx'))
    await page.keyboard.press('Enter')
    await asked
    await page.locator('#refused').waitFor()
    expect(await field.inputValue()).toBe('WETH-USDC')
    await field.fill('btc-usdc')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.getByText('No trade yet', { exact: true }).waitFor()
    expect(page.url()).toContain(POOLS.silent.id)
    await field.fill('WETHUSDC')
    await page.keyboard.press('Enter')
    await until(async () => page.url().includes(POOLS.main.id) || undefined, 'the pair is shown')
    expect(page.url()).toContain('pair=WETH-USDC')
  })

  test('lists new pools with when they were first seen, and opens one from there', inSoak, async () => {
    // What is stored below the tip is told by no change, so nothing may be held.
    const { service: own, database } = await store(1, 2_000, { freshMs: 0 })
    const openOverview = async () => {
      const { page } = await openLive({}, own)
      await page.locator('#overview summary').click()
      return page
    }
    const before = await openOverview()
    await before.getByText('None with a trusted token holds $10,000 over a day').waitFor()
    await inEveryAppearance(before, 'overview-none')
    const at = now() - 100_000
    const { token0, token1 } = POOLS.pepe
    const pool = poolOf(addressOf('fe'), token0, token1, { initialSqrtPriceX96: sqrtPrice(1n, 10n ** 6n) })
    await openStore(
      database.client,
      'ethereum',
    )([block(900, at, { pools: [pool], liquidity: [liquidity(pool, 1, -887_220, 887_220, 10n ** 23n)] })])
    const page = await openOverview()
    const row = page.locator('#newest-rows tr')
    await row.waitFor()
    await inEveryAppearance(page, 'overview-newest')
    const cells = await row.locator('th, td').allTextContents()
    const seen = new Date(at * 1_000).toISOString().replace('T', ' ').slice(0, 16)
    expect(cells.slice(0, 8)).toEqual(['PEPE-ETH', 'Ethereum', seen, '–', '–', '0', '0', '–'])
    expect(cells[8]).toMatch(/^\$\d+\.\d\dK$/)
    await row.getByRole('button').click()
    await page.getByText('No trade yet', { exact: true }).waitFor()
    expect(page.url()).toContain(pool.id)
  })

  test('looks again while the store is empty, and shows the first pair that it has', inSoak, async () => {
    const empty = await store(0, 0)
    const tab = await openTab(browser, { clock })
    tabs.push(tab)
    const { page } = tab
    await page.goto(`${empty.service.url}/#code=${empty.service.code()}`)
    await page.getByText('No pool is stored here yet').first().waitFor()
    await inEveryAppearance(page, 'empty-store')
    expect(tab.questions()).toEqual([])
    await storeLively(empty.database.client, now(), 1, 2_500)
    await isLive(page)
    expect(await intervals(page)).toEqual(all('1m'))
    expect(Number((await price(page))?.replace(',', ''))).toBeGreaterThan(2_300)
  })

  test('shows volume in what is paid with, whichever way round the pair is read', inSoak, async () => {
    const { page } = await openLive()
    const units = async () => [
      (await page.locator('#legend span', { hasText: 'Vol' }).textContent())?.split(' ').at(-1),
      (await page.locator('#volume-title').textContent())?.split(' ').at(-1),
      (await page.locator('#facts dd').nth(2).textContent())?.split(' ').at(-1),
    ]
    const stand = (unit: string) =>
      until(
        async () => ((await units()).every((it) => it === unit) ? true : undefined),
        `volume is in ${unit} in legend, table and figures`,
      )
    // On chain the pool is USDC-WETH.
    await stand('USDC')
    await page.locator('#rows summary').click()
    const [time = '', , , , close, dollars] = await page
      .locator('#candle-rows tr')
      .last()
      .locator('th, td')
      .allTextContents()
    // A minute may begin meanwhile, and another row be the last one.
    const cells = () => page.locator('#candle-rows tr', { hasText: time }).locator('th, td').allTextContents()
    const { body } = await service.get(`/v0/candles?pool=${POOLS.main.id}&interval=1m&limit=100`)
    const { data } = Candles.parse(body)
    const candle = data.find((one) => one.time.startsWith(time.replace(' ', 'T')))
    const number = (text: string | undefined) => Number(text?.replaceAll(',', ''))
    // The pool's own volume is in ether.
    expect(number(dollars) / number(close) / (candle?.volume ?? 0)).toBeGreaterThan(0.99)
    expect(number(dollars) / number(close) / (candle?.volume ?? 0)).toBeLessThan(1.01)
    await inEveryAppearance(page, 'volume')
    await page.getByRole('button', { name: 'Flip pair' }).click()
    await stand('WETH')
    expect(number((await cells())[5])).toBeCloseTo(candle?.volume ?? 0, 1)
  })
})

/** The canvases say what is written on them. */
function recordCanvasText(): void {
  const written = new Set<string>()
  Object.assign(globalThis, { written })
  const fillText = CanvasRenderingContext2D.prototype.fillText
  CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
    written.add(text)
    return fillText.call(this, text, ...rest)
  }
}

/** The text of some frames, after a key that moves the chart. */
function canvasText(page: Page): Promise<string[]> {
  return page.evaluate(async () => {
    const { written } = globalThis as unknown as { written: Set<string> }
    written.clear()
    document.querySelector('#chart')?.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowLeft' }))
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve))
    for (let frames = 0; frames < 4; frames += 1) await frame()
    return [...written]
  })
}
