/** JSON-RPC over WebSocket: the next request reconnects, and new heads are reported while the socket is open. */
import {
  type BaseError,
  type Client,
  createClient,
  custom,
  HttpRequestError,
  RpcRequestError,
  TimeoutError,
  WebSocketRequestError,
} from 'viem'
import type { AnnouncedHead } from '../../ingest/follow/announced-heads.ts'
import type { WatchHeads } from '../../ingest/follow/listener.ts'
import { quantityIn } from '../../ingest/lib/hex.ts'
import { pause, untilAborted } from '../../ingest/lib/wait.ts'
import { headerVerdict } from '../../ingest/proof/header-hash.ts'
import { headerIn } from '../../ingest/rpc/rpc.ts'
import { BadAnswer, isFault, isNodeError } from '../../ingest/rpc/rpc-error.ts'
import { withTimeout } from '../lib/with-timeout.ts'
import { timeFor } from './answer-limits.ts'
import { rpcErrorIn } from './call.ts'
import { dial } from './dial.ts'
import type { EndpointAddress } from './http-post.ts'

export type Socket = {
  client: Client
  /** Calls back at each new head, and without a head after each (re)subscription; returns a function that unsubscribes. */
  watchHeads: WatchHeads
}

type Connection = Awaited<ReturnType<typeof dial>>

const RESUBSCRIBE_MS = 2_000
const UNSUPPORTED_RETRY_MS = 60_000
/** Each head leads to requests, and no chain has so many. */
const MAX_HEADS_PER_SECOND = 20

/** Sends each request once, as `openHttp` does; closes when the signal aborts. */
export function openSocket(address: EndpointAddress, signal: AbortSignal): Socket {
  const { name } = address
  const { connect, drop, limited, chain } = connectionTo(address, signal)

  async function request(body: { method: string; params?: unknown }): Promise<unknown> {
    const connection = await connect()
    try {
      const result = await ask(connection, body, address)
      if (body.method === 'eth_chainId') chain.id = quantityIn(result)
      return result
    } catch (error) {
      // Without a response the peer may be gone, which TCP does not report: the next request opens a new connection.
      if (!isNodeError(error)) drop(connection)
      throw error
    }
  }

  /** Subscribes to heads until the subscription ends; resolves to the wait before the next attempt, in ms. */
  async function watch(onHead: (head?: AnnouncedHead) => void, stopped: AbortSignal): Promise<number> {
    const connection = await connect()
    const gone = new AbortController()
    try {
      const id = await limited(subscribed(connection, onHead, gone, name))
      onHead()
      await untilAborted(AbortSignal.any([gone.signal, stopped]))
      const body = { method: 'eth_unsubscribe', params: [id] }
      if (stopped.aborted) connection.request({ body, onResponse: () => undefined })
    } catch (error) {
      // The endpoint has no subscriptions.
      if (error instanceof RpcRequestError) return UNSUPPORTED_RETRY_MS
    }
    if (!stopped.aborted) drop(connection)
    return RESUBSCRIBE_MS
  }

  return {
    client: createClient({ name, transport: custom({ request }, { retryCount: 0 }) }),
    watchHeads(onHead) {
      const stop = new AbortController()
      const stopped = AbortSignal.any([signal, stop.signal])
      void (async () => {
        while (!stopped.aborted) {
          // The listener polls as well: a closed socket costs latency, not blocks.
          const ms = await watch((head) => stopped.aborted || onHead(head), stopped).catch(() => RESUBSCRIBE_MS)
          await pause(ms, stopped)
        }
      })()
      return () => stop.abort()
    },
  }
}

async function ask(
  connection: Connection,
  body: { method: string; params?: unknown },
  { name, timeoutMs }: EndpointAddress,
): Promise<unknown> {
  const { error, result } = await connection.requestAsync({ body, timeout: timeFor(body, timeoutMs) })
  if (error) throw new RpcRequestError({ body, error: rpcErrorIn(error), url: name })
  return result
}

