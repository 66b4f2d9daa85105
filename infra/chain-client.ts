/** A viem client over the endpoints of one network. */
import { type Client, createClient, fallback, http, type Transport, webSocket } from 'viem'
import { getChainId, watchBlockNumber } from 'viem/actions'
import type { Network } from '../ingest/network.ts'

export type ChainClient = {
  client: Client
  /** Present where an endpoint speaks WebSocket. */
  watchHeads: ((onHead: () => void) => () => void) | undefined
}

const TIMEOUT_MS = 20_000

/** The first endpoint answers while it can; the others stand in. */
export function connectChain(urls: readonly string[]): ChainClient {
  const transports: Transport[] = urls.map((url) =>
    isWebSocket(url)
      ? webSocket(url, { timeout: TIMEOUT_MS, reconnect: { attempts: Number.POSITIVE_INFINITY, delay: 1_000 } })
      : // What is asked in one turn goes out as one batch: the logs of a range and its last header come from one endpoint.
        http(url, { batch: { batchSize: 100 }, timeout: TIMEOUT_MS }),
  )
  const socket = urls.find(isWebSocket)
  return {
    client: createClient({ transport: fallback(transports) }),
    watchHeads:
      socket === undefined
        ? undefined
        : (onHead) =>
            watchBlockNumber(createClient({ transport: webSocket(socket) }), {
              onBlockNumber: onHead,
              // The listener polls as well, so a socket that is down costs time, not blocks.
              onError: () => undefined,
              poll: false,
            }),
  }
}

/** The endpoint belongs to another network: no retry mends that. */
export class WrongChain extends Error {
  override readonly name = 'WrongChain'
}

/** A wrong endpoint is found at start-up, not in the tables. */
export async function checkChainId(client: Client, network: Network): Promise<void> {
  const chainId = await getChainId(client)
  if (chainId === network.chainId) return
  const variable = `${network.name.toUpperCase()}_RPC_URL`
  throw new WrongChain(
    `${variable} answers as chain ${chainId}, but ${network.name} is chain ${network.chainId}. Point it at a node of ${network.name}.`,
  )
}

function isWebSocket(url: string): boolean {
  return /^wss?:/.test(url)
}
