import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { HttpRequestError, ResponseBodyTooLargeError, TimeoutError } from 'viem'
import { afterEach, expect, test } from 'vitest'
import { DIRECT } from '../../../infra/config/rpc-access.ts'
import { postTo } from '../../../infra/rpc/http-post.ts'

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

/** Address of a server without the protocol. */
async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  closing.push(() => server.close().closeAllConnections())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

const echo: RequestListener = (request, response) => void request.pipe(response)
const BODY = { method: 'eth_chainId' }

test('an answer reads as it was written, whether it is ASCII or not', async () => {
  const post = postTo({ url: `http://${await serve(echo)}`, name: 'here', timeoutMs: 5_000, access: DIRECT })
  for (const body of [{ result: '0x00' }, { message: 'köstet 5 € 🦄' }]) expect(await post(body)).toEqual(body)
})

test('a compressed answer is unpacked', async () => {
  const host = await serve((_request, response) => {
    response.setHeader('Content-Encoding', 'gzip').end(gzipSync('{"result":"0x1"}'))
  })
  expect(await postTo({ url: `http://${host}`, name: 'here', timeoutMs: 5_000, access: DIRECT })(BODY)).toEqual({
    result: '0x1',
  })
})

test('what the unpacked answer has too much of is refused', async () => {
  const bomb = gzipSync(Buffer.alloc(65 * 1024 * 1024, ' '))
  const host = await serve((_request, response) => response.setHeader('Content-Encoding', 'gzip').end(bomb))
  await expect(
    postTo({ url: `http://${host}`, name: 'here', timeoutMs: 20_000, access: DIRECT })(BODY),
  ).rejects.toThrow(ResponseBodyTooLargeError)
})

test('user and password of an address are sent as a header, and a path with its query as it is', async () => {
  const host = await serve(({ headers, url }, response) => {
    response.end(JSON.stringify({ authorization: headers.authorization, url }))
  })
  const authorization = `Basic ${Buffer.from('me:p@ss').toString('base64')}`
  const answer = await postTo({
    url: `http://me:p%40ss@${host}/v2/key?a=1`,
    name: 'here',
    timeoutMs: 5_000,
    access: DIRECT,
  })(BODY)
  expect(answer).toEqual({ authorization, url: '/v2/key?a=1' })
})

test('a redirect that keeps the method is followed, a few times', async () => {
  const host = await serve((request, response) => {
    if (request.url === '/new') return echo(request, response)
    response.writeHead(308, { Location: request.url === '/loop' ? '/loop' : '/new' }).end()
  })
  expect(await postTo({ url: `http://${host}/old`, name: 'here', timeoutMs: 5_000, access: DIRECT })(BODY)).toEqual(
    BODY,
  )
  await expect(
    postTo({ url: `http://${host}/loop`, name: 'here', timeoutMs: 5_000, access: DIRECT })(BODY),
  ).rejects.toMatchObject({ status: 308 })
})

test('an answer may take longer than a connection may be idle', async () => {
  const host = await serve((request, response) => void setTimeout(() => echo(request, response), 4_300))
  expect(await postTo({ url: `http://${host}`, name: 'here', timeoutMs: 10_000, access: DIRECT })(BODY)).toEqual(BODY)
}, 15_000)

test('an error keeps status, headers and the beginning of what was said', async () => {
  const host = await serve((_request, response) => {
    response.writeHead(429, { 'Retry-After': '7' }).end('slow down '.repeat(1_000))
  })
  const error = await postTo({ url: `http://${host}`, name: 'here', timeoutMs: 5_000, access: DIRECT })(BODY).catch(
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(HttpRequestError)
  const { status, headers, details } = error as HttpRequestError
  expect([status, headers?.get('retry-after'), details.slice(0, 9), details.length]).toEqual([
    429,
    '7',
    'slow down',
    4_096,
  ])
})

test.each([
  ['does not come', () => undefined],
  ['stops in the middle', (_request, response) => void response.write('{"res')],
] as const satisfies readonly (readonly [string, RequestListener])[])(
  'the time limit ends an answer that %s',
  async (_, listener) => {
    const host = await serve(listener)
    await expect(postTo({ url: `http://${host}`, name: 'here', timeoutMs: 200, access: DIRECT })(BODY)).rejects.toThrow(
      TimeoutError,
    )
  },
)

test('a lost connection names no address, and its cause says why', async () => {
  const host = await serve((request) => void request.socket.destroy())
  const error = await postTo({ url: `http://${host}/secret`, name: 'here', timeoutMs: 5_000, access: DIRECT })(
    BODY,
  ).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(HttpRequestError)
  expect(String(error)).not.toMatch(/secret|127\.0\.0\.1/)
  expect((error as HttpRequestError).cause).toMatchObject({ message: expect.stringMatching(/hang up|ECONNRESET/) })
})
