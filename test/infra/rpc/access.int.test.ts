/** Endpoints behind proxies, certificates of an own authority, and keys: over real TLS and WebSockets. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer as createHttpServer, type IncomingMessage, type RequestListener } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { WebSocketServer } from 'ws'
import type { RpcAccess } from '../../../infra/config/rpc-access.ts'
import { openHttp } from '../../../infra/rpc/http-rpc.ts'
import { openSocket } from '../../../infra/rpc/socket.ts'
import { wordsOf } from '../../../ingest/rpc/rpc-error.ts'
import { type Authority, makeAuthority } from '../../support/certificates.ts'
import { startForwardProxy } from '../../support/forward-proxy.ts'

let folder: string
let authority: Authority
let certificate: { cert: string; key: string }
const closing: (() => void)[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'access-'))
  authority = await makeAuthority(folder, 'authority')
  const { certFile, keyFile } = await authority.sign('node')
  certificate = { cert: await readFile(certFile, 'utf8'), key: await readFile(keyFile, 'utf8') }
})
afterEach(() => {
  for (const close of closing.splice(0)) close()
})
afterAll(() => rm(folder, { recursive: true, force: true }))

type Node = { port: number; seen: IncomingMessage[] }

/** Answers each call with its own params, over HTTP and WebSocket. */
async function startNode({
  tls = false,
  host = '127.0.0.1',
  reply,
}: {
  tls?: boolean
  host?: string
  reply?: RequestListener
} = {}): Promise<Node> {
  const seen: IncomingMessage[] = []
  const answer: RequestListener = async (request, response) => {
    seen.push(request)
    if (reply) return void reply(request, response)
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { id } = JSON.parse(Buffer.concat(chunks).toString())
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result: '0x1' }))
  }
  const server = tls ? createHttpsServer(certificate, answer) : createHttpServer(answer)
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', (socket, request) => {
    seen.push(request)
    socket.on('message', (data) => {
      const { id } = JSON.parse(String(data))
      socket.send(JSON.stringify({ jsonrpc: '2.0', id: String(id), result: '0x1' }))
    })
  })
  closing.push(() => {
    for (const socket of sockets.clients) socket.terminate()
    server.close().closeAllConnections()
  })
  await once(server.listen(0, host), 'listening')
  return { port: (server.address() as AddressInfo).port, seen }
}

const call = { method: 'eth_chainId' } as never
function askHttp(url: string, access: Partial<RpcAccess> = {}, timeoutMs = 60_000): Promise<unknown> {
  return openHttp({ url, name: 'here', timeoutMs, access: { headers: [], proxies: undefined, ...access } }).request(
    call,
  )
}
async function askSocket(url: string, access: Partial<RpcAccess> = {}): Promise<unknown> {
  const done = new AbortController()
  const address = { url, name: 'here', timeoutMs: 60_000, access: { headers: [], proxies: undefined, ...access } }
  try {
    return await openSocket(address, done.signal).client.request(call)
  } finally {
    done.abort()
  }
}
const failure = (asked: Promise<unknown>) => asked.then(() => 'an answer', wordsOf)
/** Nothing of the answer is told. */
const REDIRECTED =
  /^HTTP 30[78], It redirects to another scheme, host or port: name the address that is to be asked instead\.$/
const KEY = { host: undefined, name: 'authorization', value: 'Bearer s3cret-t0ken' }

describe('a key in a header', () => {
  test('a key is sent over HTTP and WebSocket', async () => {
    const node = await startNode()
    expect(await askHttp(`http://127.0.0.1:${node.port}`, { headers: [KEY] })).toBe('0x1')
    expect(await askSocket(`ws://127.0.0.1:${node.port}`, { headers: [KEY] })).toBe('0x1')
    expect(node.seen.map(({ headers }) => headers.authorization)).toEqual([KEY.value, KEY.value])
  })

  test('the user and password in a WebSocket address are sent', async () => {
    const node = await startNode()
    expect(await askSocket(`ws://me:pass@127.0.0.1:${node.port}`)).toBe('0x1')
    expect(node.seen[0]?.headers.authorization).toBe(`Basic ${Buffer.from('me:pass').toString('base64')}`)
  })

  test('a key follows a redirect within its origin, and not to another port', async () => {
    const other = await startNode()
    const node = await startNode({
      reply(request, response) {
        const target = request.url === '/' ? '/next' : `http://127.0.0.1:${other.port}/`
        response.writeHead(308, { location: target }).end()
      },
    })
    const said = await failure(askHttp(`http://me:pass@127.0.0.1:${node.port}`, { headers: [KEY] }))
    expect(said).toMatch(REDIRECTED)
    expect(node.seen.map(({ headers }) => headers.authorization)).toEqual([KEY.value, KEY.value])
    expect(other.seen).toEqual([])
  })

  test.each([
    ['another host', (port: number) => `http://localhost:${port}/`, REDIRECTED],
    ['another scheme', (_: number, own: number) => `https://127.0.0.1:${own}/`, REDIRECTED],
    ['a user', (_: number, own: number) => `http://default:x@127.0.0.1:${own}/?query=DROP`, REDIRECTED],
    ['a file', () => 'file:///etc/passwd', REDIRECTED],
    ['nonsense', () => 'http://[', REDIRECTED],
    ['itself', () => '/', /^HTTP 307, It redirects again and again\.$/],
  ])('a key goes nowhere by a redirect to %s', async (_, locationOf, words) => {
    const other = await startNode({ host: 'localhost' })
    const node = await startNode({
      reply: ({ socket }, response) => {
        const location = locationOf(other.port, socket.localPort ?? 0)
        response.writeHead(307, { location }).end('s3cret words of another')
      },
    })
    const said = await failure(askHttp(`http://127.0.0.1:${node.port}/k3y-in-path`, { headers: [KEY] }))
    expect(said).toMatch(words)
    expect(said).not.toMatch(/s3cret|k3y/)
    expect(other.seen).toEqual([])
    expect(node.seen.length).toBeLessThanOrEqual(6)
  })
})

