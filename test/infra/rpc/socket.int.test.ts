/** A real node over WebSocket, on a network that fails. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { type Anvil, startAnvil } from '../../../infra/devnet/chain/anvil.ts'
import { connectChain, readHead } from '../../../infra/rpc/chain-client.ts'
import type { IngestFact } from '../../../ingest/model/fact.ts'
import { NETWORKS } from '../../../ingest/model/networks.ts'
import { getHead } from '../../../ingest/rpc/rpc.ts'
import { startProxy, type TcpProxy } from '../../support/proxy.ts'
import { until } from '../../support/until.ts'

let node: Anvil
let proxy: TcpProxy
let stopping: AbortController
let facts: IngestFact[]

beforeAll(async () => {
  node = await startAnvil()
})

beforeEach(async () => {
  const { port, hostname } = new URL(node.wsUrl)
  proxy = await startProxy(Number(port), hostname)
  stopping = new AbortController()
  facts = []
})

afterEach(async () => {
  stopping.abort()
  await proxy.stop()
})

afterAll(() => node.stop())

const url = () => `ws://127.0.0.1:${proxy.port}/?key=a-secret-key`
const mine = () => node.rpc([{ method: 'evm_mine', params: [] }])

function connect() {
  return connectChain([url()], {
    network: { ...NETWORKS.ethereum, chainId: 31_337 },
    report: (fact) => {
      // Of these there is one for each request.
      if (fact.kind !== 'rpc-called' && fact.kind !== 'rpc-erred') facts.push(fact)
    },
    signal: stopping.signal,
    timeoutMs: 1_000,
    retryPolicy: { coolDownMs: 50, maxCoolDownMs: 200 },
  })
}

function watch({ watchHeads }: ReturnType<typeof connect>): { heads(): number; stop(): void } {
  if (!watchHeads) throw new Error('a WebSocket endpoint tells heads')
  let heads = 0
  const stop = watchHeads(() => {
    heads++
  })
  return { heads: () => heads, stop }
}

test('heads begin again after the node was away, and nothing that is printed has its key', async () => {
  const printed: unknown[] = []
  const keep = (...words: unknown[]) => void printed.push(words)
  const spies = (['log', 'info', 'warn', 'error', 'debug'] as const).map((name) =>
    vi.spyOn(console, name).mockImplementation(keep),
  )
  const chain = connect()
  const { heads, stop } = watch(chain)
  await until(async () => (heads() > 0 ? true : undefined), 'heads have begun')
  const before = heads()
  await mine()
  await until(async () => (heads() > before ? true : undefined), 'a new head is told')

  await proxy.goAway()
  await expect(chain.endpoints.run(getHead)).rejects.toThrow('unreachable')
  await proxy.comeBack()
  const whileAway = heads()
  await until(async () => (heads() > whileAway ? true : undefined), 'heads have begun again')
  const after = heads()
  await mine()
  await until(async () => (heads() > after ? true : undefined), 'a new head is told again')
  expect((await chain.endpoints.run(getHead)).number).toBeGreaterThan(0)
  expect(facts.map((fact) => fact.kind)).toEqual(expect.arrayContaining(['endpoint-cooling', 'endpoint-recovered']))

  stop()
  const stopped = heads()
  await mine()
  await chain.endpoints.run(getHead)
  expect(heads()).toBe(stopped)
  for (const spy of spies) spy.mockRestore()
  const told = facts.map((fact) => ('error' in fact ? `${JSON.stringify(fact)} ${(fact.error as Error).stack}` : ''))
  expect(JSON.stringify([printed, told])).not.toContain('a-secret-key')
})

test('a connection that was closed while idle costs no failure', async () => {
  const { endpoints } = connect()
  await endpoints.run(getHead)
  await proxy.goAway()
  await proxy.comeBack()
  await until(async () => (proxy.open() === 0 ? true : undefined), 'the connection is closed')
  await endpoints.run(getHead)
  expect(facts).toEqual([])
})

test('a peer that has fallen silent is left after the time limit for a new connection', async () => {
  const { endpoints } = connect()
  await endpoints.run(getHead)
  proxy.fallSilent()
  await endpoints.run(getHead)
  expect(facts.map((fact) => (fact.kind === 'rpc-failed' ? fact.problem : fact.kind))).toEqual([
    'timeout',
    'endpoint-cooling',
    'endpoint-recovered',
  ])
  expect(proxy.made()).toBe(2)
})

test('requests that are under way together share one connection, and one failure', async () => {
  const { endpoints } = connect()
  const all = () => Promise.all(Array.from({ length: 10 }, () => endpoints.run(getHead)))
  await all()
  proxy.fallSilent()
  await all()
  expect(facts.filter((fact) => fact.kind === 'endpoint-cooling')).toHaveLength(1)
  expect(proxy.made()).toBe(2)
})

test('a message that is not JSON costs its connection, and no more', async () => {
  const { endpoints } = connect()
  await endpoints.run(getHead)
  const text = Buffer.from('<html>')
  proxy.inject(Buffer.concat([Buffer.from([0x81, text.length]), text]))
  for (let asked = 0; asked < 3; asked++) await endpoints.run(getHead)
  expect(facts.filter((fact) => fact.kind === 'rpc-failed').length).toBeLessThanOrEqual(1)
})

test('connections end with the signal, and a command leaves none behind', async () => {
  expect((await readHead([url()]))?.number).toBeTypeOf('number')
  await until(async () => (proxy.open() === 0 ? true : undefined), 'the connection is closed')
  const chain = connect()
  watch(chain)
  await chain.endpoints.run(getHead)
  expect(proxy.open()).toBe(1)
  stopping.abort()
  await until(async () => (proxy.open() === 0 ? true : undefined), 'the connection is closed')
})

test('a connection is its own: one that ends leaves those of the same address', async () => {
  const { endpoints } = connect()
  await endpoints.run(getHead)
  // As a start does it, which looks at the head while the listener connects.
  const heads = Promise.all(Array.from({ length: 20 }, () => readHead([url()])))
  const requests = Array.from({ length: 100 }, async (_, index) => {
    await sleep(index)
    return endpoints.run(getHead)
  })
  await Promise.all(requests)
  expect((await heads).filter((head) => head === undefined)).toEqual([])
  expect(facts).toEqual([])
})

test('a node that was never there is waited for', async () => {
  await proxy.goAway()
  const { endpoints } = connect()
  await expect(endpoints.run(getHead)).rejects.toThrow('unreachable')
  await proxy.comeBack()
  await until(() => endpoints.run(getHead), 'it answers')
})

// Node's own WebSocket, which it has from 22 on, does not tell the status.
test.skipIf(typeof WebSocket !== 'undefined')(
  'a key that is refused is refused, and not merely unreachable',
  async () => {
    const { endpoints } = connectChain([`${node.wsUrl}/no-such-path`], { retryPolicy: { coolDownMs: 10 } })
    await expect(endpoints.run(getHead)).rejects.toThrow('(refused): HTTP 404')
  },
)