/** Resolves to the id of the subscription; rejects with `RpcRequestError` where the endpoint refuses it. `gone` aborts at its end. */
function subscribed(
  connection: Connection,
  onHead: (head?: AnnouncedHead) => void,
  gone: AbortController,
  name: string,
): Promise<unknown> {
  const body = { method: 'eth_subscribe', params: ['newHeads'] }
  const mayTell = atMost(MAX_HEADS_PER_SECOND)
  return new Promise((resolve, reject) => {
    connection.request({
      body,
      onError(error) {
        gone.abort(error)
        reject(error)
      },
      onResponse(response) {
        if ('id' in response && response.id !== undefined) {
          if (response.error) reject(new RpcRequestError({ body, error: rpcErrorIn(response.error), url: name }))
          else resolve(response.result)
        } else if (mayTell()) onHead(headIn((response as { params?: { result?: unknown } }).params?.result))
      },
    })
  })
}

/** Undefined where it is no header. */
function headIn(block: unknown): AnnouncedHead | undefined {
  const header = headerIn(block)
  return header && { ...header, isProven: headerVerdict(block as Record<string, unknown>) === 'proven' }
}

/** True so many times in a second. */
function atMost(perSecond: number): () => boolean {
  let [second, count] = [0, 0]
  return () => {
    const now = Math.floor(performance.now() / 1_000)
    if (now !== second) [second, count] = [now, 0]
    return ++count <= perSecond
  }
}

/** One connection at a time, opened at need. */
function connectionTo(address: EndpointAddress, signal: AbortSignal) {
  const { name, timeoutMs } = address
  let current: Promise<Connection> | undefined
  /** That of the last connection; undefined until it was asked for. */
  const chain: { id: number | undefined } = { id: undefined }

  /** Another node may be behind the address by now. */
  async function open(): Promise<Connection> {
    const connection = await dial(address)
    if (chain.id === undefined) return connection
    const id = await ask(connection, { method: 'eth_chainId' }, address).then(quantityIn, () => undefined)
    if (id === chain.id) return connection
    connection.close()
    const answered = id === undefined ? 'does not tell its chain' : `answers as chain ${id}`
    const text = `The node ${answered} since it was connected again, and was of chain ${chain.id} before.`
    throw new HttpRequestError({ url: name, cause: new BadAnswer('contradictory', text, { isFault: true }) })
  }

  async function connect(): Promise<Connection> {
    current ??= open()
    const opening = current
    const connection = await limited(opening).catch((cause: unknown) => {
      forget(opening)
      throw cause instanceof TimeoutError || isFault(cause) ? cause : unopened(cause, name)
    })
    if (signal.aborted) drop(connection)
    if (connection.socket.readyState === connection.socket.OPEN || signal.aborted) return connection
    drop(connection)
    forget(opening)
    return connect()
  }

  /** The next request opens another one; an attempt that is still under way closes what it opens. */
  function forget(opening: Promise<Connection>): void {
    if (opening === current) current = undefined
    void opening.then(drop, () => undefined)
  }

  function drop(connection: Connection): void {
    void current?.then(
      (it) => {
        if (it === connection) current = undefined
      },
      () => undefined,
    )
    connection.close()
  }

  /** viem's own time limit starts only once the socket is open. */
  function limited<T>(work: Promise<T>): Promise<T> {
    return withTimeout(work, timeoutMs, () => new TimeoutError({ body: {}, url: name }))
  }

  signal.addEventListener('abort', () => current && forget(current), { once: true })
  return { connect, drop, limited, chain }
}

/** A socket that can't be opened fails with an event. Its message may name the HTTP status. */
function unopened(cause: unknown, name: string): BaseError {
  const message = (cause as { message?: string } | null)?.message || 'The connection could not be opened.'
  const status = /^Unexpected server response: (\d+)/.exec(message)?.[1]
  if (status !== undefined) return new HttpRequestError({ url: name, status: Number(status), details: message })
  return new WebSocketRequestError({ url: name, cause: new Error(message) })
}
