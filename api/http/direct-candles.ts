/**
 * Repeated requests for closed candles, answered without Express: router, middleware and header objects take most of the time of an answer from
 * memory. Only plain requests for a URL that Express has answered from closed rows come here. Any other request, and any error, goes to Express.
 */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, OutgoingHttpHeaders, RequestListener, ServerResponse } from 'node:http'
import { LRUCache } from 'lru-cache'
import type { Report } from '../../ingest/model/report.ts'
import type { Account, Accounts } from '../accounts/accounts.ts'
import type { ApiFact } from '../lib/fact.ts'
import { knownCost, type MarketAnswer } from '../market/answer.ts'
import type { Market } from '../market/market.ts'
import type { CandleView } from '../market/model/orientation.ts'
import type { CandleQuery } from '../query/query.ts'
import type { Identify } from './authenticate.ts'
import type { ClientAddress } from './client-address.ts'
import { cacheHeaders, marketHeaders } from './headers.ts'
import { isHost, originHeaders, REQUEST_ID, securityHeaderValues } from './http.ts'
import { type Encoding, encodedText, type KeptBody } from './kept-bodies.ts'

/** A request that failed here; `account` where its key was found. */
export type DirectFailure = { error: unknown; account: Account | undefined }

export type DirectCandles = {
  /** Express has answered this URL from closed rows. */
  note(url: string, query: CandleQuery): void
  /** Undefined where the request did not come from here. */
  failureOf(req: IncomingMessage): DirectFailure | undefined
  /** Answers, or leaves the request to `express`. */
  before(express: RequestListener): RequestListener
}

/** A noted URL takes about a kilobyte with its query. */
const MAX_URLS = 10_000

export const CANDLES_PATH = '/v0/candles'

export function openDirectCandles(options: {
  market: Market
  accounts: Accounts
  identify: Identify
  addressOf: ClientAddress
  origins: readonly string[] | undefined
  report: Report<ApiFact>
  bodyOf(answer: MarketAnswer<CandleView>): KeptBody
}): DirectCandles {
  const { market, accounts, identify, addressOf, origins, report, bodyOf } = options
  /** The query of each noted URL. */
  const queries = new LRUCache<string, CandleQuery>({ max: MAX_URLS })
  const failures = new WeakMap<IncomingMessage, DirectFailure>()
  const security = securityHeaderValues()
  const vary = origins === undefined ? 'Accept, Accept-Encoding' : 'Origin, Accept, Accept-Encoding'

  async function answer(req: IncomingMessage, res: ServerResponse, query: CandleQuery, plain: PlainHeaders) {
    const began = performance.now()
    let account: Account | undefined
    try {
      account = await identify([plain.key], addressOf(req))
      await accounts.countCall(account)
      const found = await accounts.charge(account, knownCost(query), () => market.candles(query))
      const requestId = randomUUID()
      const common = { ...security, [REQUEST_ID]: requestId, ...originHeaders(origins, plain.origin), Vary: vary }
      res.on('finish', () => reportAnswer(report, requestId, res.statusCode, performance.now() - began))
      send(res, plain, { ...common, ...accounts.rateLimits(account) }, found, bodyOf(found))
    } catch (error) {
      failures.set(req, { error, account })
      return error
    }
    return undefined
  }

  return {
    note(url, query) {
      queries.set(url, query)
    },
    failureOf: (req) => failures.get(req),
    before: (express) => (req, res) => {
      const query = req.method === 'GET' ? queries.get(req.url ?? '') : undefined
      const plain = query && plainHeaders(req)
      if (!plain) return void express(req, res)
      void answer(req, res, query, plain).then((error) => {
        if (error !== undefined) express(req, res)
      })
    },
  }
}

function send(
  res: ServerResponse,
  plain: PlainHeaders,
  common: OutgoingHttpHeaders,
  answer: MarketAnswer<CandleView>,
  body: KeptBody,
): void {
  const { etag } = body
  const headers = {
    ...common,
    ...marketHeaders(answer),
    ...cacheHeaders(etag),
  }
  if (etag !== undefined && plain.etag === etag) return void res.writeHead(304, headers).end()
  const encoded = plain.encoding === 'identity' ? undefined : encodedText(body, plain.encoding)
  const text = encoded ?? body.text
  res.writeHead(200, {
    ...headers,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': text.byteLength,
    ...(encoded && { 'Content-Encoding': plain.encoding }),
  })
  res.end(text)
}

function reportAnswer(report: Report<ApiFact>, requestId: string, status: number, milliseconds: number): void {
  const [method, path, route] = ['GET', CANDLES_PATH, CANDLES_PATH]
  report({ kind: 'request-answered', requestId, method, path, route, status, milliseconds })
}

type PlainHeaders = {
  key: string
  etag: string | undefined
  origin: string | undefined
  encoding: Encoding | 'identity'
}

const WEAK_ETAG = /^W\/"[^",]*"$/

/** Undefined where a header asks for more than the whole JSON, or is there twice. */
function plainHeaders({ rawHeaders }: IncomingMessage): PlainHeaders | undefined {
  const found: { host?: string; 'x-api-key'?: string; origin?: string; 'if-none-match'?: string } = {}
  let encoding: Encoding | 'identity' | undefined = 'identity'
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase()
    const value = rawHeaders[at + 1] ?? ''
    switch (name) {
      case 'host':
      case 'x-api-key':
      case 'origin':
      case 'if-none-match':
        if (found[name] !== undefined) return undefined
        found[name] = value
        break
      case 'accept':
        if (value !== '*/*' && value !== 'application/json') return undefined
        break
      case 'accept-encoding':
        encoding = encodingOf(value)
        if (encoding === undefined) return undefined
        break
      case 'cache-control':
        if (/no-cache/i.test(value)) return undefined
        break
      case 'content-length':
      case 'expect':
      case 'if-modified-since':
      case 'transfer-encoding':
        return undefined
    }
  }
  const { host, 'x-api-key': key, origin, 'if-none-match': etag } = found
  if (host === undefined || key === undefined || !isHost(host)) return undefined
  if (etag !== undefined && !WEAK_ETAG.test(etag)) return undefined
  return { key, etag, origin, encoding }
}

/** The encoding that the compression middleware would choose; undefined if the header has weights or accepts none of the three. */
function encodingOf(accepted: string): Encoding | 'identity' | undefined {
  const names = accepted.split(',').map((name) => name.trim())
  if (accepted.includes(';') || names.includes('*')) return undefined
  return (['br', 'gzip', 'identity'] as const).find((encoding) => names.includes(encoding))
}
