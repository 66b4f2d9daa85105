/** Messages over a WebSocket: bounded by what was asked for, of the form of JSON-RPC, and of the chain that the first connection had. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type WebSocket, WebSocketServer } from 'ws'
import { connectChain } from '../../../infra/rpc/chain-client.ts'
import type { AnnouncedHead } from '../../../ingest/follow/announced-heads.ts'
import type { IngestFact } from '../../../ingest/model/fact.ts'
import { NETWORKS } from '../../../ingest/model/networks.ts'
import { getHead } from '../../../ingest/rpc/rpc.ts'
import { FAST_RETRIES } from '../../ingest/over-nodes.ts'
import { realHeaders } from '../../support/proof-blocks.ts'
import { madeUpHash } from '../../support/recorded.ts'
import { until } from '../../support/until.ts'

type Call = { id: number; method: string; params?: unknown[] }

const head = { number: '0x10', hash: madeUpHash(16), parentHash: madeUpHash(15), timestamp: '0x64' }
let chainId = '0x1'
let sockets: WebSocket[] = []
/** In the place of the node's own answer. */
let reply: ((call: Call) => string | undefined) | undefined
let subscribed: WebSocket[] = []
let calls: string[] = []
let facts: IngestFact[] = []
let stopping: AbortController
const server = createServer()
const acceptor = new WebSocketServer({ server, perMessageDeflate: true })

acceptor.on('connection', (socket) => {
  sockets.push(socket)
  socket.on('error', () => undefined)
  socket.on('message', (data) => {
    const call = JSON.parse(String(data)) as Call
    calls.push(call.method)
    if (call.method === 'eth_subscribe') subscribed.push(socket)
    const results: Record<string, unknown> = { eth_chainId: chainId, eth_getBlockByNumber: head, eth_subscribe: '0xab' }
    socket.send(reply?.(call) ?? JSON.stringify({ jsonrpc: '2.0', id: call.id, result: results[call.method] ?? null }))
  })
})

beforeEach(async () => {
  if (!server.listening) await once(server.listen(0, '127.0.0.1'), 'listening')
  chainId = '0x1'
  sockets = []
  subscribed = []
  calls = []
  facts = []
  reply = undefined
  stopping = new AbortController()
})

afterEach(() => {
  stopping.abort()
  for (const socket of sockets) socket.terminate()
})

function connect() {
  return connectChain([`ws://127.0.0.1:${(server.address() as AddressInfo).port}`], {
    headerProof: 'off',
    network: NETWORKS.ethereum,
    report: (fact) => facts.push(fact),
    signal: stopping.signal,
    timeoutMs: 60_000,
    retryPolicy: FAST_RETRIES,
  })
}

const announce = (result: unknown) => {
  const text = JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params: { subscription: '0xab', result } })
  for (const socket of subscribed) socket.send(text)
}
const ofHead = (text: (id: number) => string) => (call: Call) =>
  call.method === 'eth_getBlockByNumber' ? text(call.id) : undefined

test.each([
  ['5 MB for a head', ofHead((id) => `{"id":${id},"result":"${'0'.repeat(5 * 2 ** 20)}"}`), /longer than/],
  ['empty objects', ofHead((id) => `{"id":${id},"result":[${'{},'.repeat(500_000)}{}]}`), /too many/],
  ['a deep text', ofHead((id) => `{"id":${id},"result":${'['.repeat(1_000)}${']'.repeat(1_000)}}`), /levels deep/],
  ['no JSON', ofHead(() => '<html>'), /not JSON/],
  ['null', ofHead(() => 'null'), /no object/],
  ['a list', ofHead(() => '[]'), /no object/],
  ['a field of another type', ofHead((id) => JSON.stringify({ id, result: { ...head, hash: 7 } })), /as a header/],
])('%s is the fault of the endpoint, which answers again once it is sound', async (_, lie, words) => {
  const { endpoints } = connect()
  expect((await endpoints.run(getHead)).number).toBe(16)
  reply = lie
  await expect(endpoints.run(getHead)).rejects.toThrow(words)
  const failed = facts.flatMap((fact) => (fact.kind === 'rpc-failed' ? [fact.problem] : []))
  expect(new Set(failed)).toEqual(new Set(['malformed']))
  reply = undefined
  expect((await endpoints.run(getHead)).number).toBe(16)
})

test('a connection that is opened again is asked for its chain before anything else', async () => {
  const { endpoints } = connect()
  await endpoints.run(getHead)
  chainId = '0x5'
  for (const socket of sockets) socket.terminate()
  calls = []
  await expect(endpoints.run(getHead)).rejects.toThrow(/answers as chain 5 since it was connected again/)
  expect(new Set(calls)).toEqual(new Set(['eth_chainId']))
  chainId = '0x1'
  await until(async () => endpoints.run(getHead).catch(() => undefined), 'it is used again')
})

test('an announced header says whether its fields have its hash', async () => {
  const { watchHeads } = connect()
  const heads: AnnouncedHead[] = []
  let isSubscribed = false
  const stop = watchHeads?.((it) => {
    isSubscribed = true
    if (it) heads.push(it)
  })
  await until(async () => (isSubscribed ? true : undefined), 'the subscription is there')
  // Fewer than count in a second.
  const real = realHeaders()
    .slice(0, 9)
    .map(({ header }) => header)
  for (const header of real) announce(header)
  for (const header of real) announce({ ...header, timestamp: '0x65' })
  await until(async () => (heads.length === 2 * real.length ? true : undefined), 'all are announced')
  expect(real.length).toBeGreaterThan(0)
  expect(heads.map(({ isProven }) => isProven)).toEqual([...real.map(() => true), ...real.map(() => false)])
  stop?.()
})

test('announcements faster than those of any chain are dropped, and one that is too long ends the connection', async () => {
  const { watchHeads, endpoints } = connect()
  const heads: (AnnouncedHead | undefined)[] = []
  const stop = watchHeads?.((header) => heads.push(header))
  await until(async () => (heads.length > 0 ? true : undefined), 'the subscription is there')
  for (let number = 0; number < 2_000; number++) announce({ ...head, number: `0x${(number + 1).toString(16)}` })
  await endpoints.run(getHead)
  expect(heads.length).toBeGreaterThan(10)
  expect(heads.length).toBeLessThan(200)
  const before = sockets.length
  announce({ ...head, extraData: `0x${'0'.repeat(2 ** 20)}` })
  await until(async () => (sockets.length > before ? true : undefined), 'it is connected again')
  stop?.()
})
