/** The page and the embedded chart at every size, in every state: nothing overlaps, and everything can be scrolled to. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { Candles } from '../../body.ts'
import { POOLS } from '../../scenario.ts'
import { type Service, startService } from '../../service.ts'
import { chromiumPath, launch, openTab, type Watched } from './browser.ts'
import { fitsEverySize } from './layout.ts'
import { storeLively } from './lively.ts'
import { isLive, price } from './reading.ts'

const END = Date.UTC(2024, 0, 5, 14, 3, 20) / 1_000

describe.skipIf(withoutClickHouse || chromiumPath === undefined)('the layout of the page', () => {
  let database: TestDatabase
  let service: Service
  let browser: Browser
  let tab: Watched
  let began = 0
  const clock = () => new Date(END * 1_000 + Date.now() - began)

  beforeAll(async () => {
    database = await freshDatabase()
    await storeLively(database.client, END, 25)
    began = Date.now()
    // Its page has one more part: the notice of a devnet.
    const networks = [{ ...NETWORKS.ethereum, devnet: true }]
    service = await startService({ client: database.client, networks, clock, freshMs: 100, pollMs: 3_000 })
    browser = await launch()
  })
  afterEach(async () => {
    await tab?.context.close()
    expect(tab?.complaints).toEqual([])
  })
  afterAll(async () => {
    await browser?.close()
    await service?.stop()
    await database?.drop()
  })

  async function open(path: string): Promise<Page> {
    tab = await openTab(browser, { clock })
    await tab.page.goto(service.url + path)
    return tab.page
  }

  const openMarket = (place = '') => open(`/#code=${service.code()}${place}`)

  test('has room for the key form', async () => {
    const page = await open('/#key=not-of-the-address')
    await page.getByText('Addresses stay in the history').waitFor()
    await fitsEverySize(page, 'door')
  })

  test('has room for a market with both of its sections', async () => {
    const page = await openMarket()
    await isLive(page)
    await fitsEverySize(page, 'market')
  })

  test('has room for a market that is loading', async () => {
    const page = await open('/')
    await page.route('**/v0/**', () => undefined)
    await page.getByLabel('API key').fill(service.key)
    await page.keyboard.press('Enter')
    await page.getByText('Loading …').first().waitFor()
    await fitsEverySize(page, 'loading')
  })

  test('has room for notices of an API that is down', async () => {
    const page = await openMarket()
    await isLive(page)
    await page.route('**/v0/**', (route) => route.abort())
    await page.getByRole('button', { name: '15m' }).click()
    await page.getByText('WETH-USDC 15m (execution) follows by itself').waitFor()
    await fitsEverySize(page, 'error')
  })

  test('has room for a pool without trades beside a refused link', async () => {
    const page = await openMarket(`&pool=${POOLS.silent.id}&network=ethereum`)
    await page.getByText('No trade yet', { exact: true }).waitFor()
    await page.goto(`${service.url}/#pool=0x${'77'.repeat(32)}`)
    await page.locator('#refused').waitFor()
    await fitsEverySize(page, 'no-data')
  })

  test('has room for a search with hits and for one without', async () => {
    const page = await openMarket()
    await isLive(page)
    const field = page.getByRole('combobox', { name: 'Pair or pool' })
    await field.click()
    await page.locator('#pairs [role=option]').first().waitFor()
    for (const typed of ['', 'btc-usdc']) {
      await field.fill(typed)
      await fitsEverySize(page, `search for ${typed}`, true)
    }
    const popup = await page.locator('#offers').boundingBox()
    expect((popup?.y ?? 0) + (popup?.height ?? 0)).toBeLessThanOrEqual(1_440)
  })

  test('has room for the embedded chart and its key form', async () => {
    const page = await open('/embed#interval=1h')
    await page.getByLabel('API key').waitFor()
    await fitsEverySize(page, 'embed-door')
    await page.getByLabel('API key').fill(service.key)
    await page.keyboard.press('Enter')
    await isLive(page)
    await fitsEverySize(page, 'embed')
  })

  test('shows the change of 24 h beside the price, in the direction of the pair', async () => {
    tab = await openTab(browser, { clock })
    const { page } = tab
    const [before] = await Promise.all([
      page.waitForResponse(/\/v0\/candles\?.*interval=1s.*&limit=1&to=2024-01-04T14%3A/),
      page.goto(`${service.url}/#code=${service.code()}`),
    ])
    const [candle] = Candles.parse(await before.json()).data
    const change = page.locator('#facts > :nth-child(2)')
    await change.getByText(/^[+−]\d+\.\d\d%$/).waitFor()
    expect(await change.locator('dt').textContent()).toBe('24 h change')
    const text = (await change.locator('dd').textContent()) ?? ''
    expect(await change.locator('dd').getAttribute('class')).toBe(text.startsWith('−') ? 'loss' : 'gain')
    const number = (figure: string | null) => Number(figure?.replace('−', '-').replace(/[%,]/g, ''))
    expect(number(text)).toBeCloseTo((number(await price(page)) / (candle?.close ?? 0) - 1) * 100, 1)
    await page.getByRole('button', { name: 'Flip pair' }).click()
    await page.locator('#facts dt').getByText('USDC in WETH').waitFor()
    const flipped = text.startsWith('−') ? /^\+\d+\.\d\d%$/ : /^−\d+\.\d\d%$/
    await change.getByText(flipped).waitFor()
  })
})
