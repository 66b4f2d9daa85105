/** The service as an Express application: middleware and routes. */
import type { RequestListener } from 'node:http'
import compression from 'compression'
import express, { type RequestHandler } from 'express'
import type { Report } from '../ingest/model/report.ts'
import type { Accounts } from './accounts/accounts.ts'
import { openAuthThrottle } from './http/auth-throttle.ts'
import { limitHeaders, openAuthenticate, openIdentify } from './http/authenticate.ts'
import { openClientAddress, type TrustedProxies } from './http/client-address.ts'
import { CANDLES_PATH, type DirectCandles, openDirectCandles } from './http/direct-candles.ts'
import type { OpenExtras } from './http/extra.ts'
import { inForms } from './http/forms.ts'
import {
  crossOrigin,
  limitUrlLength,
  methodNotAllowed,
  notFound,
  problems,
  requestIds,
  requireHost,
  securityHeaders,
} from './http/http.ts'
import { openKeptBodies } from './http/kept-bodies.ts'
import { type ConcurrencyBounds, limitConcurrency } from './lib/concurrency-limit.ts'
import type { ApiFact } from './lib/fact.ts'
import type { MarketAnswer } from './market/answer.ts'
import type { Market } from './market/market.ts'
import type { CandleView } from './market/model/orientation.ts'
import { candlesBody, getCandles } from './routes/candles.ts'
import { getHealth, type ReadProblems } from './routes/health.ts'
import { getPools } from './routes/pools.ts'
import { getTicks } from './routes/ticks.ts'
import { getUsage } from './routes/usage.ts'

export type AppOptions = {
  market: Market
  accounts: Accounts
  clock: () => Date
  report: Report<ApiFact>
  /** Origins that may read answers; all where absent. */
  origins?: readonly string[] | undefined
  concurrency?: ConcurrencyBounds
  /** Proxies whose X-Forwarded-For counts; without them, a request counts for its peer. */
  trustedProxies?: TrustedProxies | undefined
  /** See `getHealth`. */
  problems?: ReadProblems | undefined
  /** Interfaces beside the four operations; none where absent. */
  extras?: OpenExtras | undefined
}

export function createApp(options: AppOptions): RequestListener {
  const { market, accounts, clock, report, origins, concurrency } = options
  const limit = limitConcurrency(concurrency)
  // A query that waits for credits of its key takes no slot of the concurrency limit.
  const charging: Accounts = {
    ...accounts,
    charge: (account, known, query) => accounts.charge(account, known, () => limit(query)),
  }
  const addressOf = openClientAddress(options.trustedProxies)
  const identify = openIdentify({ accounts, failures: openAuthThrottle(), clock })
  const authenticate = openAuthenticate(identify, accounts, addressOf)
  const bodies = openKeptBodies()
  const bodyOf = (answer: MarketAnswer<CandleView>) => candlesBody(bodies, answer)
  const direct = openDirectCandles({ market, accounts: charging, identify, addressOf, origins, report, bodyOf })
  const service = { market, accounts: charging, clock, report, identify, authenticate, addressOf }
  const extras = options.extras?.(service)
  const routes: Readonly<Record<string, RequestHandler>> = {
    [CANDLES_PATH]: authenticate(inForms(getCandles(market, charging, bodies, direct.note), extras?.streams.candles)),
    '/v0/ticks': authenticate(inForms(getTicks(market, charging), extras?.streams.ticks)),
    '/v0/pools': authenticate(getPools(market, charging)),
    '/v0/usage': authenticate(getUsage(accounts)),
    '/v0/health': getHealth(market, clock, options.problems),
    ...extras?.get,
  }
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  // parameters.ts parses the raw query string, so that it sees repeated and nested parameters.
  app.set('query parser', false)
  app.use(requestIds(report), securityHeaders(), crossOrigin(origins), requireHost(), limitUrlLength(), compression())
  app.use(directFailures(direct, accounts))
  for (const [path, handlers] of Object.entries(extras?.post ?? {}))
    app
      .route(path)
      .post(...handlers)
      .all(methodNotAllowed('POST'))
  for (const [path, handler] of Object.entries(routes)) app.route(path).get(handler).all(methodNotAllowed())
  app.use(notFound())
  app.use(problems(report))
  return direct.before(app)
}

/** Errors of requests that were begun without Express. */
function directFailures(direct: DirectCandles, accounts: Accounts): RequestHandler {
  return function directFailures(req, res, next) {
    const failure = direct.failureOf(req)
    if (failure === undefined) return next()
    req.route = { path: CANDLES_PATH }
    if (failure.account) limitHeaders(res, accounts, failure.account)
    throw failure.error
  }
}
