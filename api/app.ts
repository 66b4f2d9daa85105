/** The service as an Express application: routes, and what all of them share. */
import express, { type Application, type RequestHandler } from 'express'
import type { Report } from '../ingest/report.ts'
import type { Accounts } from './accounts.ts'
import { countFailures } from './failures.ts'
import { openGate } from './gate.ts'
import { crossOrigin, methodNotAllowed, notFound, problems, requestIds, shortUrls } from './http.ts'
import type { Market } from './market/market.ts'
import type { ApiFact } from './report.ts'
import { getCandles } from './routes/candles.ts'
import { getPage, PAGES } from './routes/docs.ts'
import { getHealth } from './routes/health.ts'
import { getPools } from './routes/pools.ts'
import { getTicks } from './routes/ticks.ts'
import { getUsage } from './routes/usage.ts'

export type AppOptions = {
  market: Market
  accounts: Accounts
  clock: () => Date
  report: Report<ApiFact>
}

export function createApp({ market, accounts, clock, report }: AppOptions): Application {
  const gate = openGate({ accounts, failures: countFailures(), clock })
  const routes: Readonly<Record<string, RequestHandler>> = {
    '/v0/candles': gate(getCandles(market, accounts)),
    '/v0/ticks': gate(getTicks(market, accounts)),
    '/v0/pools': gate(getPools(market, accounts)),
    '/v0/usage': gate(getUsage(accounts)),
    '/v0/health': getHealth(market, clock),
    ...Object.fromEntries(PAGES.map((page) => [`/v0/docs/${page}`, getPage(page)])),
  }
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  // Our own parser sees repeated and nested parameters as they were written.
  app.set('query parser', false)
  app.use(requestIds(report), crossOrigin(), shortUrls())
  for (const [path, handler] of Object.entries(routes)) app.route(path).get(handler).all(methodNotAllowed())
  app.use(notFound())
  app.use(problems(report))
  return app
}
