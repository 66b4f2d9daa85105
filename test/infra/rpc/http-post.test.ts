import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { HttpRequestError, ResponseBodyTooLargeError, TimeoutError } from 'viem'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { DIRECT } from '../../../infra/config/rpc-access.ts'
import type { AskedCall } from '../../../infra/rpc/answer-limits.ts'
import { isWorthSplitting } from '../../../infra/rpc/batch-answer.ts'
import { postTo } from '../../../infra/rpc/http-post.ts'
import { classify, isFault, wordsOf } from '../../../ingest/rpc/rpc-error.ts'

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
  const post = postTo({ url: `http://${await serve(echo)}`, name: 'here', timeoutMs: 60_000, access: DIRECT })
  for (const method of ['0x00', 'köstet 5 € 🦄']) expect(await post({ method })).toEqual({ method })
})

test('a compressed answer is unpacked', async () => {
  const host = await serve((_request, response) => {
    response.setHeader('Content-Encoding', 'gzip').end(gzipSync('{"result":"0x1"}'))
  })
  expect(await postTo({ url: `http://${host}`, name: 'here', timeoutMs: 60_000, access: DIRECT })(BODY)).toEqual({
    result: '0x1',
  })
})

describe('a refused answer', () => {
  const MIB = 2 ** 20
  const textOf = (bytes: number) => Buffer.from(`{"result":"${'0'.repeat(bytes)}"}`)
  const asked = async (body: Buffer, calls: AskedCall | readonly AskedCall[]) => {
    const host = await serve((_request, response) => response.setHeader('Content-Encoding', 'gzip').end(gzipSync(body)))
    return postTo({ url: `http://${host}`, name: 'here', timeoutMs: 20_000, access: DIRECT })(calls)
  }

  test.each([
    ['eth_chainId', 0.25],
    ['eth_unknown', 0.25],
    ['eth_getBlockByNumber', 4],
    ['eth_call', 16],
  ])('an answer to %s above %d MiB is refused, as the fault of the endpoint', async (method, most) => {
    expect(await asked(textOf(most * MIB - 100), { method })).toBeDefined()
    const failure = await asked(textOf(most * MIB), { method }).catch((error: unknown) => error)
    expect([isFault(failure), classify(failure).kind]).toEqual([true, 'malformed'])
    expect(isWorthSplitting(failure)).toBe(false)
  })

  test('an answer to a batch is refused above what its calls may have together', async () => {
    const calls = [{ method: 'eth_chainId' }, { method: 'eth_getBlockByNumber' }]
    expect(await asked(textOf(4 * MIB), calls)).toBeDefined()
    expect(isFault(await asked(textOf(5 * MIB), calls).catch((error: unknown) => error))).toBe(true)
  })

  test('an answer to a range above 64 MiB is refused, since the range may be of fewer blocks', async () => {
    const calls = [{ method: 'eth_getLogs' }, { method: 'eth_getBlockByNumber' }]
    await expect(asked(textOf(64 * MIB), calls)).rejects.toThrow(ResponseBodyTooLargeError)
  })

  test.each([
    ['empty objects', `[${'{},'.repeat(1_000_000)}{}]`],
    ['zeros', `[${'0,'.repeat(1_000_000)}0]`],
    ['fields of one object', `{${Array.from({ length: 10_000 }, (_, index) => `"${index}":0`).join()}}`],
    ['levels', '['.repeat(100_000)],
    ['levels that texts seem to close', '["]]]]",'.repeat(1_000)],
    ['texts of an escaped quote', `[${'"\\"",'.repeat(1_000_000)}0]`],
  ])('an answer with too many %s is refused unread, and is no fault of the batch', async (_, text) => {
    const parse = vi.spyOn(JSON, 'parse')
    const failure = await asked(Buffer.from(text), { method: 'eth_getLogs' }).catch((error: unknown) => error)
    const parsed = parse.mock.calls.filter(([it]) => it.length > 1_000)
    parse.mockRestore()
    expect(parsed).toEqual([])
    expect([isFault(failure), classify(failure).kind, isWorthSplitting(failure)]).toEqual([true, 'malformed', false])
    expect(wordsOf(failure)).toMatch(/^The node's answer is refused unread: It (has too many|is more than)/)
  })
})

test('a page above the limit is an error by its status', async () => {
  const host = await serve((_request, response) => response.writeHead(503).end('x'.repeat(2 ** 20)))
  const failure = postTo({ url: `http://${host}`, name: 'here', timeoutMs: 60_000, access: DIRECT })(BODY)
  await expect(failure).rejects.toMatchObject({ status: 503 })
})

test('the user and password of an address are sent as a header, and a path with its query as it is', async () => {
  const host = await serve(({ headers, url }, response) => {
    response.end(JSON.stringify({ authorization: headers.authorization, url }))
  })
  const authorization = `Basic ${Buffer.from('me:p@ss').toString('base64')}`
  const answer = await postTo({
    url: `http://me:p%40ss@${host}/v2/key?a=1`,
    name: 'here',
    timeoutMs: 60_000,
    access: DIRECT,
  })(BODY)
  expect(answer).toEqual({ authorization, url: '/v2/key?a=1' })
})

test('a redirect that keeps the method is followed, a few times', async () => {
  const host = await serve((request, response) => {
    if (request.url === '/new') return echo(request, response)
    response.writeHead(308, { Location: request.url === '/loop' ? '/loop' : '/new' }).end()
  })
  expect(await postTo({ url: `http://${host}/old`, name: 'here', timeoutMs: 60_000, access: DIRECT })(BODY)).toEqual(
    BODY,
  )
  await expect(
    postTo({ url: `http://${host}/loop`, name: 'here', timeoutMs: 60_000, access: DIRECT })(BODY),
  ).rejects.toMatchObject({ status: 308 })
})

test('an answer may take longer than a connection may be idle', async () => {
  const host = await serve((request, response) => void setTimeout(() => echo(request, response), 4_300))
  expect(await postTo({ url: `http://${host}`, name: 'here', timeoutMs: 10_000, access: DIRECT })(BODY)).toEqual(BODY)
})

test('an error keeps status, headers and the beginning of what was said', async () => {
  const host = await serve((_request, response) => {
    response.writeHead(429, { 'Retry-After': '7' }).end('slow down '.repeat(1_000))
  })
  const error = await postTo({ url: `http://${host}`, name: 'here', timeoutMs: 60_000, access: DIRECT })(BODY).catch(
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
  ['drips, byte by byte', (_request, response) => void setInterval(() => response.write(' '), 20).unref()],
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
  const error = await postTo({ url: `http://${host}/secret`, name: 'here', timeoutMs: 60_000, access: DIRECT })(
    BODY,
  ).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(HttpRequestError)
  expect(String(error)).not.toMatch(/secret|127\.0\.0\.1/)
  expect((error as HttpRequestError).cause).toMatchObject({ message: expect.stringMatching(/hang up|ECONNRESET/) })
})
