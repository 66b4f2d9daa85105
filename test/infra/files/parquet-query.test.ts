/** Answers of ClickHouse to a question with a file, from a server that is made up. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { ROW_MARK } from '../../../infra/files/binary-rows.ts'
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
  return askFile(access, TABLE, 'SELECT n FROM file', {}, (row) => row.hex(), new AbortController().signal)
}

async function rowsOf(rows: AsyncIterable<string[]>): Promise<string[]> {
  const all: string[] = []
  for await (const piece of rows) all.push(...piece)
  return all
}

/** A row with one string, in the format RowBinary. */
function rowOf(text: string): Buffer {
  const { length } = text
  const size = length < 128 ? [length] : length < 16_384 ? [(length & 127) | 128, length >> 7] : []
  return Buffer.from([
    ROW_MARK,
    ...(size.length > 0 ? size : [(length & 127) | 128, ((length >> 7) & 127) | 128, length >> 14]),
    ...Buffer.from(text),
  ])
}

const hexOf = (text: string) => `0x${Buffer.from(text).toString('hex')}`

test('rows are whole wherever an answer is cut into pieces', async () => {
  const texts = ['', 'a', 'bc'.repeat(90), 'd'.repeat(17_000)]
  const answer = Buffer.concat(texts.map(rowOf))
  const rows = await askServer(async (response) => {
    for (let at = 0; at < answer.length; at += at < 400 ? 1 : 1_000) {
      const piece = answer.subarray(at, at + (at < 400 ? 1 : 1_000))
      await new Promise<unknown>((written) => response.write(piece, written))
    }
    response.end()
  })
  expect(await rowsOf(rows)).toEqual(texts.map(hexOf))
})

test.each([
  ['a row that is cut off', Buffer.concat([rowOf('a'), rowOf('bcd').subarray(0, 3)]), 'broke an answer off'],
  [
    'an error in the place of a row',
    Buffer.concat([rowOf('a'), Buffer.from('Code: 159. DB::Exception: Timeout')]),
    'ClickHouse broke an answer off: Code: 159. DB::Exception',
  ],
])('an answer with %s is an error', async (_, answer, message) => {
  const rows = await askServer((response) => response.end(answer))
  await expect(rowsOf(rows)).rejects.toThrow(message)
})

test('a server breaks an answer off that is not taken, so it is taken while its reader waits', async () => {
  let finished: Promise<unknown> | undefined
  const rowBytes = rowOf('a'.repeat(1_000))
  const rows = await askServer((response) => {
    finished = once(response, 'finish')
    response.end(Buffer.concat(Array<Buffer>(32_000).fill(rowBytes)))
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
