/** Answers that are made to harm, from the preferred endpoint beside an honest one: live blocks are read, and little of them is taken in. */
import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { DAY } from '../../support/recorded.ts'
import type { RpcServer } from '../../support/rpc-server.ts'
import { until } from '../../support/until.ts'
import { cleanContent, contentOf, type Listening, listenTo, startNode } from '../over-nodes.ts'

const BLOCKS = 5
const closing: (() => void)[] = []
let honest: RpcServer
let listening: Listening | undefined
let clean: unknown[]
let asked = 0

beforeAll(async () => {
  clean = await cleanContent()
})

beforeEach(async () => {
  honest = await startNode()
  asked = 0
})

afterEach(async () => {
  await listening?.stop()
  await honest.stop()
  for (const close of closing.splice(0)) close()
})

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  closing.push(() => server.close().closeAllConnections())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const packed = (text: string) => {
  const body = gzipSync(text)
  return (response: ServerResponse) => response.setHeader('content-encoding', 'gzip').end(body)
}
const MIB = 2 ** 20

test.each<[string, (response: ServerResponse, other: string) => unknown]>([
  ['63 MB of empty objects', packed(`[${'{},'.repeat(21 * MIB)}{}]`)],
  ['65 MB of spaces', packed(' '.repeat(65 * MIB))],
  ['a million levels', packed('['.repeat(MIB))],
  ['a million levels, closed', packed(`${'['.repeat(MIB)}${']'.repeat(MIB)}`)],
  ['a million fields', packed(`{${Array.from({ length: 300_000 }, (_, index) => `"f${index}":0`).join()}}`)],
  ['a byte now and then', (response) => void setInterval(() => response.write(' '), 20).unref()],
  ['a redirect', (response, other) => response.writeHead(307, { location: `${other}/?query=DROP` }).end()],
  [
    'a redirect with a user',
    (response, other) => response.writeHead(307, { location: other.replace('//', '//default:x@') }).end(),
  ],
])('%s', async (_, answer) => {
  const seen: string[] = []
  const other = await serve((request, response) => {
    seen.push(request.url ?? '')
    response.end('{}')
  })
  const url = await serve((_request, response) => {
    asked++
    answer(response, other)
  })
  const parse = vi.spyOn(JSON, 'parse')
  try {
    listening = listenTo([{ ...honest, url }, honest], {
      timeoutMs: 300,
      retryPolicy: { coolDownMs: 200, maxCoolDownMs: 60_000 },
    })
    expect(contentOf(await listening.messagesUpTo(DAY.lastBlock))).toEqual(clean)
    for (let block = 1; block <= BLOCKS; block++) {
      honest.chain.head++
      await listening.messagesUpTo(DAY.lastBlock + block)
    }
    const texts = parse.mock.calls.map(([text]) => text).filter((text) => /^[[{]*(\{\},|\[\[|"f0")/.test(text))
    expect(texts).toEqual([])
  } finally {
    parse.mockRestore()
  }
  expect(seen).toEqual([])
  // It rests twice as long each time.
  await until(async () => (asked > 0 ? true : undefined), 'it was asked')
  expect(asked).toBeLessThan(15)
  expect(listening.factsOf('endpoint-cooling').length).toBeGreaterThan(0)
})
