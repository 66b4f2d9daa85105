/** The service as an Express application: middleware and routes. */
import type { RequestListener } from 'node:http'
import compression from 'compression'
import express, { type RequestHandler } from 'express'
import type { Report } from '../ingest/model/report.ts'
import type { Accounts } from './accounts/accounts.ts'
import { getDocument, getReference, getText } from './extras/docs/docs.ts'
import { postMcp } from './extras/mcp/post-mcp.ts'
import { getPage } from './extras/page/page.ts'
import { openPageCode, type PageCode } from './extras/page/page-code.ts'
import { getPagePairs } from './extras/page/page-pairs.ts'
import { postPageCode } from './extras/page/post-page-code.ts'
import { openFeeds } from './extras/stream/feeds.ts'
import { streamCandles, streamTicks } from './extras/stream/streams.ts'
import { asyncApi } from './extras/topics/asyncapi.ts'
import { udfRoutes } from './extras/udf/udf.ts'
import { openAuthThrottle } from './http/auth-throttle.ts'
import { limitHeaders, openAuthenticate, openIdentify } from './http/authenticate.ts'
import { openClientAddress, type TrustedProxies } from './http/client-address.ts'
import { CANDLES_PATH, type DirectCandles, openDirectCandles } from './http/direct-candles.ts'
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
import { openApi } from './schema/openapi.ts'

export type AppOptions = {
  market: Market
  accounts: Accounts
  clock: () => Date
  report: Report<ApiFact>
  /** Origins that may read answers; all where absent. */
  origins?: readonly string[] | undefined
  /** Origins whose pages may frame the chart at /embed, beside this one. */
  embedOrigins?: readonly string[] | undefined
  concurrency?: ConcurrencyBounds
  /** Proxies whose X-Forwarded-For counts; without them, a request counts for its peer. */
  trustedProxies?: TrustedProxies | undefined
  /** Exchanges the code of the printed link for a key; without it no code is valid. */
  pageCode?: PageCode | undefined
  /** See `getHealth`. */
  problems?: ReadProblems | undefined
}

export function createApp(options: AppOptions): RequestListener {
  const { market, accounts, clock, report, origins, concurrency: limits, pageCode = openPageCode(clock) } = options
  const limit = limitConcurrency(limits)
  // A query that waits for credits of its key takes no slot of the concurrency limit.
  const charging: Accounts = {
    ...accounts,
    charge: (account, known, query) => accounts.charge(account, known, () => limit(query)),
  }
  const addressOf = openClientAddress(options.trustedProxies)
  const streaming = {
    market,
    addressOf,
    accounts: charging,
    feeds: openFeeds(market, report),
    clock,
    report,
    open: new Map(),
  }
  const identify = openIdentify({ accounts, failures: openAuthThrottle(), clock })
  const authenticate = openAuthenticate(identify, accounts, addressOf)
  const bodies = openKeptBodies()
  const bodyOf = (answer: MarketAnswer<CandleView>) => candlesBody(bodies, answer)
  const direct = openDirectCandles({ market, accounts: charging, identify, addressOf, origins, report, bodyOf })
  const document = openApi()
  const udf = Object.fromEntries(
    Object.entries(udfRoutes(market, charging, clock)).map(([path, handler]) => [path, authenticate(handler)]),
  )
  const routes: Readonly<Record<string, RequestHandler>> = {
    ...getPage({ networks: market.networks, embedOrigins: options.embedOrigins ?? [] }),
    [CANDLES_PATH]: authenticate(inForms(getCandles(market, charging, bodies, direct.note), streamCandles(streaming))),
    '/v0/ticks': authenticate(inForms(getTicks(market, charging), streamTicks(streaming))),
    '/v0/pools': authenticate(getPools(market, charging)),
    ...udf,
    '/v0/usage': authenticate(getUsage(accounts)),
    '/v0/health': getHealth(market, clock, options.problems),
    '/v0/openapi.json': getDocument(document),
    '/v0/asyncapi.json': getDocument(asyncApi()),
    '/v0/docs': getReference(document, clock),
    '/v0/skill.md': getText('SKILL.md', 'text/markdown'),
    '/llms.txt': getText('llms.txt', 'text/plain'),
  }
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  // parameters.ts parses the raw query string, so that it sees repeated and nested parameters.
  app.set('query parser', false)
  app.use(requestIds(report), securityHeaders(), crossOrigin(origins), requireHost(), limitUrlLength(), compression())
  app.use(directFailures(direct, accounts))
  // Before the page's files, which are in the same folder.
  app
    .route('/page/code')
    .post(postPageCode(pageCode, clock, addressOf))
    .all(methodNotAllowed('POST'))
  app
    .route('/v0/mcp')
    .post(...postMcp(identify, accounts, addressOf))
    .all(methodNotAllowed('POST'))
  app
    .route('/page/pairs')
    .get(authenticate(getPagePairs(market, charging)))
    .all(methodNotAllowed())
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
