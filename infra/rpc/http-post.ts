/** One HTTP request with JSON both ways: a limit on time and length, and errors that keep what the node said. */
import { isAscii } from 'node:buffer'
import { HttpRequestError, ResponseBodyTooLargeError, TimeoutError } from 'viem'

/** A range of 20,000 logs is 15 MB; longer answers are refused, and the range is halved. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024
/** Characters of an error page that are kept. */
const MAX_DETAILS = 4_096

/** Throws viem's errors, which call the endpoint `name`: its address is a key. */
export function postTo(address: string, name: string, timeoutMs: number): (body: object) => Promise<unknown> {
  const { url, headers } = withoutCredentials(address)
  return async function post(body) {
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(), timeoutMs)
    try {
      const init = { method: 'POST', headers, body: JSON.stringify(body), signal: late.signal }
      const response = await fetch(url, init)
      // The time limit holds for the last byte, too: a node may stop in the middle of its answer.
      const text = await textOf(response)
      if (response.ok) return JSON.parse(text)
      const { status, statusText } = response
      const details = text.slice(0, MAX_DETAILS) || statusText
      throw new HttpRequestError({ url: name, status, headers: response.headers, details })
    } catch (error) {
      if (late.signal.aborted) throw new TimeoutError({ body: {}, url: name })
      if (error instanceof HttpRequestError || error instanceof ResponseBodyTooLargeError) throw error
      throw new HttpRequestError({ url: name, cause: error instanceof Error ? error : new Error(String(error)) })
    } finally {
      clearTimeout(timer)
    }
  }
}

async function textOf({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.byteLength
    if (size > MAX_ANSWER_BYTES) throw new ResponseBodyTooLargeError({ maxSize: MAX_ANSWER_BYTES, size })
    chunks.push(chunk)
  }
  const bytes = Buffer.concat(chunks)
  // An answer is ASCII as a rule, which is not worth decoding: that takes as long as all the rest.
  return isAscii(bytes) ? bytes.toString('latin1') : bytes.toString()
}

/** `fetch` takes no address with a user and a password in it. */
function withoutCredentials(address: string): { url: string; headers: Record<string, string> } {
  const url = new URL(address)
  const headers = { 'content-type': 'application/json' }
  if (!url.username) return { url: address, headers }
  const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  url.username = url.password = ''
  const authorization = `Basic ${Buffer.from(credentials).toString('base64')}`
  return { url: url.href, headers: { ...headers, authorization } }
}
