/** The requests of a ClickHouse client: sent at once, over sockets that the server still has open. */
import { once } from 'node:events'
import { createServer, type RequestListener, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { ClickHouseError } from '@clickhouse/client'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { ask } from '../../../../aggregator/store/store.ts'
import { connect } from '../../../../infra/clickhouse/client/client.ts'
import { findStore } from '../../../../infra/clickhouse/store.ts'
import { readConfig } from '../../../../infra/config/config.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  for (const close of closing.splice(0)) await close()
})

/** A client of a server that answers with `listener`; `sockets` counts the connections that it has made. */
async function clientOf(listener: RequestListener, requestTimeoutMs = 10_000) {
  const server = createServer(listener)
  const made = { sockets: 0 }
  server.on('connection', () => made.sockets++)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = connect({ url, username: 'one', password: 'secret', database: 'market', requestTimeoutMs })
  closing.push(
    () => client.close(),
    () => server.close().closeAllConnections(),
  )
  return { client, made }
}

test('a request waits for no timer', async () => {
  const { client } = await clientOf((_request, response) => response.end('{"value":1}\n'))
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  expect(await ask(client, 'SELECT 1 AS value')).toEqual([{ value: 1 }])
})

test('a socket that was idle for longer than its timer allows is not used again', async () => {
  const { client, made } = await clientOf((_request, response) => response.end('{"value":1}\n'))
  await ask(client, 'SELECT 1 AS value')
  await ask(client, 'SELECT 1 AS value')
  expect(made.sockets).toBe(1)
  vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 3_000)
  await ask(client, 'SELECT 1 AS value')
  expect(made.sockets).toBe(2)
})

test('an answer may take longer than a socket may be idle', async () => {
  const { client } = await clientOf((_request, response) => setTimeout(() => response.end('{"value":1}\n'), 2_700))
  expect(await ask(client, 'SELECT 1 AS value')).toEqual([{ value: 1 }])
})

test('an answer that does not come ends by the time limit', async () => {
  const { client } = await clientOf(() => undefined, 200)
  await expect(ask(client, 'SELECT 1')).rejects.toThrow('Timeout error')
})

test('an answer that stops in the middle ends by the time limit', async () => {
  const { client } = await clientOf((_request, response) => void response.write('{"value":1}\n{"val'), 200)
  await expect(ask(client, 'SELECT 1')).rejects.toThrow()
})

test('a request ends with its signal', async () => {
  const asked = new AbortController()
  const { client } = await clientOf(() => asked.abort())
  await expect(ask(client, 'SELECT 1', {}, { abort_signal: asked.signal })).rejects.toThrow(/abort/i)
})

test('an insert whose rows fail to come fails with their error', async () => {
  const { client } = await clientOf((request) => void request.resume())
  const values = Readable.from(
    (function* () {
      yield Buffer.from('one')
      throw new Error('There is no second row.')
    })(),
  )
  await expect(client.exec({ query: 'INSERT INTO rows FORMAT RowBinary', values })).rejects.toThrow('no second row')
})

describe.skipIf(withoutClickHouse)('of a server', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database?.drop())

  const numbers = (client: TestDatabase['client']) => ask(client, 'SELECT number AS value FROM numbers(1000)')

  test('a compressed answer is that of an uncompressed one', async () => {
    const compressed = database.connect({ settings: { enable_http_compression: 1 } })
    const { response_headers: headers, stream } = await compressed.exec({
      query: 'SELECT 1',
      http_headers: { 'Accept-Encoding': 'gzip' },
    })
    expect([headers['content-encoding'], await text(stream)]).toEqual(['gzip', '1\n'])
    expect(await numbers(compressed)).toEqual(await numbers(database.client))
  })

  test.each([0, 1] as const)('an error is the error of ClickHouse, compression %s', async (compression) => {
    const client = database.connect({ settings: { enable_http_compression: compression } })
    await expect(ask(client, 'SELECT nothing')).rejects.toSatisfy(
      (error) => error instanceof ClickHouseError && error.type === 'UNKNOWN_IDENTIFIER',
    )
  })

  test.each(['/clickhouse', '/click%20house/one/'])('a server behind a reverse proxy has the path %s', async (path) => {
    const paths = new Set<string>()
    const { url, username, password } = database.connection
    const proxy = createServer((incoming, response) => {
      const asked = new URL(incoming.url ?? '', url)
      paths.add(asked.pathname)
      const target = new URL(asked.search, url)
      const { method = '', headers } = incoming
      const passed = request(target, { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
      })
      passed.on('error', () => response.destroy())
      incoming.pipe(passed)
    })
    await once(proxy.listen(0, '127.0.0.1'), 'listening')
    closing.push(() => proxy.close().closeAllConnections())
    const config = readConfig({
      CLICKHOUSE_URL: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}${path}`,
      CLICKHOUSE_USER: username,
      CLICKHOUSE_PASSWORD: password,
      CLICKHOUSE_DATABASE: database.database,
    })
    const store = await findStore(config, '')
    if (!store) throw new Error('there is no store')
    closing.push(() => store.close())
    const databases = await Promise.all(
      [store.owner, store.reader, store.accounts, store.analyst].map((client) =>
        ask<{ name: string }>(client, 'SELECT currentDatabase() AS name'),
      ),
    )
    expect(databases.flat()).toEqual(Array.from({ length: 4 }, () => ({ name: database.database })))
    await store.owner.insert({ table: 'api_keys', values: [{ name: path }], format: 'JSONEachRow' })
    await store.owner.command({ query: 'OPTIMIZE TABLE api_keys' })
    expect(await ask(database.client, 'SELECT name FROM api_keys WHERE name = {path:String}', { path })).toHaveLength(1)
    expect([...paths]).toEqual([path])
  })

  test('an error after the first rows is no end of the rows', async () => {
    const query = 'SELECT throwIf(number = 300000) AS value FROM numbers(400000) SETTINGS max_block_size = 1000'
    await expect(ask(database.client, query)).rejects.toThrow()
  })
})
