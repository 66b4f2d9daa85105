import type { Browser } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { NETWORKS_SERVED, POOLS } from '../api/scenario.ts'
import { type Service, startService } from '../api/service.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { chromiumPath, launch, openTab, type Screen, shot, type Watched } from './browser.ts'
import { type Lively, storeLively } from './lively.ts'

const END = Date.UTC(2024, 0, 5, 14, 3, 20) / 1_000

describe.skipIf(withoutClickHouse || chromiumPath === undefined)('the page', () => {
  let database: TestDatabase
  let service: Service
  let browser: Browser
  let market: Lively
  let began = 0
  const tabs: Watched[] = []
  /** Runs as ours does, from the market's end on. */
  const clock = () => new Date(END * 1_000 + Date.now() - began)

  beforeAll(async () => {
    database = await freshDatabase()
    market = await storeLively(database.client, END, 5)
    began = Date.now()
    service = await startService({ client: database.client, networks: NETWORKS_SERVED, clock })
    browser = await launch()
  })
  afterEach(async () => {
    for (const { context, complaints, requests } of tabs.splice(0)) {
      await context.close()
      expect(complaints).toEqual([])
      const origins = requests.map((request) => new URL(request.url())).filter(({ protocol }) => protocol !== 'data:')
      expect(new Set(origins.map(({ origin }) => origin))).toEqual(new Set([service.url]))
    }
  })
  afterAll(async () => {
    await browser?.close()
    await service?.stop()
    await database?.drop()
  })

  async function open(fragment: string, screen?: Screen): Promise<Watched> {
    const tab = await openTab(browser, screen)
    tabs.push(tab)
    await tab.page.goto(`${service.url}/${fragment}`)
    return tab
  }

  test.each([
    ['light', {}],
    ['dark', { dark: true }],
    ['phone', { width: 390, height: 844 }],
    ['phone-dark', { width: 390, height: 844, dark: true }],
  ])('shows the market: %s', async (name, screen) => {
    const { page } = await open(`#key=${service.key}`, screen)
    await page.getByText('Live', { exact: true }).waitFor()
    await page.waitForTimeout(3_000)
    await shot(page, name)
    expect(await page.locator('#ticks tr').count()).toBe(100)
    expect(POOLS.main.id).toContain('0x')
    expect(market.tip()).toBe(END)
  })
})
