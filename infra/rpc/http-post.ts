/** One HTTP request with JSON both ways: a limit on time and length, and errors that keep what the node said. `fetch` takes half as much CPU again. */
import { isAscii } from 'node:buffer'
import { type Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { HttpRequestError, ResponseBodyTooLargeError, TimeoutError } from 'viem'
import { headersFor, type RpcAccess } from '../config/rpc-access.ts'
import { unpacked } from '../lib/decoded.ts'
import { TooLong } from '../lib/zstd.ts'
import { agents } from './agents.ts'

/** A range of 20,000 logs is 15 MB; longer answers are refused, and the range is halved. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024
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

/** An endpoint's own address, what is sent to its origin alone, and the way there. */
type Target = { url: URL; name: string; headers: Readonly<Record<string, string>>; agentOf: (url: URL) => HttpAgent }

/** Throws viem's errors. */
export function postTo({ url: address, name, timeoutMs, access }: EndpointAddress): (body: object) => Promise<unknown> {
  const url = new URL(address)
  const target: Target = { url, name, headers: headersFor(url, access.headers), agentOf: agents(access) }
  return async function post(body) {
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(), timeoutMs)
    try {
      const response = await answerTo(target, JSON.stringify(body), late.signal)
      const text = await textOf(response)
      const { statusCode: status = 0, statusMessage } = response
      if (status >= 200 && status < 300) return JSON.parse(text)
      const said = text.slice(0, MAX_DETAILS) || statusMessage
      const details = status === 407 ? `The proxy refuses its user or password. ${said}` : said
      throw new HttpRequestError({ url: name, status, headers: headersOf(response), ...(details && { details }) })
    } catch (error) {
      if (late.signal.aborted) throw new TimeoutError({ body: {}, url: name })
      if (error instanceof HttpRequestError || error instanceof ResponseBodyTooLargeError) throw error
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
    if (!isRedirect || headers.location === undefined || redirects === MAX_REDIRECTS) return response
    response.destroy()
    url = redirected(target, url, headers.location)
  }
}

/** Another host is another party, whose answers are not those of the endpoint; and a step down from TLS shows what is asked. */
function redirected({ url, name }: Target, from: URL, location: string): URL {
  const to = URL.canParse(location, from) ? new URL(location, from) : undefined
  const isSafe = to?.protocol === 'https:' || (to?.protocol === 'http:' && from.protocol === 'http:')
  if (to && isSafe && to.hostname === url.hostname) return to
  const host = to?.host || 'an address that is none'
  throw new HttpRequestError({ url: name, status: 308, details: `It redirects to ${host}: name that host itself.` })
}

/** The user and the password of an address go into a header. Keys go to the origin that the configuration names, and to no other. */
function send({ url, headers, agentOf }: Target, to: URL, body: string, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = to.protocol === 'https:' ? requestHttps : requestHttp
    const own = to.origin === url.origin ? { ...HEADERS, ...headers } : HEADERS
    const options = { method: 'POST', agent: agentOf(to), headers: own, signal }
    request(to, options, resolve).on('error', reject).end(body)
  })
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength
    if (size > MAX_ANSWER_BYTES) throw tooLarge(size)
    chunks.push(chunk)
  }
  const bytes = await unpacked(Buffer.concat(chunks), response, MAX_ANSWER_BYTES).catch((error: unknown) => {
    throw error instanceof TooLong ? tooLarge() : error
  })
  // An answer is ASCII as a rule, which is not worth decoding: that takes as long as all the rest.
  return isAscii(bytes) ? bytes.toString('latin1') : bytes.toString()
}

function tooLarge(size = MAX_ANSWER_BYTES + 1): ResponseBodyTooLargeError {
  return new ResponseBodyTooLargeError({ maxSize: MAX_ANSWER_BYTES, size })
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
