/** One HTTP request with JSON both ways: a limit on time and length, and errors that keep what the node said. `fetch` takes half as much CPU again. */
import { isAscii } from 'node:buffer'
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { HttpRequestError, ResponseBodyTooLargeError, TimeoutError } from 'viem'
import { unpacked } from '../lib/decoded.ts'
import { TooLong } from '../lib/zstd.ts'

/** A range of 20,000 logs is 15 MB; longer answers are refused, and the range is halved. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024
/** Characters of an error page that are kept. */
const MAX_DETAILS = 4_096
const MAX_REDIRECTS = 5
/** Below the five seconds after which some servers close an idle connection. */
const IDLE_MS = 4_000

const KEPT = { keepAlive: true, timeout: IDLE_MS }
const AGENTS: Readonly<Record<string, HttpAgent>> = { 'http:': new HttpAgent(KEPT), 'https:': new HttpsAgent(KEPT) }
const HEADERS = {
  accept: '*/*',
  'accept-encoding': 'gzip, deflate',
  'content-type': 'application/json',
  // Some gateways refuse requests without one.
  'user-agent': 'candlepool',
}

/** Throws viem's errors, which call the endpoint `name`: its address is a key. */
export function postTo(address: string, name: string, timeoutMs: number): (body: object) => Promise<unknown> {
  const url = new URL(address)
  return async function post(body) {
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(), timeoutMs)
    try {
      const response = await answerTo(url, JSON.stringify(body), late.signal)
      const text = await textOf(response)
      const { statusCode: status = 0, statusMessage } = response
      if (status >= 200 && status < 300) return JSON.parse(text)
      const details = text.slice(0, MAX_DETAILS) || statusMessage
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
async function answerTo(url: URL, body: string, signal: AbortSignal): Promise<IncomingMessage> {
  for (let target = url, redirects = 0; ; redirects++) {
    const response = await send(target, body, signal)
    const { statusCode, headers } = response
    const isRedirect = statusCode === 307 || statusCode === 308
    if (!isRedirect || headers.location === undefined || redirects === MAX_REDIRECTS) return response
    response.resume()
    target = new URL(headers.location, target)
  }
}

/** The user and the password of an address go into a header. */
function send(url: URL, body: string, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = url.protocol === 'https:' ? requestHttps : requestHttp
    const options = { method: 'POST', agent: AGENTS[url.protocol], headers: HEADERS, signal }
    request(url, options, resolve).on('error', reject).end(body)
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
