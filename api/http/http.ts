/** Middleware of every answer: request id, security and CORS headers, and errors as problem documents. */
import { randomUUID } from 'node:crypto'
import { IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express'
import helmet from 'helmet'
import type { Report } from '../../ingest/model/report.ts'
import type { ApiFact } from '../lib/fact.ts'
import { PROBLEMS, Problem, problemBody } from '../lib/problem.ts'

export const REQUEST_ID = 'X-Request-Id'

const EXPOSED = [
  'ETag',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'WWW-Authenticate',
  'X-API-Suggestion',
  'X-Candlepool-Devnet',
  'X-Credits-Used',
  'X-Market-Final-Until',
  'X-Market-Hook-Deltas',
  'X-Market-Incomplete',
  'X-Market-Lead',
  'X-Market-Lead-Pool',
  'X-Market-More-Pools',
  'X-Market-Network',
  'X-Market-Pair',
  'X-Market-Pool',
  'X-Market-Unproven',
  'X-Market-Venue',
  REQUEST_ID,
].join(', ')

/** Characters; far above the longest query. */
const MAX_URL_LENGTH = 8_192

export function requestIds(report: Report<ApiFact>): RequestHandler {
  return function requestId(req, res, next) {
    const id = randomUUID()
    const began = performance.now()
    res.set(REQUEST_ID, id)
    res.on('finish', () => {
      const milliseconds = performance.now() - began
      report({
        kind: 'request-answered',
        requestId: id,
        method: req.method,
        path: req.path,
        route: (req.route as { path: string } | undefined)?.path,
        status: res.statusCode,
        milliseconds,
      })
    })
    next()
  }
}

/** Security headers of answers. The pages set their own Content-Security-Policy. */
export function securityHeaders(): RequestHandler {
  return helmet({
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
    // CORS decides which origins may read an answer.
    crossOriginResourcePolicy: { policy: 'cross-origin' },
    // A proxy in front terminates TLS, and sets this header.
    strictTransportSecurity: false,
  })
}

/** The same headers, for answers that are written without Express. */
export function securityHeaderValues(): OutgoingHttpHeaders {
  const request = new IncomingMessage(new Socket())
  const response = new ServerResponse(request)
  securityHeaders()(request as Request, response as Response, () => undefined)
  return response.getHeaders()
}

/** Keys travel in the header X-API-KEY and never in cookies, so every origin is allowed unless `origins` names some. */
export function crossOrigin(origins?: readonly string[]): RequestHandler {
  return function crossOrigin(req, res, next) {
    const headers = originHeaders(origins, req.get('Origin'))
    const { 'Access-Control-Allow-Origin': origin } = headers
    if (origins !== undefined) res.vary('Origin')
    res.set(headers)
    if (req.method !== 'OPTIONS' || req.get('Access-Control-Request-Method') === undefined) return next()
    if (origin !== undefined) {
      res.set({
        'Access-Control-Allow-Methods': ALLOWED,
        'Access-Control-Allow-Headers': 'X-API-KEY, If-None-Match, Last-Event-ID',
        'Access-Control-Max-Age': '86400',
      })
    }
    res.status(204).end()
  }
}

/** The CORS headers with which a page of this origin may read the answer; no headers if it may not. */
export function originHeaders(
  origins: readonly string[] | undefined,
  asked: string | undefined,
): { 'Access-Control-Allow-Origin'?: string; 'Access-Control-Expose-Headers'?: string } {
  const origin = origins === undefined ? '*' : origins.find((it) => it === asked)
  return origin === undefined ? {} : { 'Access-Control-Allow-Origin': origin, 'Access-Control-Expose-Headers': EXPOSED }
}

export function limitUrlLength(): RequestHandler {
  return function shortUrls(req, _res, next) {
    if (req.url.length <= MAX_URL_LENGTH) return next()
    throw new Problem('uri_too_long', `The address has ${req.url.length} characters; ${MAX_URL_LENGTH} are the most.`)
  }
}

/** HTTP/1.1 requires one valid Host; answers contain links to it. */
export function requireHost(): RequestHandler {
  return function goodHosts(req, _res, next) {
    const hosts = req.headersDistinct['host'] ?? []
    const [host] = hosts
    const isGood = host === undefined ? req.httpVersion === '1.0' : hosts.length === 1 && isHost(host)
    if (isGood) return next()
    throw new Problem('bad_request', 'The header Host must be there once, and be a host such as example.org:3000.')
  }
}

export function isHost(text: string): boolean {
  return HOST.test(text) && URL.canParse(`http://${text}`)
}

const HOST = /^[^\s/?#@\\]+$/
const ALLOWED = 'GET, HEAD, OPTIONS'

/** Handles all other methods of a path. */
export function methodNotAllowed(method: 'GET' | 'POST' = 'GET'): RequestHandler {
  const allowed = method === 'GET' ? ALLOWED : `${method}, OPTIONS`
  return function methodNotAllowed(req, res) {
    if (req.method === 'OPTIONS') {
      res.set('Allow', allowed).status(204).end()
      return
    }
    throw new Problem('method_not_allowed', `${req.method} is not a way to ask here: use ${method}.`, {
      headers: { Allow: allowed },
    })
  }
}

export function notFound(): RequestHandler {
  return function notFound(req) {
    throw new Problem(
      'not_found',
      `There is nothing at ${req.path}. The service has /v0/candles, /v0/pools, /v0/ticks, /v0/usage, /v0/health, /v0/openapi.json and /v0/docs.`,
    )
  }
}

/** Clients get the problem without its cause; the report has the whole error. */
export function problems(report: Report<ApiFact>): ErrorRequestHandler {
  return function problems(error: unknown, req, res, next) {
    // The head is sent already: Express closes the connection.
    if (res.headersSent) return next(error)
    const requestId = res.get(REQUEST_ID) ?? ''
    const problem = toProblem(error)
    // A network without stored blocks is no failure of the service.
    if (PROBLEMS[problem.code].status >= 500 && problem.code !== 'nothing_stored')
      report({ kind: 'request-failed', requestId, path: req.path, error: problem.cause ?? error })
    sendProblem(req, res, problem, requestId)
  }
}

function sendProblem(req: Request, res: Response, problem: Problem, requestId: string): void {
  res.removeHeader('ETag')
  res.set({ 'Cache-Control': 'private, no-store', ...problem.headers })
  res.status(PROBLEMS[problem.code].status).type('application/problem+json')
  const body = problemBody(problem, requestId)
  // Charts show the reason that they find in their protocol's own members.
  res.send(JSON.stringify(req.path.startsWith('/v0/udf/') ? { s: 'error', errmsg: problem.message, ...body } : body))
}

function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error
  // From Express: a malformed percent-encoding in the path.
  if (error instanceof URIError) return new Problem('bad_request', 'The address is not well encoded.', { cause: error })
  return new Problem(
    'internal',
    'Something went wrong on our side. Ask again; if it stays, tell the operator the request id.',
    {
      cause: error,
    },
  )
}
