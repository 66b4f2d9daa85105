/** Connections to endpoints: kept between requests, directly or through a proxy. */
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { HttpProxyAgent } from 'http-proxy-agent'
import { HttpsProxyAgent } from 'https-proxy-agent'
import { proxyFor, type RpcAccess } from '../config/rpc-access.ts'

/** Below the five seconds after which some servers close an idle connection. */
const IDLE_MS = 4_000
const KEPT = { keepAlive: true, timeout: IDLE_MS }
const DIRECT_AGENTS: Readonly<Record<string, HttpAgent>> = {
  'http:': new HttpAgent(KEPT),
  'https:': new HttpsAgent(KEPT),
}
/** One for each proxy and kind: there are two proxies at most. */
const PROXY_AGENTS = new Map<string, HttpAgent>()

/** The agent of an http(s) address. */
export function agents({ proxies }: RpcAccess): (url: URL) => HttpAgent {
  return (url) => {
    const proxy = proxyFor(url, proxies)
    if (proxy !== undefined) return agentTo(proxy, url.protocol)
    return DIRECT_AGENTS[url.protocol] ?? new HttpAgent()
  }
}

function agentTo(proxy: string, protocol: string): HttpAgent {
  const key = `${protocol} ${proxy}`
  const agent =
    PROXY_AGENTS.get(key) ??
    (protocol === 'https:' ? new HttpsProxyAgent(proxy, KEPT) : new HttpProxyAgent(proxy, KEPT))
  PROXY_AGENTS.set(key, agent)
  return agent
}

/** A WebSocket is a tunnel through the proxy in either kind. Undefined where it is reached directly. */
export function tunnelFor(url: URL, { proxies }: RpcAccess): HttpAgent | undefined {
  const proxy = proxyFor(url, proxies)
  return proxy === undefined ? undefined : new HttpsProxyAgent(proxy)
}
