import { afterAll, beforeEach, expect, test } from 'vitest'
import { DIRECT } from '../../../infra/config/rpc-access.ts'
import { openHttp } from '../../../infra/rpc/http-rpc.ts'
import { getHeader, getLogs } from '../../../ingest/rpc/rpc.ts'
import { answerTo, type Call, sendJson, serveTexts } from '../../support/json-rpc.ts'

/** A node without any logs; `seen` are the methods of each request. */
let seen: string[][] = []
const { url, stop } = await serveTexts((body, response) => {
  seen.push([JSON.parse(body) as Call | Call[]].flat().map(({ method }) => method))
  sendJson(
    response,
    answerTo(body, ({ method }) => ({ result: method === 'eth_getLogs' ? [] : null })),
  )
})

beforeEach(() => {
  seen = []
})
afterAll(stop)

test('each range of one turn has a batch of its own, with what was asked for beside it', async () => {
  const client = openHttp({ url, name: 'here', timeoutMs: 60_000, access: DIRECT })
  const ranges = [1, 2, 3].map((from) => [getLogs(client, { topics: [] }, { from, to: from }), getHeader(client, from)])
  await Promise.all(ranges.flat())
  const pair = ['eth_getLogs', 'eth_getBlockByNumber']
  expect(seen).toEqual([pair, pair, pair])
})

test('logs of single blocks share one batch', async () => {
  const client = openHttp({ url, name: 'here', timeoutMs: 60_000, access: DIRECT })
  const hashes = ['0x01', '0x02', '0x03'] as const
  await Promise.all(hashes.map((blockHash) => getLogs(client, { topics: [] }, { blockHash })))
  expect(seen).toEqual([['eth_getLogs', 'eth_getLogs', 'eth_getLogs']])
})
