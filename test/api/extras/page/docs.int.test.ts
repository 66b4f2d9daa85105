/** The reference page in a real browser, and its snippets as their readers run them. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { inSoak } from '../../../support/sample.ts'
import { NETWORKS_SERVED, storeScenario, TIP } from '../../scenario.ts'
import { type Service, startService } from '../../service.ts'
import { chromiumPath, launch, openTab, type Screen, shot } from './browser.ts'
import { accessible } from './reading.ts'

const run = promisify(execFile)
const RUNNERS = {
  curl: (text: string) => run('bash', ['-c', text]),
  JavaScript: (text: string) => run(process.execPath, ['--input-type=module', '-e', text]),
  Python: (text: string) => run('python3', ['-c', text]),
} as const

describe.skipIf(withoutClickHouse || chromiumPath === undefined)('the reference page', () => {
  let database: TestDatabase
  let service: Service
  let browser: Browser
  // The examples ask for the hours before.
  const clock = () => new Date((TIP + 60) * 1_000)

  beforeAll(async () => {
    database = await freshDatabase()
    await storeScenario(database.client)
    service = await startService({ client: database.client, networks: NETWORKS_SERVED, clock })
    browser = await launch()
  })
  afterAll(async () => {
    await browser?.close()
    await service?.stop()
    await database?.drop()
  })

  async function open(screen: Screen = {}) {
    const tab = await openTab(browser, screen)
    await tab.page.goto(`${service.url}/v0/docs`)
    await tab.page.getByRole('button', { name: 'Copy curl' }).first().waitFor()
    return tab
  }

  test.each([
    ['light', {}],
    ['dark', { dark: true }],
    ['phone', { width: 390, height: 844 }],
    ['phone-dark', { width: 390, height: 844, dark: true }],
  ])('is for everyone to read: %s', async (name, screen) => {
    const { page, context, complaints } = await open(screen)
    await shot(page, `docs-${name}`)
    await accessible(page)
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0)
    await page.locator('#candles').scrollIntoViewIfNeeded()
    await page.evaluate(() => document.querySelector('#candles')?.scrollIntoView())
    await shot(page, `docs-${name}-candles`)
    const tops = await page
      .locator('#candles .snippet')
      .evaluateAll((figures) => figures.map((figure) => Math.round(figure.getBoundingClientRect().top)))
    expect(new Set(tops).size).toBe(name.startsWith('phone') ? 3 : 1)
    expect(complaints).toEqual([])
    await context.close()
  })

  test('copies a snippet, with and without the clipboard of a page with TLS', async () => {
    const { page, context } = await open()
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    const read = () => page.evaluate(() => navigator.clipboard.readText())
    const button = page.locator('#candles').getByRole('button', { name: 'Copy curl' })
    await button.click()
    await page.getByText('Copied').first().waitFor()
    expect(await read()).toMatch(/^curl -sG "\$BASE\/v0\/candles/)
    await page.evaluate(() => {
      navigator.clipboard.writeText = () => Promise.reject(new Error('not here'))
    })
    const other = page.locator('#pools').getByRole('button', { name: 'Copy Python' })
    await other.click()
    await page.locator('#pools').getByText('Copied').waitFor()
    expect(await read()).toContain("BASE}/v0/pools?{query}'")
    await context.close()
  })

  test('has snippets that run as they stand, once base and key are set', inSoak, async () => {
    const { page, context } = await open()
    const snippets = await page.locator('.snippet').evaluateAll((figures) =>
      figures.map((figure) => ({
        language: figure.getAttribute('data-language') ?? '',
        text: figure.querySelector('code')?.textContent ?? '',
      })),
    )
    await context.close()
    const setup = new Map(snippets.slice(0, 3).map(({ language, text }) => [language, text]))
    for (const [, text] of setup) expect(text).toContain(service.url)
    const asked = snippets.slice(3)
    expect(asked).toHaveLength(15)
    for (const { language, text } of asked) {
      const whole = `${setup.get(language)?.replace('cp_…', service.key)}\n${text}`
      const { stdout } = await RUNNERS[language as keyof typeof RUNNERS](whole)
      expect(stdout, text).toMatch(/credits|status/)
      expect(stdout, text).not.toContain('request_id')
    }
  })
})
