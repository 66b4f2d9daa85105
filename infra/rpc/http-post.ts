/** One HTTP request with JSON both ways: a limit on time and length, and errors that keep what the node said. `fetch` takes half as much CPU again. */
import { type Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { HttpRequestError, TimeoutError } from 'viem'
import { headersFor, type RpcAccess } from '../config/rpc-access.ts'
import { TooManyParts } from '../lib/bounded-json.ts'
import { unpacked } from '../lib/decoded.ts'
import { TooLong } from '../lib/zstd.ts'
import { agents } from './agents.ts'
import { type AskedCall, bytesFor, timeFor, tooLong } from './answer-limits.ts'
import { malformed } from './call.ts'
import { readAnswer } from './read-answer.ts'

/** Characters of an error page that are kept. */
const MAX_DETAILS = 4_096
const MAX_REDIRECTS = 5
const HEADERS = {
  accept: '*/*',
  'accept-encoding': 'gzip, deflate',
  'content-type': 'application/json',
  // Some gateways refuse requests without one.
  'user-agent': 'candlepool',
}

/** `name` identifies the endpoint in errors: its address is a key. */
export type EndpointAddress = { url: string; name: string; timeoutMs: number; access: RpcAccess }

/** An endpoint's own address, the headers that are sent to its origin alone, and its connection. */
type Target = { url: URL; name: string; headers: Readonly<Record<string, string>>; agentOf: (url: URL) => HttpAgent }

/** `body`: one call, or the calls of a batch. Throws viem's errors. */
export type Post = (body: AskedCall | readonly AskedCall[]) => Promise<unknown>

export function postTo({ url: address, name, timeoutMs, access }: EndpointAddress): Post {
  const url = new URL(address)
  const target: Target = { url, name, headers: headersFor(url, access.headers), agentOf: agents(access) }
  return async function post(body) {
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(), timeFor(body, timeoutMs))
    try {
      const response = await answerTo(target, JSON.stringify(body), late.signal)
      const { statusCode: status = 0, statusMessage } = response
      const isSuccess = status >= 200 && status < 300
      const bytes = await bytesOf(response, bytesFor(body)).catch((error: unknown) => {
        if (isSuccess || !(error instanceof TooLong)) throw error
      })
      if (isSuccess && bytes) return readAnswer(bytes)
      const said = bytes?.toString('utf8', 0, MAX_DETAILS) || statusMessage
      const details = status === 407 ? `The proxy refuses its user or password. ${said}` : said
      throw new HttpRequestError({ url: name, status, headers: headersOf(response), ...(details && { details }) })
    } catch (error) {
      if (late.signal.aborted) throw new TimeoutError({ body: {}, url: name })
      if (error instanceof HttpRequestError) throw error
      if (error instanceof TooLong) throw tooLong(body, name)
      if (error instanceof TooManyParts)
        throw malformed(`The node's answer is refused unread: ${error.message}`, name, { isFault: true })
      throw new HttpRequestError({ url: name, cause: causeOf(error) })
    } finally {
      clearTimeout(timer)
    }
  }
}

/** The time limit holds for the last byte, too: a node may stop in the middle of its answer. */
async function answerTo(target: Target, body: string, signal: AbortSignal): Promise<IncomingMessage> {
  for (let url = target.url, redirects = 0; ; redirects++) {
    const response = await send(target, url, body, signal)
    const { statusCode, headers } = response
    const isRedirect = statusCode === 307 || statusCode === 308
    if (!isRedirect || headers.location === undefined) return response
    response.destroy()
    if (redirects === MAX_REDIRECTS) throw refused(target, statusCode, 'It redirects again and again.')
    url = redirected(target, url, headers.location, statusCode)
  }
}

/** Another place is another party: its answers are not the endpoint's, and it may be one that only this machine reaches. */
function redirected(target: Target, from: URL, location: string, status: number): URL {
  const { username, password, href } = from
  const base = Object.assign(new URL(href), { username: '', password: '' })
  const to = URL.canParse(location, base) ? new URL(location, base) : undefined
  if (to?.origin === from.origin && !to.username && !to.password) return Object.assign(to, { username, password })
  const advice = 'name the address that is to be asked instead.'
  throw refused(target, status, `It redirects to another scheme, host or port: ${advice}`)
}

function refused({ name }: Target, status: number, details: string): HttpRequestError {
  return new HttpRequestError({ url: name, status, details })
}

/** The user and the password of an address go into a header. */
function send({ headers, agentOf }: Target, to: URL, body: string, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = to.protocol === 'https:' ? requestHttps : requestHttp
    const options = { method: 'POST', agent: agentOf(to), headers: { ...HEADERS, ...headers }, signal }
    request(to, options, resolve).on('error', reject).end(body)
  })
}

/** Throws `TooLong`. */
async function bytesOf(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength
    if (size > maxBytes) throw new TooLong()
    chunks.push(chunk)
  }
  return unpacked(Buffer.concat(chunks), response, maxBytes)
}

function headersOf({ headersDistinct }: IncomingMessage): Headers {
  const pairs = Object.entries(headersDistinct).flatMap(([name, values = []]) => values.map((value) => [name, value]))
  return new Headers(pairs as [string, string][])
}

/** Where all addresses of a host fail, the error of the first: that of all of them has no message. */
function causeOf(error: unknown): Error {
  if (error instanceof AggregateError && error.errors[0] instanceof Error) return error.errors[0]
  return error instanceof Error ? error : new Error(String(error))
}
