/** Content encodings of answers: those that gateways name, and those that their bodies have. */
import { once } from 'node:events'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { HttpRequestError, ResponseBodyTooLargeError } from 'viem'
import { afterEach, describe, expect, test } from 'vitest'
import { DIRECT } from '../../../infra/config/rpc-access.ts'
import { postTo } from '../../../infra/rpc/http-post.ts'
import { isFault } from '../../../ingest/rpc/rpc-error.ts'

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

async function serve(listener: RequestListener): Promise<string> {
  const server = createHttpServer(listener)
  closing.push(() => server.close().closeAllConnections())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Answers each request on a connection with these bytes. */
async function serveBytes(answer: (socket: Socket, count: number) => void): Promise<string> {
  let count = 0
  const server = createServer((socket) => {
    closing.push(() => socket.destroy())
    socket.on('error', () => undefined)
    socket.on('data', () => answer(socket, ++count))
  })
  closing.push(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const ask = async (encoding: string | undefined, body: Buffer, method = 'eth_chainId'): Promise<unknown> => {
  const url = await serve((_request, response) => {
    if (encoding !== undefined) response.setHeader('Content-Encoding', encoding)
    response.end(body)
  })
  return postTo({ url, name: 'here', timeoutMs: 20_000, access: DIRECT })({ method })
}

const ANSWER = { jsonrpc: '2.0', id: 1, result: '0x1' }
const JSON_TEXT = Buffer.from(JSON.stringify(ANSWER))
/** By `zstd`: of a known length, and of a stream. */
const ZSTD = Buffer.from('KLUv/SQnOQEAeyJqc29ucnBjIjoiMi4wIiwiaWQiOjEsInJlc3VsdCI6IjB4MSJ9KLBKnQ==', 'base64')
const ZSTD_STREAM = Buffer.from('KLUv/QRYOQEAeyJqc29ucnBjIjoiMi4wIiwiaWQiOjEsInJlc3VsdCI6IjB4MSJ9KLBKnQ==', 'base64')

describe('an accepted answer', () => {
  test.each([
    ['br', brotliCompressSync(JSON_TEXT)],
    ['gzip', gzipSync(JSON_TEXT)],
    ['x-gzip', gzipSync(JSON_TEXT)],
    ['GZIP', gzipSync(JSON_TEXT)],
    ['deflate', deflateSync(JSON_TEXT)],
    ['deflate', deflateRawSync(JSON_TEXT)],
    ['zstd', ZSTD],
    ['zstd', ZSTD_STREAM],
    ['zstd', Buffer.concat([zstdFrame({ length: 300 }), ZSTD_STREAM, zstdFrame({ blocks: 3 })])],
    ['gzip, deflate', deflateSync(gzipSync(JSON_TEXT))],
    ['br, gzip', gzipSync(brotliCompressSync(JSON_TEXT))],
    ['identity', JSON_TEXT],
    ['utf-8', JSON_TEXT],
    ['application/json; charset=utf-8', JSON_TEXT],
    ['none', JSON_TEXT],
    ['', JSON_TEXT],
  ])('an answer with the Content-Encoding %j that it has is read', async (encoding, body) => {
    expect(await ask(encoding, body)).toEqual(ANSWER)
  })

  test.each([
    [undefined, gzipSync(JSON_TEXT)],
    [undefined, ZSTD],
    ['identity', gzipSync(JSON_TEXT)],
    ['utf-8', gzipSync(JSON_TEXT)],
    ['br', gzipSync(JSON_TEXT)],
    ['deflate', gzipSync(JSON_TEXT)],
    ['gzip', JSON_TEXT],
    ['br', JSON_TEXT],
    ['deflate', JSON_TEXT],
    ['zstd', JSON_TEXT],
    ['gzip, gzip', gzipSync(JSON_TEXT)],
  ])('an answer with the Content-Encoding %j that it does not have is read', async (encoding, body) => {
    expect(await ask(encoding, body)).toEqual(ANSWER)
  })

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
    'an answer with an encoding called %s is read',
    async (name) => {
      expect(await ask(name, JSON_TEXT)).toEqual(ANSWER)
    },
  )

  test('an answer of HTTP/1.0, which ends with the connection, is read', async () => {
    const url = await serveBytes((socket) => socket.end(`HTTP/1.0 200 OK\r\nServer: old\r\n\r\n${JSON_TEXT}`))
    const post = postTo({ url, name: 'here', timeoutMs: 60_000, access: DIRECT })
    expect([await post({}), await post({})]).toEqual([ANSWER, ANSWER])
  })

  test('an answer of HTTP/1.0 on a kept connection is read', async () => {
    const head = `HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: ${JSON_TEXT.length}`
    const url = await serveBytes((socket) => socket.write(`${head}\r\n\r\n${JSON_TEXT}`))
    const post = postTo({ url, name: 'here', timeoutMs: 60_000, access: DIRECT })
    expect([await post({}), await post({})]).toEqual([ANSWER, ANSWER])
  })

  test('an answer in chunks with trailers is read', async () => {
    const chunk = `${JSON_TEXT.length.toString(16)};name=value\r\n${JSON_TEXT}\r\n`
    const head = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Checksum'
    const url = await serveBytes((socket) => socket.write(`${head}\r\n\r\n${chunk}0\r\nX-Checksum: 1\r\n\r\n`))
    const post = postTo({ url, name: 'here', timeoutMs: 60_000, access: DIRECT })
    expect([await post({}), await post({})]).toEqual([ANSWER, ANSWER])
  })
})

describe('a refused answer', () => {
  const failure = (asked: Promise<unknown>) => asked.catch((error: unknown) => error)

  test.each([
    ['br', brotliCompressSync(Buffer.alloc(65 * 2 ** 20, ' '))],
    ['deflate', deflateRawSync(Buffer.alloc(65 * 2 ** 20, ' '))],
    [undefined, gzipSync(Buffer.alloc(65 * 2 ** 20, ' '))],
    ['gzip, gzip', gzipSync(gzipSync(Buffer.alloc(65 * 2 ** 20, ' ')))],
    ['zstd', zstdOfSpaces(65 * 8)],
  ])('an answer that unpacks by %s to more than 64 MiB is refused', async (encoding, bomb) => {
    expect(bomb.length).toBeLessThan(100_000)
    expect(await failure(ask(encoding, bomb, 'eth_getLogs'))).toBeInstanceOf(ResponseBodyTooLargeError)
    expect(isFault(await failure(ask(encoding, bomb, 'eth_getBlockByNumber')))).toBe(true)
  })

  test.each([
    ['asks for a window of 2 GiB', zstdFrame({ window: 21 << 3 })],
    ['has a block for each byte', zstdFrame({ blocks: 5_000 })],
    ['ends within a block', ZSTD.subarray(0, 20)],
    ['ends within its header', ZSTD.subarray(0, 5)],
  ])('an answer whose Zstandard %s is refused', async (_, body) => {
    expect(await failure(ask('zstd', body))).toBeInstanceOf(HttpRequestError)
  })

  test('an answer that is no JSON, or whose layers do not end, is refused', async () => {
    const layers = gzipSync(gzipSync(gzipSync(gzipSync(JSON_TEXT))))
    for (const body of [layers, Buffer.from('nonsense')])
      expect(await failure(ask('gzip', body))).toBeInstanceOf(HttpRequestError)
  })

  test('an answer that is shorter than its length is refused, and the next one is read', async () => {
    const head = (length: number) => `HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\n`
    const url = await serveBytes((socket, count) => {
      if (count === 1) socket.end(`${head(JSON_TEXT.length + 9)}${JSON_TEXT}`)
      else socket.write(`${head(JSON_TEXT.length)}${JSON_TEXT}`)
    })
    const post = postTo({ url, name: 'here', timeoutMs: 60_000, access: DIRECT })
    expect(await failure(post({}))).toBeInstanceOf(HttpRequestError)
    expect(await post({})).toEqual(ANSWER)
  })

  test('an answer that is longer than its length is refused, and the rest is not taken for the next one', async () => {
    const head = (length: number) => `HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\n`
    const late = `${head(12)}{"result":1}`
    const url = await serveBytes((socket, count) => {
      const isLonger = count === 1
      socket.write(`${head(JSON_TEXT.length - (isLonger ? 9 : 0))}${JSON_TEXT}${isLonger ? late : ''}`)
    })
    const post = postTo({ url, name: 'here', timeoutMs: 60_000, access: DIRECT })
    expect(await failure(post({}))).toBeInstanceOf(HttpRequestError)
    expect(await post({})).toEqual(ANSWER)
  })

  test('an answer whose head is 10 MB is refused', async () => {
    const url = await serveBytes((socket) => socket.write(`HTTP/1.1 200 OK\r\nX-Long: ${'a'.repeat(10_000_000)}`))
    expect(await failure(postTo({ url, name: 'here', timeoutMs: 60_000, access: DIRECT })({}))).toMatchObject({
      details: expect.stringContaining('Header'),
    })
  })
})

/** Blocks that repeat one byte. */
function zstdFrame({ window = 10 << 3, blocks = 1, length = 1 }): Buffer {
  const frame = [Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, window])]
  for (let block = 1; block <= blocks; block++) {
    const head = Buffer.alloc(4, ' ')
    head.writeUIntLE((length << 3) | 2 | Number(block === blocks), 0, 3)
    frame.push(head)
  }
  return Buffer.concat(frame)
}

/** In blocks of 128 KiB. */
function zstdOfSpaces(blocks: number): Buffer {
  return zstdFrame({ blocks, length: 128 * 1024 })
}
