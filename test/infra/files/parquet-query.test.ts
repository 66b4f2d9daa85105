/** Answers of ClickHouse to a question with a file, from a server that is made up. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { askFile, isTooLarge, isUnreadable } from '../../../infra/files/parquet-query.ts'

const TABLE = { content: new Blob(['x']), format: 'Parquet', structure: 'n UInt64' } as const
const stops: (() => void)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})

async function askServer(respond: (response: ServerResponse) => void) {
  const server = createServer((request, response) => {
    request.resume().on('end', () => respond(response))
  }).listen(0, '127.0.0.1')
  stops.push(() => server.close().closeAllConnections())
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const access = { url, username: 'owner', password: 'secret' }
  return askFile<[number]>(access, TABLE, 'SELECT n FROM file', {}, new AbortController().signal)
}

async function rowsOf(rows: AsyncIterable<[number][]>): Promise<[number][]> {
  const all: [number][] = []
  for await (const piece of rows) all.push(...piece)
  return all
}

test('rows are whole wherever an answer is cut into pieces', async () => {
  const rows = await askServer(async (response) => {
    for (const text of '[1]\n[23]\n[456]\n') await new Promise<unknown>((written) => response.write(text, written))
    response.end()
  })
  expect(await rowsOf(rows)).toEqual([[1], [23], [456]])
})

test.each([
  ['a row that is cut off', '[1]\n[2', 'ClickHouse broke an answer off: [2'],
  [
    'an error in the place of a row',
    '[1]\nCode: 159. DB::Exception: Timeout\n',
    'answer off: Code: 159. DB::Exception',
  ],
])('an answer with %s is an error', async (_, text, message) => {
  const rows = await askServer((response) => response.end(text))
  await expect(rowsOf(rows)).rejects.toThrow(message)
})

test('a server breaks an answer off that is not taken, so it is taken while its reader waits', async () => {
  let finished: Promise<unknown> | undefined
  const line = `[${'1'.repeat(1_000)}]\n`
  const rows = await askServer((response) => {
    finished = once(response, 'finish')
    response.end(line.repeat(32_000))
  })
  await rows.next()
  await finished
  await rows.return(undefined)
})

test.each([
  ['Code: 241. DB::Exception: Memory limit exceeded. (MEMORY_LIMIT_EXCEEDED)', { large: true, unreadable: false }],
  ['Code: 117. DB::Exception: Bad file. (INCORRECT_DATA)', { large: false, unreadable: true }],
  ['std::exception. Code: 1001, type: parquet::ParquetException, e.what() = Bad', { large: false, unreadable: true }],
  ['Code: 159. DB::Exception: Too slow. (TIMEOUT_EXCEEDED)', { large: false, unreadable: false }],
  ['Bad gateway', { large: false, unreadable: false }],
])('the refusal %s is told apart', async (text, expected) => {
  const rows = await askServer((response) => response.writeHead(500).end(text))
  const error = await rowsOf(rows).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(Error)
  expect({ large: isTooLarge(error), unreadable: isUnreadable(error) }).toEqual(expected)
})
