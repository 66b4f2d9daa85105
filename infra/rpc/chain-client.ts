/** The endpoints of one network, made from their addresses: HTTP in batches, or WebSocket. */

import type { WatchHeads } from '../../ingest/follow/listener.ts'
import { hostOf } from '../../ingest/lib/hosts-only.ts'
import { type Endpoints, type EndpointsOptions, endpointsOf } from '../../ingest/rpc/endpoints/endpoints.ts'
import { getHead, type Header } from '../../ingest/rpc/rpc.ts'
import { type VoicedClient, voicesOf } from '../../ingest/rpc/voice.ts'
import { DIRECT, type RpcAccess } from '../config/rpc-access.ts'
import { openHttp } from './http-rpc.ts'
import { openSocket, type Socket } from './socket.ts'

export type ChainClient = {
  endpoints: Endpoints
  /** Present where an endpoint speaks WebSocket. */
  watchHeads: WatchHeads | undefined
}

export type ChainOptions = EndpointsOptions & { timeoutMs?: number; access?: RpcAccess | undefined }

const TIMEOUT_MS = 20_000

/** The addresses in the order of preference. Connections end when the signal aborts. */
export function connectChain(urls: readonly string[], options: ChainOptions = {}): ChainClient {
  const { timeoutMs = TIMEOUT_MS, access = DIRECT, signal = new AbortController().signal } = options
  const sockets: Socket[] = []
  // Providers count the calls of a refused batch again. They take the priority of live calls, because one of them may be a head, which must not wait.
  const mayResend = async (calls: number) => {
    for (let left = calls; options.budget && left > 0; left--) await options.budget.take(signal, 'live')
  }
  const voices = voicesOf(urls)
  const clients = namesOf(urls).map(([url, name], index): VoicedClient => {
    const voice = voices[index] ?? name
    if (!/^wss?:/.test(url)) return { ...openHttp({ url, name, timeoutMs, access }, mayResend), voice }
    const socket = openSocket({ url, name, timeoutMs, access }, signal)
    sockets.push(socket)
    return { ...socket.client, voice }
  })
  return {
    endpoints: endpointsOf(clients, options),
    watchHeads: sockets.length === 0 ? undefined : (onHead) => watchAll(sockets, onHead),
  }
}

/** Undefined if no endpoint answers soon. */
export async function readHead(urls: readonly string[], access?: RpcAccess): Promise<Header | undefined> {
  const done = new AbortController()
  // It is shown, and decides nothing.
  const limits = {
    retryPolicy: { coolDownMs: 100 },
    timeoutMs: 5_000,
    headerProof: 'off',
    signal: done.signal,
  } as const
  const { endpoints } = connectChain(urls, { access, ...limits })
  try {
    return await endpoints.run(getHead)
  } catch {
    return undefined
  } finally {
    done.abort()
  }
}

/** Each address with a name for logs: its host, because the rest may be secret. Further addresses at a host are numbered. */
function namesOf(urls: readonly string[]): (readonly [url: string, name: string])[] {
  const hosts = urls.map(hostOf)
  return urls.map((url, index) => {
    const host = hostOf(url)
    const before = hosts.slice(0, index).filter((it) => it === host).length
    return [url, before > 0 ? `${host} #${before + 1}` : host]
  })
}

function watchAll(sockets: readonly Socket[], onHead: Parameters<WatchHeads>[0]): () => void {
  const stops = sockets.map((socket) => socket.watchHeads(onHead))
  return () => {
    for (const stop of stops) stop()
  }
}
