/** Statements that take longer than a client waits for answers, and connections that are lost meanwhile. */
import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { StatementLost, watchedCommand } from '../../../../infra/clickhouse/client/watched-command.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { until } from '../../../support/until.ts'

/** About two seconds, a row at a time. */
const SLOW = 'INSERT INTO slow SELECT number FROM numbers(20) WHERE sleepEachRow(0.1) = 0 SETTINGS max_block_size = 1'

describe.skipIf(withoutClickHouse)('a statement that takes long', () => {
  let database: TestDatabase
  let line: Awaited<ReturnType<typeof startLine>>
  beforeAll(async () => {
    database = await freshDatabase()
    line = await startLine(Number(new URL(database.connection.url).port))
    await database.client.command({ query: 'CREATE TABLE seen (rows UInt64) ENGINE = MergeTree ORDER BY rows' })
  })
  afterAll(async () => {
    await database?.drop()
    line?.stop()
  })

  const overLine = (requestTimeoutMs: number) => database.connect({ url: line.url, requestTimeoutMs })
  const fresh = () =>
    database.client.command({
      query: 'CREATE OR REPLACE TABLE slow (number UInt64) ENGINE = MergeTree ORDER BY number',
    })
  const read = async (query: string) => {
    const answer = await database.client.query({ query, format: 'JSONEachRow' })
    return Number((await answer.json<{ value: string }>())[0]?.value)
  }
  const rows = () => read('SELECT count() AS value FROM slow')
  const running = () => read("SELECT count() AS value FROM system.processes WHERE query LIKE 'INSERT INTO slow%'")

  test('a statement is waited for beyond the time limit of questions', async () => {
    await fresh()
    await database.connect({ requestTimeoutMs: 500 }).command({ query: SLOW })
    expect(await rows()).toBe(20)
  })

  test('a statement does not run beside its repeat where the connection was lost', async () => {
    await fresh()
    const client = overLine(60_000)
    const first = client.command({ query: SLOW })
    first.catch(() => undefined)
    await until(async () => ((await running()) === 1 ? true : undefined), 'the statement runs')
    line.cut()
    await expect(first).rejects.toThrow()
    expect(await running()).toBe(1)
    await client.command({ query: 'INSERT INTO seen SELECT count() FROM slow' })
    expect(await running()).toBe(0)
    expect(await read('SELECT max(rows) AS value FROM seen')).toBe(20)
  })

  test('a statement is given up where the server has ended it and no answer came', async () => {
    await fresh()
    const command = watchedCommand(database.client, overLine(60_000), { firstPollMs: 100, pollMs: 50 })
    line.isDeaf = true
    const lost = command({ query: SLOW })
    await expect(lost).rejects.toThrow(StatementLost)
    line.isDeaf = false
    expect(await rows()).toBe(20)
  })

  test('a statement that the server refuses says why, at once', async () => {
    await expect(database.client.command({ query: 'DROP TABLE nothing_like_it' })).rejects.toThrow(/nothing_like_it/)
  })

  test('a statement to a server that is not there fails at once', async () => {
    const client = database.connect({ url: 'http://127.0.0.1:9', requestTimeoutMs: 60_000 })
    for (const _ of [1, 2]) await expect(client.command({ query: 'SELECT 1' })).rejects.toThrow(/ECONNREFUSED|refused/)
  })
})

/** To the server and back. `cut` ends every connection; while it is deaf, no answer comes through. */
async function startLine(port: number) {
  const sockets = new Set<Socket>()
  const line = { url: '', isDeaf: false, cut, stop }
  const server = createServer((socket) => {
    const target = dial(port, '127.0.0.1')
    for (const end of [socket, target]) {
      sockets.add(end)
      end.on('error', () => undefined)
      end.on('close', () => sockets.delete(end))
    }
    socket.pipe(target)
    target.on('data', (chunk) => line.isDeaf || socket.write(chunk))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  line.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  function cut() {
    for (const socket of sockets) socket.destroy()
  }
  function stop() {
    cut()
    server.close()
  }
  return line
}
