/** A provider's gateway in front of a node: a proxy for HTTP and WebSocket, with one fault until that is ended. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { type Outcome, refusal, serveTexts } from './json-rpc.ts'
import { acceptWebSockets, type WebSocketPeer } from './web-socket.ts'

export type GatewayCall = { jsonrpc: '2.0'; id: unknown; method: string; params: readonly unknown[] }
type GatewayAnswer = { jsonrpc: '2.0'; id: unknown } & Outcome
/** One answer to all calls of a request, or none: the connection is reset. */
export type WholeAnswer = { status: number; headers?: Record<string, string>; body: string } | 'reset'

/** Each part may be absent: then the gateway passes that on as it is. */
export type GatewayFault = {
  /** The answer to a whole request; undefined where it is passed on. Not for WebSocket. */
  request?(calls: readonly GatewayCall[], isBatch: boolean): WholeAnswer | undefined
  /** The call that the node is asked in place of this one. */
  rewrite?(call: GatewayCall): GatewayCall
  /** The answer to one call; undefined where the node is asked. */
  call?(call: GatewayCall): Outcome | undefined
  /** The node's result as the gateway passes it on. */
  result?(call: GatewayCall, result: unknown): unknown
  /** Answers of a batch as they are sent. */
  batch?(answers: readonly GatewayAnswer[]): readonly unknown[]
  /** The heads that subscribers are told of in place of this one. */
  heads?(head: unknown): readonly unknown[]
  /** How much later than the node it answers. */
  delayMs?: number
  /** Content and headers of an HTTP answer. */
  encode?(body: Buffer): { headers: Record<string, string>; body: Buffer }
}

export type Gateway = {
  url: string
  wsUrl: string
  /** May be changed while it runs. */
  fault: GatewayFault
  /** How often each method was called. */
  calls: Record<string, number>
  stop(): Promise<void>
}

/** How often the node is asked for its head while a client has subscribed to heads. */
const HEAD_POLL_MS = 25
const SUBSCRIPTION = '0x1'

/** `host`: where it listens. */
export async function startGateway(nodeUrl: string, fault: GatewayFault = {}, host = '127.0.0.1'): Promise<Gateway> {
  const subscribers = new Set<WebSocketPeer>()
  const upgraded = new Set<Duplex>()
  const { server, url, stop } = await serveTexts((text, response, request) => {
    respond(text, response, request).catch(() => response.destroy())
  }, host)

  async function respond(text: string, response: ServerResponse, request: IncomingMessage): Promise<void> {
    const asked = JSON.parse(text) as SentCall | SentCall[]
    const calls = [asked].flat().map(withParams)
    for (const { method } of calls) gateway.calls[method] = (gateway.calls[method] ?? 0) + 1
    const whole = gateway.fault.request?.(calls, Array.isArray(asked))
    if (whole === 'reset') return void request.socket.destroy()
    if (whole) return void response.writeHead(whole.status, { ...JSON_TYPE, ...whole.headers }).end(whole.body)
    const answers = await answersTo(calls)
    const told = Array.isArray(asked) ? (gateway.fault.batch?.(answers) ?? answers) : answers[0]
    const plain = Buffer.from(JSON.stringify(told))
    const { headers, body } = gateway.fault.encode?.(plain) ?? { headers: {}, body: plain }
    response.writeHead(200, { ...JSON_TYPE, 'content-length': body.length, ...headers }).end(body)
  }

  async function answersTo(calls: readonly GatewayCall[]): Promise<GatewayAnswer[]> {
    const own = calls.map((call) => gateway.fault.call?.(call))
    const passed = calls.filter((_, index) => own[index] === undefined)
    if (gateway.fault.delayMs) await pause(gateway.fault.delayMs)
    const told = await askNode(passed.map((call) => gateway.fault.rewrite?.(call) ?? call))
    return calls.map((call, index) => {
      const outcome = own[index] ?? told[passed.indexOf(call)] ?? FAILED
      const { result } = gateway.fault
      const changed = result && 'result' in outcome ? { result: result(call, outcome.result) } : outcome
      return { jsonrpc: '2.0', id: call.id, ...changed }
    })
  }

  async function askNode(calls: readonly GatewayCall[]): Promise<Outcome[]> {
    if (calls.length === 0) return []
    const batch = calls.map((call, id) => ({ ...call, id }))
    const answer = await fetch(nodeUrl, { method: 'POST', headers: JSON_TYPE, body: JSON.stringify(batch) })
    const answers = (await answer.json()) as GatewayAnswer[]
    return calls.map((_, index) => {
      const told = answers.find(({ id }) => id === index)
      if (!told) return FAILED
      return 'error' in told ? { error: told.error } : { result: told.result }
    })
  }

  async function onText(peer: WebSocketPeer, text: string): Promise<void> {
    const call = withParams(JSON.parse(text) as SentCall)
    gateway.calls[call.method] = (gateway.calls[call.method] ?? 0) + 1
    const answer = (outcome: Outcome) => peer.send(JSON.stringify({ jsonrpc: '2.0', id: call.id, ...outcome }))
    if (call.method === 'eth_unsubscribe') return void answer({ result: subscribers.delete(peer) })
    if (call.method !== 'eth_subscribe') return void peer.send(JSON.stringify((await answersTo([call]))[0]))
    subscribers.add(peer)
    answer({ result: SUBSCRIPTION })
  }

  let announced: unknown
  async function announce(): Promise<void> {
    if (subscribers.size === 0) return
    const ask = { jsonrpc: '2.0', id: 1, method: 'eth_getBlockByNumber', params: ['latest', false] } as const
    const [head] = await askNode([ask])
    if (!head || !('result' in head)) return
    const { hash } = head.result as { hash: unknown }
    if (hash === announced) return
    announced = hash
    for (const result of gateway.fault.heads?.(head.result) ?? [head.result]) {
      const params = { subscription: SUBSCRIPTION, result }
      for (const peer of subscribers) peer.send(JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params }))
    }
  }
  const announcing = setInterval(() => void announce().catch(() => undefined), HEAD_POLL_MS)

  server.on('upgrade', (_, socket) => upgraded.add(socket))
  acceptWebSockets(
    server,
    (peer, text) => void onText(peer, text).catch(() => undefined),
    (peer) => subscribers.delete(peer),
  )
  const gateway: Gateway = {
    url,
    wsUrl: url.replace('http', 'ws'),
    fault,
    calls: {},
    stop() {
      clearInterval(announcing)
      for (const socket of upgraded) socket.destroy()
      return stop()
    },
  }
  return gateway
}

const JSON_TYPE = { 'content-type': 'application/json' }
const FAILED = refusal(-32603, 'The node gave the gateway no answer.')

type SentCall = Omit<GatewayCall, 'params'> & Partial<Pick<GatewayCall, 'params'>>

/** A client may leave out a list that is empty. */
function withParams({ params = [], ...call }: SentCall): GatewayCall {
  return { ...call, params }
}
