/** One GET, repeated while the service asks for patience or cannot be reached. */
import { CandlepoolError } from './error.ts'

export type ClientOptions = {
  /** Without a path: `http://127.0.0.1:3000`. */
  url: string
  key?: string
  /** Repetitions of a request after 429, 5xx or no answer; 4 if not given. */
  retries?: number
  fetch?: typeof fetch
}

export type RequestOptions = { signal?: AbortSignal | undefined; headers?: Record<string, string> }

const FIRST_PAUSE_MS = 250
const MAX_PAUSE_MS = 60_000

/** Rejects with `CandlepoolError`, and with the signal's reason where it aborts. */
export async function send(
  { url, key, retries = 4, fetch = globalThis.fetch }: ClientOptions,
  path: string,
  query: Readonly<Record<string, unknown>>,
  { signal, headers }: RequestOptions = {},
): Promise<Response> {
  const address = `${url.replace(/\/+$/, '')}${path}?${parametersOf(query)}`
  for (let attempt = 0; ; attempt++) {
    const error = await sendOnce()
    if (error instanceof Response) return error
    if (!error.isTemporary || attempt >= retries) throw error
    await pause(pauseMs(error, attempt), signal)
  }

  async function sendOnce(): Promise<Response | CandlepoolError> {
    try {
      const answer = await fetch(address, {
        headers: { ...(key !== undefined && { 'X-API-KEY': key }), ...headers },
        ...(signal && { signal }),
      })
      return answer.ok ? answer : errorOf(answer)
    } catch (cause) {
      if (signal?.aborted) throw cause
      return new CandlepoolError({ message: 'The service does not answer.' }, { status: 0, cause })
    }
  }
}

async function errorOf(answer: Response): Promise<CandlepoolError> {
  const problem = await answer.json().catch(() => ({}))
  return new CandlepoolError(problem, { status: answer.status, retryAfter: answer.headers.get('Retry-After') })
}

/** Repeats a parameter that has several values: `pool` of a stream. */
function parametersOf(query: Readonly<Record<string, unknown>>): URLSearchParams {
  return new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) => {
      if (value === undefined) return []
      return (Array.isArray(value) ? value : [value]).map((one): [string, string] => [name, String(one)])
    }),
  )
}

/** As the service asks, else doubled at each repetition. */
export function pauseMs({ retryAfterSeconds }: CandlepoolError, attempt: number): number {
  const own = retryAfterSeconds === undefined ? FIRST_PAUSE_MS * 2 ** attempt : retryAfterSeconds * 1_000
  return Math.min(own, MAX_PAUSE_MS)
}

export function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, milliseconds)
    signal?.addEventListener('abort', stop, { once: true })
  })
}
