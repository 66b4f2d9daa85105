/** JSON-RPC over WebSocket: the next request reconnects, and new heads are reported while the socket is open. */
import {
  type BaseError,
  type Client,
  createClient,
  HttpRequestError,
  TimeoutError,
  WebSocketRequestError,
  webSocket,
} from 'viem'
import type { WatchHeads } from '../../ingest/follow/listener.ts'
import { pause } from '../../ingest/lib/wait.ts'
import { type Header, headerIn } from '../../ingest/rpc/rpc.ts'
import { isNodeError } from '../../ingest/rpc/rpc-error.ts'
import { withTimeout } from '../lib/with-timeout.ts'

export type Socket = {
  client: Client
  /** Calls back at each new head, and without a head after each (re)subscription; returns a function that unsubscribes. */
  watchHeads: WatchHeads
}

const RESUBSCRIBE_MS = 2_000
const UNSUPPORTED_RETRY_MS = 60_000
const KEEP_ALIVE_MS = 30_000
let clients = 0

/** Sends each request once, as `openHttp` does; closes when the signal aborts. */
export function openSocket(url: string, name: string, timeoutMs: number, signal: AbortSignal): Socket {
  const { inner, connect, drop, limited } = connectionTo(url, name, timeoutMs, signal)

  async function request(args: object): Promise<unknown> {
    const connection = await connect()
    try {
      return await inner.request(args as never)
    } catch (error) {
      // Without a response the peer may be gone, which TCP does not report: the next request opens a new connection.
      if (!isNodeError(error)) drop(connection)
      throw error
    }
  }

  /** Subscribes to heads until the subscription ends; resolves to the wait before the next attempt, in ms. */
  async function watch(onHead: (header?: Header) => void, stopped: AbortSignal): Promise<number> {
    const connection = await connect()
    const gone = new AbortController()
    const onError = (error: unknown) => gone.abort(error)
    try {
      const onData = ({ result }: { result?: unknown }) => onHead(headerIn(result))
      const { unsubscribe } = await limited(inner.transport.subscribe({ params: ['newHeads'], onData, onError }))
      onHead()
      await aborted(AbortSignal.any([gone.signal, stopped]))
      if (stopped.aborted) void unsubscribe()
    } catch (error) {
      // A JSON-RPC error: the endpoint has no subscriptions.
      if (typeof (error as { code?: unknown }).code === 'number') return UNSUPPORTED_RETRY_MS
    }
    if (!stopped.aborted) drop(connection)
    return RESUBSCRIBE_MS
  }

  return {
    client: { ...inner, request: request as Client['request'] },
    watchHeads(onHead) {
      const stop = new AbortController()
      const stopped = AbortSignal.any([signal, stop.signal])
      void (async () => {
        while (!stopped.aborted) {
          // The listener polls as well: a closed socket costs latency, not blocks.
          const ms = await watch((header) => stopped.aborted || onHead(header), stopped).catch(() => RESUBSCRIBE_MS)
          await pause(ms, stopped)
        }
      })()
      return () => stop.abort()
    },
  }
}

/** viem shares a connection between clients of the same address and options, and one of them would close it for all: so each client has options of its own. */
function ownKeepAlive(): { interval: number } {
  clients += 1
  return { interval: KEEP_ALIVE_MS + clients }
}

/** One connection at a time, opened at need. */
function connectionTo(url: string, name: string, timeoutMs: number, signal: AbortSignal) {
  // viem's own reconnecting prints the whole address, with its key, to the console.
  const inner = createClient({
    name,
    transport: webSocket(url, { timeout: timeoutMs, retryCount: 0, reconnect: false, keepAlive: ownKeepAlive() }),
  })
  type SocketConnection = Awaited<ReturnType<typeof inner.transport.getRpcClient>>
  let current: SocketConnection | undefined

  async function connect(): Promise<SocketConnection> {
    // viem returns a closed connection again until it is closed explicitly.
    if (current && current.socket.readyState !== current.socket.OPEN) drop(current)
    current = await limited(inner.transport.getRpcClient()).catch((cause: unknown) => {
      throw cause instanceof TimeoutError ? cause : unopened(cause, name)
    })
    if (signal.aborted) drop(current)
    return current
  }

  /** Closes only the current connection: closing an older one again would make viem forget its successor. */
  function drop(connection: SocketConnection | undefined): void {
    if (connection !== current) return
    current = undefined
    connection?.close()
  }

  /** viem's own time limit starts only once the socket is open. */
  function limited<T>(work: Promise<T>): Promise<T> {
    return withTimeout(work, timeoutMs, () => new TimeoutError({ body: {}, url: name }))
  }

  signal.addEventListener('abort', () => drop(current), { once: true })
  return { inner, connect, drop, limited }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** A socket that can't be opened fails with an event whose message may hold the HTTP status. */
function unopened(cause: unknown, name: string): BaseError {
  const message = (cause as { message?: string } | null)?.message || 'The connection could not be opened.'
  const status = /^Unexpected server response: (\d+)/.exec(message)?.[1]
  if (status !== undefined) return new HttpRequestError({ url: name, status: Number(status), details: message })
  return new WebSocketRequestError({ url: name, cause: new Error(message) })
}
