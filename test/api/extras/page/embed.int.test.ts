/** The embedded chart: in a frame of pages of other origins, which post it a key, and alone. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, Frame, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { inSoak } from '../../../support/sample.ts'
import { until } from '../../../support/until.ts'
import { NETWORKS_SERVED, POOLS } from '../../scenario.ts'
import { type Service, startService } from '../../service.ts'
import { inEveryAppearance } from './appearances.ts'
import { chromiumPath, launch, openTab, shot, type Watched } from './browser.ts'
import { collisions } from './layout.ts'
import { type Lively, storeLively } from './lively.ts'
import { accessible, amountOf, streamsOf, untilPolledNoMore } from './reading.ts'

const END = Date.UTC(2024, 0, 5, 14, 3, 20) / 1_000
const MAIN = POOLS.main.id
const PLACE = `pair=WETH-USDC&pool=${MAIN}&network=ethereum&interval=5m`

describe.skipIf(withoutClickHouse || chromiumPath === undefined)('the embedded chart', () => {
  let database: TestDatabase
  let service: Service
  let browser: Browser
  let market: Lively
  let host: Server
  let began = 0
  const tabs: Watched[] = []
  const clock = () => new Date(END * 1_000 + Date.now() - began)
  const now = () => Math.floor(clock().getTime() / 1_000)
  const portOf = (server: Server) => (server.address() as AddressInfo).port
  /** Three origins of one server: of another site than the service's, of the same one, and one that is not listed. */
  const otherSite = () => `http://localhost:${portOf(host)}`
  const sameSite = () => `http://127.0.0.1:${portOf(host)}`
  const unlisted = () => `http://host.localhost:${portOf(host)}`

  beforeAll(async () => {
    database = await freshDatabase()
    market = await storeLively(database.client, END, 5)
    began = Date.now()
    host = createServer((_request, response) => response.setHeader('Content-Type', 'text/html').end(HOST_PAGE))
    await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve))
    service = await startService({
      client: database.client,
      networks: NETWORKS_SERVED,
      clock,
      embedOrigins: [otherSite(), sameSite()],
    })
    browser = await launch()
  })
  afterEach(async () => {
    for (const { context, complaints, requests } of tabs.splice(0)) {
      await context.close()
      expect(complaints).toEqual([])
      expect(requests.map((request) => request.url()).filter((url) => url.includes('cp_'))).toEqual([])
    }
  })
  afterAll(async () => {
    await browser?.close()
    host?.closeAllConnections()
    host?.close()
    await service?.stop()
    await database?.drop()
  })

  async function openHost(origin: string, key: string | undefined, place = PLACE): Promise<Watched> {
    const tab = await openTab(browser, { clock })
    tabs.push(tab)
    await tab.page.addInitScript((options) => Object.assign(window, options), {
      candlepool: { frame: `${service.url}/embed#${place}`, origin: service.url, key },
    })
    await tab.page.goto(origin)
    return tab
  }

  async function frameOf({ page }: Watched): Promise<Frame> {
    const element = await page.waitForSelector('iframe')
    const frame = await element.contentFrame()
    if (frame === null) throw new Error('The frame has no document.')
    return frame
  }

  const isLive = (frame: Frame | Page) => frame.getByText('Live', { exact: true }).waitFor()

  test('may be framed by its own origin and by listed ones alone, and the page by none', async () => {
    const policyOf = async (of: Service, path: string) => {
      const { headers } = await of.get(path, {})
      const ancestors = /frame-ancestors ([^;]*)/.exec(headers.get('content-security-policy') ?? '')?.[1]
      return [ancestors, headers.get('x-frame-options')]
    }
    expect(await policyOf(service, '/')).toEqual(["'none'", 'SAMEORIGIN'])
    expect(await policyOf(service, '/embed')).toEqual([`'self' ${otherSite()} ${sameSite()}`, null])
    const plain = await startService({ client: database.client, networks: NETWORKS_SERVED, clock, key: service.key })
    expect(await policyOf(plain, '/embed')).toEqual(["'self'", null])
    const { body, headers } = await plain.get('/embed', {})
    expect(String(body)).toContain('<meta id="embed-origins" content="">')
    expect(String(body)).not.toContain('{{')
    expect(headers.get('cache-control')).toBe('no-cache')
    expect((await plain.get('/embed', {}, 'POST')).status).toBe(405)
    await plain.stop()
  })

  async function expectTraded(frame: Frame, dollars: string): Promise<void> {
    await market.trade(Number(dollars.replace(',', '')), now())
    await until(
      async () => ((await frame.locator('#legend').textContent())?.includes(`C ${dollars}`) ? true : undefined),
      'the candle has moved',
    )
    // It bought one ether.
    const [bought] = await frame.locator('#legend span', { hasText: 'Buys' }).allTextContents()
    expect(amountOf(bought)).toBeGreaterThanOrEqual(amountOf(dollars))
  }

  test('shows a pool with the key that the page around it posts, and asks for candles alone', async () => {
    const tab = await openHost(otherSite(), service.key)
    const frame = await frameOf(tab)
    await isLive(frame)
    expect(await frame.locator('h1').textContent()).toBe('WETH-USDC 5m, Ethereum')
    expect(await frame.locator('#legend').textContent()).toMatch(/O [\d,.]+.*Vol/)
    // Without storage, which this browser refuses to frames of other sites, it polls.
    await expectTraded(frame, '2,344.50')
    const asked = tab.requests.filter((it) => it.url().includes('/v0/'))
    const paths = new Set(asked.map((it) => new URL(it.url()).pathname))
    expect([...paths].toSorted()).toEqual(['/v0/candles', '/v0/pools', '/v0/usage'])
    for (const request of asked) expect(request.headers()['x-api-key']).toBe(service.key)
    // The frame posts nothing.
    expect(await tab.page.evaluate(() => Reflect.get(window, 'received'))).toEqual([])
    const href = await frame.locator('#full').getAttribute('href')
    expect(href).toBe(`/#pair=WETH-USDC&pool=${MAIN}&network=ethereum&interval=5m&price=execution`)
    await accessible(tab.page)
    await shot(tab.page, 'embed-host')
  })

  test('is told of candles by one stream, and keeps a posted key in memory alone', async () => {
    const tab = await openHost(sameSite(), service.key)
    const frame = await frameOf(tab)
    await isLive(frame)
    await until(async () => streamsOf(tab).length === 1 || undefined, 'the stream is asked for')
    await untilPolledNoMore(tab)
    await expectTraded(frame, '2,345.50')
    await tab.page.waitForTimeout(2_000)
    expect(tab.questions()).toEqual([])
    expect(streamsOf(tab).map((it) => new URL(it.url()).pathname)).toEqual(['/v0/candles'])
    expect(await frame.evaluate(() => sessionStorage.length + localStorage.length + document.cookie.length)).toBe(0)
  })

  test('follows the address, which its page changes, with the same key', inSoak, async () => {
    const tab = await openHost(sameSite(), service.key)
    const frame = await frameOf(tab)
    await isLive(frame)
    await tab.page.evaluate((place) => {
      const element = document.querySelector('iframe')
      if (element) element.src = element.src.replace(/#.*/, `#${place}`)
    }, `pool=${POOLS.side.id}&network=ethereum&interval=1h`)
    await frame.getByText('No trade yet', { exact: true }).waitFor()
    expect(await frame.locator('h1').textContent()).toBe('WETH-USDC 1h, Ethereum')
    expect(await frame.locator('#full').getAttribute('href')).toContain(POOLS.side.id)
  })

  test('is not shown by a page of another origin, and its key goes nowhere', async () => {
    const tab = await openHost(unlisted(), service.key)
    await until(async () => tab.complaints.length > 0 || undefined, 'the browser has refused the frame')
    expect(tab.complaints.splice(0).join()).toMatch(/frame-ancestors/)
    await tab.page.waitForTimeout(1_500)
    expect(tab.requests.filter((it) => it.url().includes('/v0/'))).toEqual([])
  })

  test('takes no key from a window that is not around it, or in a message of another form', async () => {
    const tab = await openTab(browser, { clock })
    tabs.push(tab)
    const { page } = tab
    await page.goto(otherSite())
    const [alone] = await Promise.all([
      tab.context.waitForEvent('page'),
      page.evaluate((url) => Object.assign(window, { opened: open(url) }), `${service.url}/embed#${PLACE}`),
    ])
    await alone.getByLabel('API key').waitFor()
    await page.evaluate(([key, origin]) => Reflect.get(window, 'opened')?.postMessage({ candlepoolKey: key }, origin), [
      service.key,
      service.url,
    ] as const)
    await alone.evaluate((key) => postMessage({ candlepoolKey: key }, location.origin), service.key)
    await alone.waitForTimeout(500)
    expect(await alone.getByLabel('API key').isVisible()).toBe(true)

    const framed = await openHost(otherSite(), undefined)
    const frame = await frameOf(framed)
    await frame.getByLabel('API key').waitFor()
    for (const message of [service.key, null, { candlepoolKey: 1 }, { candlepoolKey: 'with a blank' }, { key: 'k' }])
      await framed.page.evaluate(
        ([data, origin]) => document.querySelector('iframe')?.contentWindow?.postMessage(data, origin),
        [message, service.url] as const,
      )
    await framed.page.waitForTimeout(500)
    expect(await frame.getByLabel('API key').isVisible()).toBe(true)
    expect(framed.requests.filter((it) => it.url().includes('/v0/'))).toEqual([])
  })

  test('asks for a key where none is posted, without taking the focus, and keeps it for the tab', inSoak, async () => {
    const tab = await openHost(sameSite(), undefined)
    const frame = await frameOf(tab)
    const field = frame.getByLabel('API key')
    await field.waitFor()
    expect(await frame.evaluate(() => document.hasFocus())).toBe(false)
    await field.fill('cp_wrong')
    await field.press('Enter')
    await frame.getByText('This key is not known here.').waitFor()
    await field.fill(service.key)
    await field.press('Enter')
    await isLive(frame)
    await tab.page.reload()
    await isLive(await frameOf(tab))
  })

  test('says that a posted key is unknown, and takes the next one', inSoak, async () => {
    const tab = await openHost(otherSite(), 'cp_unknown')
    const frame = await frameOf(tab)
    await frame.getByText('This key is not known here.').waitFor()
    await tab.page.evaluate((key) => Reflect.get(window, 'send')(key), service.key)
    await isLive(frame)
  })

  test('takes no key from its address, and shows the first pair where it names none', async () => {
    const tab = await openTab(browser, { clock })
    tabs.push(tab)
    const { page } = tab
    await page.goto(`${service.url}/embed#key=not-of-the-address&interval=1h`)
    await page.getByText('Addresses stay in the history').waitFor()
    expect(page.url()).toBe(`${service.url}/embed#interval=1h`)
    await inEveryAppearance(page, 'embed-key')
    await page.getByLabel('API key').fill(service.key)
    await page.keyboard.press('Enter')
    await isLive(page)
    expect(await page.locator('h1').textContent()).toBe('WETH-USDC 1h, Ethereum')
    await inEveryAppearance(page, 'embed')
    await page.setViewportSize({ width: 320, height: 200 })
    await shot(page, 'embed-small')
    expect((await page.locator('#chart').boundingBox())?.height).toBeGreaterThanOrEqual(100)
    expect(await page.evaluate(collisions)).toEqual([])
    await page.goto(`${service.url}/embed#pair=NOPE-NADA`)
    await page.getByText('No pool that is stored here trades NOPE-NADA.').first().waitFor()
  })
})

/** Frames the chart, posts the key when it has loaded, and records messages. */
const HOST_PAGE = `<!doctype html>
<html lang="en"><title>Another page</title>
<main><h1>Another page</h1><iframe title="Chart" width="720" height="420"></iframe></main>
<script>
  const { frame, origin, key } = window.candlepool ?? {}
  const element = document.querySelector('iframe')
  window.received = []
  window.addEventListener('message', ({ data }) => window.received.push(data))
  window.send = (candlepoolKey) => element.contentWindow.postMessage({ candlepoolKey }, origin)
  if (key !== undefined) element.addEventListener('load', () => window.send(key))
  if (frame !== undefined) element.src = frame
</script>`
