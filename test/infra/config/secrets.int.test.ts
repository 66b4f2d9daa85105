/** A whole process at its most talkative, over endpoints that fail in every way and repeat what they were sent: it tells no secret. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { run } from '../../support/candlepool.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { startProxy, type TcpProxy } from '../../support/proxy.ts'
import { readiness, scrape } from '../../support/scrape.ts'
import { until } from '../../support/until.ts'

const KEYS = { user: 'n0de-user', password: 'n0de-passw0rd', path: 'p4th-k3y-0123456789', query: 'qu3ry-k3y' }
const BOOTSTRAP = 'b00tstrap-key-of-this-test'
const GUESSED = 'cp_guessed-by-a-client-without-a-key'

const WAYS_TO_FAIL = 7

/** Gateways' answers to invalid keys: all of them repeat the request. The last part of the path selects the answer. */
function startGateway(): Promise<{ server: Server; port: number; met: ReadonlySet<number> }> {
  const met = new Set<number>()
  const server = createServer((request, response) => {
    const said = `${request.method} ${request.url} ${request.headers.authorization} ${Buffer.from(String(request.headers.authorization).slice(6), 'base64')}`
    const answers = [
      () => response.writeHead(404).end(`Cannot ${said}`),
      () => response.writeHead(401, { 'content-type': 'application/json' }).end(JSON.stringify({ error: said })),
      () => response.writeHead(500).end(`<html>${said}`),
      () =>
        response.writeHead(200).end(JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32000, message: said } })),
      () => response.writeHead(200).end(said),
      () => response.writeHead(302, { location: request.url }).end(said),
      () => request.socket.destroy(),
    ]
    const way = Number(/\/(\d)\?/.exec(request.url ?? '')?.[1] ?? 0) % WAYS_TO_FAIL
    met.add(way)
    answers[way]?.()
  })
  // The way of a WebSocket.
  server.on('upgrade', (request, socket) =>
    socket.on('error', () => undefined).end(`HTTP/1.1 403 ${request.url}\r\n\r\nCannot GET ${request.url}`),
  )
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      resolve({ server, port: (server.address() as AddressInfo).port, met })
    })
  })
}

describe.skipIf(withoutClickHouse)('a process whose endpoints fail, and whose ClickHouse goes away', () => {
  let database: TestDatabase
  let gateway: Awaited<ReturnType<typeof startGateway>>
  let proxy: TcpProxy

  beforeAll(async () => {
    database = await freshDatabase()
    gateway = await startGateway()
    proxy = await startProxy(Number(new URL(database.connection.url).port))
  })

  afterAll(async () => {
    gateway?.server.close()
    await proxy?.stop()
    await database?.drop()
  })

  test('tells no secret in its log, its metrics or its health', async ({ onTestFinished }) => {
    const { user, password, path, query } = KEYS
    const address = (way: number) => `${user}:${password}@127.0.0.1:${gateway.port}/v3/${path}/${way}?apikey=${query}`
    const ways = Array.from({ length: WAYS_TO_FAIL }, (_, way) => `http://${address(way)}`)
    const { username, password: storePassword, database: name } = database.connection
    const main = run('start', {
      ETHEREUM_RPC_URL: [`ws://${address(0)}`, ...ways].join(),
      CLICKHOUSE_URL: `http://127.0.0.1:${proxy.port}`,
      CLICKHOUSE_USER: username,
      CLICKHOUSE_PASSWORD: storePassword,
      CLICKHOUSE_DATABASE: name,
      BOOTSTRAP_API_KEY: BOOTSTRAP,
      LOG_LEVEL: 'trace',
      ADMIN_PORT: '0',
      PORT: '0',
    })
    onTestFinished(async () => {
      await main.stop('SIGKILL')
    })
    const [, adminPort = ''] = await main.untilPrinted(/"port":(\d+),"msg":"admin listening/)
    const [, port = ''] = await main.untilPrinted(/"port":(\d+),"msg":"server listening/)
    await until(async () => (gateway.met.size === WAYS_TO_FAIL ? true : undefined), 'every way of failing was met')
    const usage = `http://127.0.0.1:${port}/v0/usage`
    for (const key of [BOOTSTRAP, GUESSED]) await fetch(`${usage}?key=${key}`, { headers: { 'X-API-KEY': key } })
    await fetch(`http://127.0.0.1:${port}/v0/${GUESSED}`)
    const told = [(await scrape(Number(adminPort))).text, JSON.stringify(await readiness(Number(adminPort)))]
    await proxy.goAway()
    await fetch(usage, { headers: { 'X-API-KEY': BOOTSTRAP } })
    await main.untilPrinted(/usage not stored|store failed|request failed/)
    told.push((await scrape(Number(adminPort))).text, JSON.stringify(await readiness(Number(adminPort))))

    // What is printed on standard output is the start-up's word to its user, key and all.
    const lines = main
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{'))
    const failures = lines.filter((line) => line.includes('"kind":"rpc-failed"'))
    expect(failures.length).toBeGreaterThan(3)
    const all = [...lines, ...told].join('\n')
    expect(all).toContain(`127.0.0.1:${gateway.port}`)
    expect(all).toContain('"kind":"request-answered"')
    for (const secret of [...Object.values(KEYS), BOOTSTRAP, GUESSED, ...(storePassword ? [storePassword] : [])]) {
      expect(lines.filter((line) => line.includes(secret))).toEqual([])
      expect(told.filter((text) => text.includes(secret))).toEqual([])
    }
    expect(Buffer.from(all, 'utf8').includes(Buffer.from(`${user}:${password}`).toString('base64'))).toBe(false)
  })
})
