/** The endpoints of one network, made from their addresses: HTTP in batches, or WebSocket. */
import { type Client, createClient, http, type Transport, webSocket } from 'viem'
import { watchBlockNumber } from 'viem/actions'
import { type Endpoints, type EndpointsOptions, endpointsOf } from '../ingest/endpoints.ts'
import { hostOf } from '../ingest/hosts-only.ts'
import { getHead, type Header } from '../ingest/rpc.ts'
import { strictFetch } from './strict-fetch.ts'

export type ChainClient = {
  endpoints: Endpoints
  /** Present where an endpoint speaks WebSocket. */
  watchHeads: ((onHead: () => void) => () => void) | undefined
}

export type ChainOptions = EndpointsOptions & { timeoutMs?: number }

const TIMEOUT_MS = 20_000
/** A range of 20,000 logs is 15 MB; what is longer is refused, and asked for in halves. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024

/** The addresses in the order of preference. */
export function connectChain(urls: readonly string[], options: ChainOptions = {}): ChainClient {
  const sockets = urls.filter(isWebSocket)
  const hosts = urls.map(hostOf)
  const clients = urls.map((url, index) => {
    const host = hosts[index] ?? ''
    const before = hosts.slice(0, index).filter((it) => it === host).length
    return connect(url, before > 0 ? `${host} #${before + 1}` : host, options.timeoutMs ?? TIMEOUT_MS)
  })
  return {
    endpoints: endpointsOf(clients, options),
    watchHeads: sockets.length === 0 ? undefined : (onHead) => watchAll(sockets, onHead),
  }
}

/** Undefined where none of them answers soon. */
export async function askHead(urls: readonly string[]): Promise<Header | undefined> {
  const { endpoints } = connectChain(urls, { patience: { coolDownMs: 100 } })
  return endpoints.run(getHead).catch(() => undefined)
}

/** Without retries: it is the endpoints that decide who is asked again, and when. */
function connect(url: string, name: string, timeout: number): Client {
  const transport: Transport = isWebSocket(url)
    ? webSocket(url, { timeout, retryCount: 0, reconnect: { attempts: Number.POSITIVE_INFINITY, delay: 1_000 } })
    : http(url, {
        // What is asked in one turn goes out as one request: a range's logs and its last header take one round trip.
        batch: { batchSize: 100 },
        timeout,
        retryCount: 0,
        maxResponseBodySize: MAX_ANSWER_BYTES,
        fetchFn: strictFetch(),
      })
  return createClient({ name, transport })
}

function watchAll(sockets: readonly string[], onHead: () => void): () => void {
  const stops = sockets.map((socket) =>
    watchBlockNumber(createClient({ transport: webSocket(socket) }), {
      onBlockNumber: onHead,
      // The listener polls as well, so a socket that is down costs time, not blocks.
      onError: () => undefined,
      poll: false,
    }),
  )
  return () => {
    for (const stop of stops) stop()
  }
}

function isWebSocket(url: string): boolean {
  return /^wss?:/.test(url)
}