describe('a proxy', () => {
  const proxied = (url: string) => ({ proxies: { http: url, https: url, exempt: [] } })

  test('a proxy forwards HTTP, tunnels WebSockets, and gives its password to no node', async () => {
    const [node, proxy] = [await startNode(), await startForwardProxy('user:pr0xy-pass')]
    closing.push(proxy.stop)
    expect(await askHttp(`http://node.test:${node.port}/x`, { ...proxied(proxy.url), headers: [KEY] })).toBe('0x1')
    expect(await askSocket(`ws://node.test:${node.port}/x`, { ...proxied(proxy.url), headers: [KEY] })).toBe('0x1')
    expect(proxy.seen.map(({ target }) => target)).toEqual([
      `http://node.test:${node.port}/x`,
      `node.test:${node.port}`,
    ])
    expect(node.seen.map(({ headers }) => headers['proxy-authorization'])).toEqual([undefined, undefined])
    expect(node.seen.map(({ headers }) => headers.authorization)).toEqual([KEY.value, KEY.value])
  })

  test('a proxy that answers 407 is named, and sees no key of a TLS endpoint', async () => {
    const proxy = await startForwardProxy('user:right')
    closing.push(proxy.stop)
    const wrong = proxied(proxy.url.replace('right', 'wr0ng-pass'))
    const said = await failure(askHttp('https://node.test/k3y', { ...wrong, headers: [KEY] }))
    expect(said).toMatch(/^HTTP 407, The proxy refuses its user or password/)
    expect(await failure(askSocket('wss://node.test/k3y', { ...wrong, headers: [KEY] }))).toMatch(/407/)
    expect(JSON.stringify(proxy.seen)).not.toMatch(/s3cret|k3y/)
    expect(said).not.toMatch(/s3cret|k3y|wr0ng/)
  })

  test('a proxy that is not there is a failure of the connection', async () => {
    const said = await failure(askHttp('https://node.test/k3y', proxied('http://user:pr0xy-pass@127.0.0.1:9')))
    expect(said).toMatch(/ECONNREFUSED/)
    expect(said).not.toMatch(/k3y|pr0xy-pass/)
  })
})

describe('a certificate of an own authority', () => {
  const script = (url: string) => `
    const { openHttp } = await import('./infra/rpc/http-rpc.ts')
    const { openSocket } = await import('./infra/rpc/socket.ts')
    const access = { headers: [], proxies: undefined }
    const address = { name: 'here', timeoutMs: 60_000, access }
    const clients = [openHttp({ ...address, url: 'https://${url}' }), openSocket({ ...address, url: 'wss://${url}' }, new AbortController().signal).client]
    const ask = (client) => client.request({ method: 'eth_chainId' }).catch((error) => error.cause?.message ?? error.message)
    console.log(JSON.stringify(await Promise.all(clients.map(ask))))
    process.exit()`
  const answers = async (url: string, env: NodeJS.ProcessEnv) => {
    const argv = ['--import', 'tsx', '--input-type=module', '-e', script(url)]
    const { stdout } = await promisify(execFile)(process.execPath, argv, { env: { ...process.env, ...env } })
    return JSON.parse(stdout) as string[]
  }

  test('a certificate is accepted where NODE_EXTRA_CA_CERTS names its authority, and refused without', async () => {
    const { port } = await startNode({ tls: true })
    const url = `127.0.0.1:${port}/k3y-in-path`
    const [accepted, refused] = await Promise.all([
      answers(url, { NODE_EXTRA_CA_CERTS: authority.caFile }),
      answers(url, { NODE_EXTRA_CA_CERTS: '' }),
    ])
    expect(accepted).toEqual(['0x1', '0x1'])
    expect(refused).toEqual([expect.stringMatching(/certificate/), expect.stringMatching(/certificate/)])
    expect(refused.join()).not.toContain('k3y')
  })
})

test('an IPv6 address is read over HTTP and WebSocket', async () => {
  const node = await startNode({ host: '::1' })
  expect(await askHttp(`http://[::1]:${node.port}`)).toBe('0x1')
  expect(await askSocket(`ws://[::1]:${node.port}`)).toBe('0x1')
})
