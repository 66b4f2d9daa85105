/**
 * The page at /: what is sent for it, compressed, and when the first of it is seen in Chromium over localhost, with an empty cache and
 * with a full one, beside an empty document in the same browser. Medians of the rounds.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import compression from 'compression'
import express from 'express'
import type { Page as Tab } from 'playwright-core'
import { makePage } from '../../api/extras/page/files.ts'
import { getPage } from '../../api/extras/page/page.ts'
import { securityHeaders } from '../../api/http/http.ts'
import { NETWORKS } from '../../ingest/model/networks.ts'
import { chromiumPath, launch } from '../api/extras/page/browser.ts'
import { costOf, figure, quantile, title } from './figure.ts'

const ROUNDS = 15
const networks = Object.values(NETWORKS)

title('The page as it is sent, and the embedded chart')
const options = { networks, folder: '/page', embedOrigins: [] }
const { html, files } = await makePage(options)
const bytes = (text: string) => gzipSync(text).length / 1_000
for (const [name, { text, type }] of files) figure(name.replace(/-.*/, type), bytes(text), 'kB gzip')
for (const kind of ['page', 'embed'] as const) {
  const sent = [...files].filter(([name]) => html[kind].includes(name)).map(([, { text }]) => text)
  const total = [html[kind], ...sent].reduce((sum, text) => sum + bytes(text), 0)
  figure(`all of ${kind}.html`, total, 'kB gzip')
}
figure('made in', (await costOf(() => makePage(options))).seconds * 1_000, 'ms')

if (chromiumPath !== undefined) {
  const app = express()
  app.use(securityHeaders(), compression())
  for (const [path, handler] of Object.entries(getPage({ networks, embedOrigins: [] }))) app.get(path, handler)
  app.get('/empty', (_req, res) => {
    res.type('html').send('<!doctype html><link rel="icon" href="data:,"><title>Empty</title><p>Nothing')
  })
  const server = createServer(app).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const browser = await launch()
  await fetch(url)

  title('First contentful paint')
  const floor = { cold: await paints('/empty', false), warm: await paints('/empty', true) }
  figure('with an empty cache', await paints('/', false), 'ms', floor.cold)
  figure('with a full cache', await paints('/', true), 'ms', floor.warm)
  await browser.close()
  server.close()

  async function paints(path: string, warm: boolean): Promise<number> {
    const times: number[] = []
    for (let round = 0; round < ROUNDS; round += 1) {
      const context = await browser.newContext()
      const tab = await context.newPage()
      if (warm) await paint(tab, url + path)
      times.push(await paint(tab, url + path))
      await context.close()
    }
    return quantile(times, 0.5)
  }
}

async function paint(tab: Tab, address: string): Promise<number> {
  await tab.goto(address)
  return tab.evaluate(
    () =>
      new Promise<number>((resolve) => {
        new PerformanceObserver((list) => {
          const entry = list.getEntriesByName('first-contentful-paint')[0]
          if (entry) resolve(entry.startTime)
        }).observe({ type: 'paint', buffered: true })
      }),
  )
}
