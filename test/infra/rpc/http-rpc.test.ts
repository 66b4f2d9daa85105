import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { DIRECT } from '../../../infra/config/rpc-access.ts'
import { openHttp } from '../../../infra/rpc/http-rpc.ts'
import { getHeader, getLogs } from '../../../ingest/rpc/rpc.ts'

type Call = { id: number; method: string; params: unknown[] }

/** A node without any logs; `seen` are the methods of each request. */
let seen: string[][] = []
const server = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const body = JSON.parse(Buffer.concat(chunks).toString()) as Call | Call[]
  seen.push([body].flat().map(({ method }) => method))
  const answer = ({ id, method }: Call) => ({ jsonrpc: '2.0', id, result: method === 'eth_getLogs' ? [] : null })
  response.end(JSON.stringify(Array.isArray(body) ? body.map(answer) : answer(body)))
})
let url = ''

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
beforeEach(() => {
  seen = []
})
afterAll(() => server.close())

test('each range of one turn has a batch of its own, with what was asked for beside it', async () => {
  const client = openHttp({ url, name: 'here', timeoutMs: 5_000, access: DIRECT })
  const ranges = [1, 2, 3].map((from) => [getLogs(client, { topics: [] }, { from, to: from }), getHeader(client, from)])
  await Promise.all(ranges.flat())
  const pair = ['eth_getLogs', 'eth_getBlockByNumber']
  expect(seen).toEqual([pair, pair, pair])
})

test('logs of single blocks share one batch', async () => {
  const client = openHttp({ url, name: 'here', timeoutMs: 5_000, access: DIRECT })
  const hashes = ['0x01', '0x02', '0x03'] as const
  await Promise.all(hashes.map((blockHash) => getLogs(client, { topics: [] }, { blockHash })))
  expect(seen).toEqual([['eth_getLogs', 'eth_getLogs', 'eth_getLogs']])
})
