/** Slow, misbehaving or broken clients are answered as documented or disconnected, without effect on others. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createKey, hashKey } from '../../../api/accounts/keys.ts'
import { NETWORKS } from '../../../ingest/model/networks.ts'
import { type Connection, openConnection } from '../../client/connection.ts'
import { run } from '../../support/candlepool.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { startGate } from '../../support/gate.ts'
import { POOLS, storeScenario, TIP } from '../scenario.ts'
import { type Service, startService } from '../service.ts'

const QUESTION = `/v0/candles?pool=${POOLS.main.id}&interval=1h&to=2024-01-05T02:00:00Z`
/** Longer than the loop may be busy with the answers of one client, also on a machine that is. */
const SLOW_MS = 1_500
const STUCK_MS = 2_000
const IDLE = 300
/** In ms: Node by itself would look for who is slow only after this. */
const SLOW_TEST = { timeout: 20_000 }

describe.skipIf(withoutClickHouse)('clients that are slow, rude or broken', () => {
  let database: TestDatabase
  let service: Service
  const clock = () => new Date((TIP + 10) * 1_000)
  const networks = [NETWORKS.ethereum]

  beforeAll(async () => {
    database = await freshDatabase()
    await storeScenario(database.client)
    const timeouts = { requestTimeoutMs: SLOW_MS, socketTimeoutMs: STUCK_MS }
    service = await startService({ client: database.client, networks, clock, timeouts })
  })
  afterAll(async () => {
    await service?.stop()
    await database?.drop()
  })

  async function open(url = service.url): Promise<Connection> {
    const connection = await openConnection(url)
    onTestFinished(() => void connection.socket.destroy())
    return connection
  }
  const request = (path: string, key = service.key) => `GET ${path} HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${key}\r\n\r\n`
  const statusesIn = (answers: string) =>
    [...answers.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
  /** On a connection of its own: a kept one may have been idle for too long. */
  async function expectOthersAnswered(): Promise<void> {
    const other = await open()
    other.send(request(QUESTION))
    await other.until(/^HTTP\/1\.1 200 /)
    other.socket.destroy()
  }

  test('a request that comes a byte at a time is given up, with a 408', SLOW_TEST, async () => {
    const slow = await open()
    const bytes = [...request(QUESTION)]
    const drip = setInterval(() => slow.send(bytes.shift() ?? ''), SLOW_MS / 10)
    onTestFinished(() => clearInterval(drip))
    await expectOthersAnswered()
    const answer = await slow.ended
    expect(statusesIn(answer)).toEqual([408])
    expect(answer).toContain('"code":"request_timeout"')
  })

  test('idle connections are closed, and delay no stop', SLOW_TEST, async () => {
    const idle = await Promise.all(Array.from({ length: IDLE }, () => open()))
    await expectOthersAnswered()
    const answers = await Promise.all(idle.map(({ ended }) => ended))
    expect(new Set(answers.flatMap(statusesIn))).toEqual(new Set([408]))
  })

  test('a connection that is kept after an answer is not taken for a slow one', async () => {
    const kept = await open()
    for (let count = 1; count <= 2; count++) {
      kept.send(request(QUESTION))
      await kept.until(new RegExp(`(?:"credits_used"[\\s\\S]*){${count}}`))
      await sleep(SLOW_MS * 1.5)
    }
    expect(statusesIn(kept.received())).toEqual([200, 200])
  })

  test('header fields without end are refused once they are too large', async () => {
    const flood = await open()
    flood.send('GET /v0/usage HTTP/1.1\r\nHost: x\r\n')
    let sent = 0
    const pump = setInterval(() => flood.send(`X-Field-${sent++}: ${'x'.repeat(1_000)}\r\n`), 1)
    onTestFinished(() => clearInterval(pump))
    const answer = await flood.ended
    expect(statusesIn(answer)).toEqual([431])
    expect(answer).toContain('"code":"headers_too_large"')
    await expectOthersAnswered()
  })

  test('the key is read beside hundreds of small header fields', async () => {
    const many = await open()
    const fields = Array.from({ length: 500 }, (_, index) => `X-${index}: y\r\n`).join('')
    many.send(`GET /v0/usage HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${service.key}\r\n${fields}\r\n`)
    await many.until(/HTTP\/1\.1 200/)
  })

  test('an address that is larger than all header fields may be is refused as they are', async () => {
    const long = await open()
    long.send(request(`/v0/candles?x=${'x'.repeat(20_000)}`))
    expect(statusesIn(await long.ended)).toEqual([431])
  })

  test('a body is not awaited, and a client that keeps sending it is disconnected', async () => {
    const sender = await open()
    sender.send(
      `GET ${QUESTION} HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${service.key}\r\nContent-Length: 1000000000\r\n\r\n`,
    )
    await sender.until(/"credits_used"/)
    const pump = setInterval(() => sender.send('x'.repeat(10_000)), 5)
    onTestFinished(() => clearInterval(pump))
    await expectOthersAnswered()
    const [first] = statusesIn(await sender.ended)
    expect(first).toBe(200)
  })

  test('answers that a client does not read are dropped', async () => {
    const ASKED = 300
    const deaf = await open()
    deaf.socket.pause()
    deaf.send(request('/v0/openapi.json').repeat(ASKED))
    await expectOthersAnswered()
    await sleep(STUCK_MS * 2)
    deaf.socket.resume()
    const taken = statusesIn(await deaf.ended).length
    expect(taken).toBeGreaterThan(0)
    expect(taken).toBeLessThan(ASKED)
  })

  test('requests in one packet are answered one after the other, each for itself', async () => {
    const pipelining = await open()
    const paths = [QUESTION, '/v0/usage', '/v0/nothing', '/v0/ticks?limit=0']
    pipelining.send(paths.map((path) => request(path)).join('') + request('/v0/usage', 'wrong'))
    const answers = await pipelining.until(/HTTP\/1\.1 401[\s\S]*"request_id"/)
    expect(statusesIn(answers)).toEqual([200, 200, 404, 400, 401])
    const ids = [...answers.matchAll(/X-Request-Id: (\S+)/g)].map(([, id]) => id)
    expect(new Set(ids).size).toBe(5)
  })

  test('a client that closes its side has hung up: its connection is closed at once', async () => {
    const halfClosed = await open()
    halfClosed.socket.end(request(QUESTION))
    expect(await halfClosed.ended).toBe('')
    await expectOthersAnswered()
  })

  test('a connection without a request does not keep a service from stopping', SLOW_TEST, async () => {
    const timeouts = { drainMs: 60_000 }
    const stopping = await startService({ client: database.client, networks, clock, key: service.key, timeouts })
    const unused = await open(stopping.url)
    await stopping.get('/v0/usage')
    await stopping.stop()
    expect(await unused.ended).toBe('')
  })

  test('half a request does not keep a service from stopping', async () => {
    const timeouts = { drainMs: 300 }
    const stopping = await startService({ client: database.client, networks, clock, key: service.key, timeouts })
    const half = await open(stopping.url)
    half.send(request(QUESTION).slice(0, 30))
    await stopping.get('/v0/usage')
    await stopping.stop()
    expect(statusesIn(await half.ended)).toEqual([])
  })

  test('an answer that takes longer than a client may is sent before a service stops', async () => {
    const gate = await startGate(database.connection.url)
    onTestFinished(() => gate.stop())
    const client = database.connect({ url: gate.url })
    const timeouts = { drainMs: 100, answerMs: 60_000 }
    const stopping = await startService({ client, networks, clock, key: service.key, timeouts })
    const asking = await open(stopping.url)
    const held = gate.shut(/FROM ticks/)
    asking.send(request(`/v0/ticks?pool=${POOLS.main.id}&from=2024-01-05&to=2024-01-06`))
    await held
    const half = await open(stopping.url)
    half.send(request(QUESTION).slice(0, 30))
    const stopped = stopping.stop()
    expect(statusesIn(await half.ended)).toEqual([])
    gate.open()
    expect(statusesIn(await asking.ended)).toEqual([200])
    await stopped
  })

  test('a process answers its open requests at SIGTERM, takes no more, and stores the used credits', async () => {
    const gate = await startGate(database.connection.url)
    onTestFinished(() => gate.stop())
    const key = await createKey({ client: database.client, plan: 'free', name: 'of the process' })
    const api = run('api', {
      NETWORKS: 'ethereum',
      PORT: '0',
      CLICKHOUSE_URL: gate.url,
      CLICKHOUSE_USER: database.connection.username,
      CLICKHOUSE_PASSWORD: database.connection.password,
      CLICKHOUSE_DATABASE: database.database,
    })
    onTestFinished(async () => void (await api.stop('SIGKILL')))
    const [, port] = await api.untilPrinted(/"port":(\d+)/)
    const url = `http://127.0.0.1:${port}`
    const [kept, asking] = [await open(url), await open(url)]
    kept.send(request(QUESTION, key))
    await kept.until(/"credits_used"/)
    const held = gate.shut(/FROM ticks/)
    asking.send(request(`/v0/ticks?pool=${POOLS.main.id}&from=2024-01-05&to=2024-01-06`, key))
    await held
    const stopped = api.stop('SIGTERM')
    // Nothing is asked on it any more, so nothing is waited for.
    await kept.ended
    const opened = () => open(url).then(Boolean, () => false)
    await expect.poll(opened).toBe(false)
    gate.open()
    const answer = await asking.ended
    expect(statusesIn(answer)).toEqual([200])
    expect(answer).toMatch(/Connection: close/i)
    expect(await stopped).toBe(0)
    const used = await database.client.query({
      query:
        'SELECT toUInt32(sum(credits)) AS credits, toUInt32(sum(calls)) AS calls FROM usage FINAL WHERE key_hash = unhex({hash:String})',
      query_params: { hash: hashKey(key) },
      format: 'JSONEachRow',
    })
    expect(await used.json()).toEqual([{ credits: 2, calls: 2 }])
  })
})
