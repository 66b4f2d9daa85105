/** JSON-RPC over WebSocket: it connects again when it is asked again, and tells of new heads whenever it is up. */
import {
  type BaseError,
  type Client,
  createClient,
  HttpRequestError,
  RpcRequestError,
  TimeoutError,
  WebSocketRequestError,
  webSocket,
} from 'viem'
import type { WatchHeads } from '../../ingest/follow/listener.ts'
import { pause } from '../../ingest/lib/wait.ts'
import { type Header, headerIn } from '../../ingest/rpc/rpc.ts'

export type Socket = {
  client: Client
  /** Calls back at each new head, and without one whenever heads begin again; returns how to stop that. */
  watchHeads: WatchHeads
}

const RESUBSCRIBE_MS = 2_000
const UNSUPPORTED_RETRY_MS = 60_000

/** Asks once, as `openHttp` does; closes when the signal aborts. */
export function openSocket(url: string, name: string, timeoutMs: number, signal: AbortSignal): Socket {
  // viem's own reconnecting prints the whole address, key and all, to the console.
  const inner = createClient({
    name,
    transport: webSocket(url, { timeout: timeoutMs, retryCount: 0, reconnect: false }),
  })
  type Connection = Awaited<ReturnType<typeof inner.transport.getRpcClient>>
  let current: Connection | undefined

  async function connect(): Promise<Connection> {
    // viem hands out a closed connection for ever, until it is closed once more.
    if (current && current.socket.readyState !== current.socket.OPEN) drop(current)
    current = await inTime(inner.transport.getRpcClient()).catch((cause: unknown) => {
      throw cause instanceof TimeoutError ? cause : unopened(cause, name)
    })
    if (signal.aborted) drop(current)
    return current
  }

  /** Only the one in use: closing an older one again would make viem forget its successor. */
  function drop(connection: Connection | undefined): void {
    if (connection !== current) return
    current = undefined
    connection?.close()
  }

  /** viem's time limit begins when the connection is there, which may be never. */
  async function inTime<T>(promise: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new TimeoutError({ body: {}, url: name })), timeoutMs)
    })
    return Promise.race([promise, late]).finally(() => clearTimeout(timer))
  }

  async function request(args: object): Promise<unknown> {
    const connection = await connect()
    try {
      return await inner.request(args as never)
    } catch (error) {
      // Whatever is not an answer leaves a connection that may never answer again: a peer that is gone says nothing.
      if (!isAnswer(error)) drop(connection)
      throw error
    }
  }

  /** Ends with the heads; resolves to how long to let it alone then. */
  async function watch(onHead: (header?: Header) => void, stopped: AbortSignal): Promise<number> {
    const connection = await connect()
    const gone = new AbortController()
    const onError = (error: unknown) => gone.abort(error)
    try {
      const onData = ({ result }: { result?: unknown }) => onHead(headerIn(result))
      const { unsubscribe } = await inTime(inner.transport.subscribe({ params: ['newHeads'], onData, onError }))
      onHead()
      await aborted(AbortSignal.any([gone.signal, stopped]))
      if (stopped.aborted) void unsubscribe()
    } catch (error) {
      // It answers, and has no heads to tell.
      if (typeof (error as { code?: unknown }).code === 'number') return UNSUPPORTED_RETRY_MS
    }
    if (!stopped.aborted) drop(connection)
    return RESUBSCRIBE_MS
  }

  signal.addEventListener('abort', () => drop(current), { once: true })
  return {
    client: { ...inner, request: request as Client['request'] },
    watchHeads(onHead) {
      const stop = new AbortController()
      const stopped = AbortSignal.any([signal, stop.signal])
      void (async () => {
        while (!stopped.aborted) {
          // The listener polls as well, so a socket that is down costs time, not blocks.
          const ms = await watch((header) => stopped.aborted || onHead(header), stopped).catch(() => RESUBSCRIBE_MS)
          await pause(ms, stopped)
        }
      })()
      return () => stop.abort()
    },
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

function isAnswer(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (cause instanceof RpcRequestError) return true
  return false
}

/** A socket that cannot be opened fails with an event, which may tell the HTTP status. */
function unopened(cause: unknown, name: string): BaseError {
  const message = (cause as { message?: string } | null)?.message || 'The connection could not be opened.'
  const status = /^Unexpected server response: (\d+)/.exec(message)?.[1]
  if (status !== undefined) return new HttpRequestError({ url: name, status: Number(status), details: message })
  return new WebSocketRequestError({ url: name, cause: new Error(message) })
}
