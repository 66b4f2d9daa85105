/** Batches over real HTTP, in front of gateways that take none, few, or answer them in ways of their own. */
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { DIRECT } from '../../../infra/config/rpc-access.ts'
import { connectChain } from '../../../infra/rpc/chain-client.ts'
import { openHttp } from '../../../infra/rpc/http-rpc.ts'
import { RequestBudget, type RequestCount } from '../../../ingest/rpc/endpoints/request-budget.ts'
import { classify } from '../../../ingest/rpc/rpc-error.ts'
import { type Call, serveTexts } from '../../support/json-rpc.ts'
import { until } from '../../support/until.ts'

type Reply = (body: Call | Call[], response: ServerResponse) => unknown

const answer = ({ id, params }: Call) => ({ jsonrpc: '2.0', id, result: params[0] })
const sound: Reply = (body) => (Array.isArray(body) ? body.map(answer) : answer(body))

let reply: Reply = sound
/** Calls of each request. */
let sizes: number[] = []
let underWay = 0
let mostUnderWay = 0
const { url, stop } = await serveTexts(async (text, response) => {
  const body = JSON.parse(text) as Call | Call[]
  sizes.push(Array.isArray(body) ? body.length : 1)
  mostUnderWay = Math.max(mostUnderWay, ++underWay)
  response.on('close', () => underWay--)
  const said = await reply(body, response)
  if (!response.destroyed && !response.writableEnded)
    response.end(typeof said === 'string' ? said : JSON.stringify(said))
})

beforeEach(() => {
  reply = sound
  sizes = []
  mostUnderWay = 0
})
afterAll(stop)

const open = (timeoutMs = 60_000) => openHttp({ url, name: 'here', timeoutMs: timeoutMs, access: DIRECT })
/** Answers equal to the requests prove that none was taken for another one. */
const ask = (client: ReturnType<typeof open>, count: number, method = 'eth_call'): Promise<unknown[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => client.request({ method, params: [index] } as never)))
const indexes = (count: number) => Array.from({ length: count }, (_, index) => index)

const rpcError = (id: unknown, code: number, message: string) => ({ jsonrpc: '2.0', id, error: { code, message } })
const status =
  (code: number, text = ''): Reply =>
  (_body, response) => {
    response.statusCode = code
    return text
  }
const singlesOnly =
  (refusal: Reply): Reply =>
  (body, response) =>
    Array.isArray(body) ? refusal(body, response) : answer(body)
const upTo =
  (most: number, refusal: Reply): Reply =>
  (body, response) =>
    Array.isArray(body) && body.length > most ? refusal(body, response) : sound(body, response)

describe('an endpoint that takes no batch', () => {
  test.each<[string, Reply]>([
    ['one object', () => rpcError(null, -32600, 'invalid request')],
    ['one object without an id', () => ({ error: { code: -32700, message: 'parse error' } })],
    ['a text as the error', () => ({ error: 'cannot unmarshal array into Go value of type Request' })],
    ['an array with one error without an id', () => [rpcError(null, -32600, 'Invalid Request')]],
    ['an array with the error of the first', (body) => [rpcError((body as Call[])[0]?.id, -32600, 'batch too large')]],
    ['an error for each call', (body) => (body as Call[]).map(({ id }) => rpcError(id, -32600, 'no batches here'))],
    ['HTTP 400', status(400, 'bad request')],
    ['HTTP 405', status(405)],
    ['HTTP 413', status(413)],
    ['null', () => 'null'],
    ['an empty array', () => []],
    ['the answer to the first alone', (body) => [answer((body as Call[])[0] as Call)]],
    ['answers without ids', (body) => (body as Call[]).map((it) => ({ ...answer(it), id: null }))],
    ['answers with other ids', (body) => (body as Call[]).map((it, index) => ({ ...answer(it), id: -index }))],
    [
      'one id for all answers',
      (body) => (body as Call[]).map((it) => ({ ...answer(it), id: (body as Call[])[0]?.id })),
    ],
  ])('a batch that gets %s is the last one, and later calls are sent singly', async (_, refusal) => {
    reply = singlesOnly(refusal)
    const client = open()
    expect(await ask(client, 20)).toEqual(indexes(20))
    sizes = []
    expect(await ask(client, 20)).toEqual(indexes(20))
    expect(sizes).toEqual(indexes(20).map(() => 1))
  })

  test.each<[string, Reply]>([
    ['HTTP 500', status(500)],
    ['a reset connection', (_body, response) => void response.destroy()],
    ['a page', () => '<html>'],
  ])('the second batch that gets %s, which may have other reasons, is the last one', async (_, refusal) => {
    reply = singlesOnly(refusal)
    const client = open()
    for (const count of [2, 2]) expect(await ask(client, count)).toEqual(indexes(count))
    expect(sizes).toEqual([2, 1, 1, 2, 1, 1])
    await ask(client, 2)
    expect(sizes.slice(6)).toEqual([1, 1])
  })

  test('a batch without an answer fails, single calls have an answer, and the second such batch is the last one', async () => {
    reply = singlesOnly(() => new Promise(() => undefined))
    const client = open(150)
    for (const _ of [1, 2]) {
      await expect(ask(client, 2)).rejects.toMatchObject({ name: 'TimeoutError' })
      expect(await ask(client, 2)).toEqual(indexes(2))
    }
    sizes = []
    expect(await ask(client, 2)).toEqual(indexes(2))
    expect(sizes).toEqual([1, 1])
  })
})

describe('an endpoint that takes small batches', () => {
  test.each([3, 5, 10, 50])(
    'an endpoint that takes batches of %i calls gets such batches, and all calls are answered',
    async (most) => {
      reply = upTo(most, (body) => [rpcError((body as Call[])[0]?.id, -32600, 'batch too large')])
      const client = open()
      expect(await ask(client, 100)).toEqual(indexes(100))
      expect(sizes.length).toBeLessThan(100)
      sizes = []
      expect(await ask(client, 100)).toEqual(indexes(100))
      expect(Math.max(...sizes)).toBeLessThanOrEqual(most)
      expect(Math.min(...sizes.slice(0, -1))).toBeGreaterThan(most / 3)
    },
  )

  test('calls whose answers are too long for their batch are sent again', async () => {
    const tooLarge = ({ id }: Call) => rpcError(id, -32003, 'response too large')
    reply = (body) =>
      Array.isArray(body) ? body.map((it, index) => (index < 30 ? answer(it) : tooLarge(it))) : answer(body)
    expect(await ask(open(), 100)).toEqual(indexes(100))
  })

  test('an endpoint that takes small batches gets a larger one once in half an hour', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    try {
      reply = upTo(25, status(413))
      const client = open()
      await ask(client, 100)
      sizes = []
      for (const _ of [1, 2, 3]) await ask(client, 100)
      expect(Math.max(...sizes)).toBe(25)
      vi.advanceTimersByTime(1_800_001)
      sizes = []
      for (const _ of [1, 2, 3]) expect(await ask(client, 100)).toEqual(indexes(100))
      expect(sizes.filter((it) => it > 25).length).toBeLessThanOrEqual(2)
      reply = sound
      for (const _ of [1, 2, 3]) {
        vi.advanceTimersByTime(1_800_001)
        await ask(client, 100)
      }
      sizes = []
      await ask(client, 100)
      expect(sizes).toEqual([100])
    } finally {
      vi.useRealTimers()
    }
  })
})

describe('a failure that is not about batches', () => {
  test.each<[string, Reply, string]>([
    ['429', status(429), 'rate-limited'],
    ['a rate limit in one object', () => rpcError(null, -32005, 'rate limit exceeded'), 'rate-limited'],
    ['a rate limit in an array', () => [rpcError(null, 429, 'too many requests')], 'rate-limited'],
    ['401', status(401, 'no batch without a key'), 'refused'],
    ['403', status(403), 'refused'],
  ])('%s costs one request, and batches stay', async (_, refusal, problem) => {
    reply = refusal
    const client = open()
    const failure = await ask(client, 20).catch((error: unknown) => error)
    expect(classify(failure).kind).toBe(problem)
    expect(sizes).toEqual([20])
    reply = sound
    await ask(client, 20)
    expect(sizes).toEqual([20, 20])
  })

  test.each<[string, Reply]>([
    ['500', status(500)],
    ['a page', () => '<html>'],
    ['a reset connection', (_body, response) => void response.destroy()],
    ['an unusable key', () => rpcError(1, -32000, 'invalid key')],
  ])('%s to everything costs one more, and batches stay', async (_, refusal) => {
    reply = refusal
    const client = open()
    await expect(ask(client, 20)).rejects.toThrow()
    expect(sizes).toEqual([20, 1])
    reply = sound
    await ask(client, 20)
    expect(sizes).toEqual([20, 1, 20])
  })

  test('a single fault is absorbed, and batches stay', async () => {
    const faults = [status(502)]
    reply = (body, response) => (faults.shift() ?? sound)(body, response)
    const client = open()
    expect(await ask(client, 4)).toEqual(indexes(4))
    sizes = []
    await ask(client, 4)
    expect(sizes).toEqual([4])
  })

  test('a call that fails its batch takes few others with it', async () => {
    const isHeavy = (it: Call) => it.params[0] === 13
    reply = (body, response) => ([body].flat().some(isHeavy) ? status(500)(body, response) : sound(body, response))
    const client = open()
    const outcomes = await Promise.allSettled(
      indexes(40).map((index) => client.request({ method: 'eth_call', params: [index] } as never)),
    )
    const failed = outcomes.flatMap(({ status: end }, index) => (end === 'rejected' ? [index] : []))
    expect(failed).toContain(13)
    expect(failed.length).toBeLessThan(6)
    expect(sizes.length).toBeLessThan(25)
  })
})

describe('answers are told apart by id', () => {
  test.each<[string, Reply]>([
    ['in another order', (body) => [...(sound(body, undefined as never) as unknown[])].reverse()],
    ['with ids as texts', (body) => (body as Call[]).map((it) => ({ ...answer(it), id: String(it.id) }))],
    ['with some that were not asked for', (body) => [{ id: 9_999, result: 7 }, ...(body as Call[]).map(answer)]],
    ['with nulls between', (body) => [null, ...(body as Call[]).map(answer), null]],
  ])('%s', async (_, batches) => {
    reply = (body, response) => (Array.isArray(body) ? batches(body, response) : answer(body))
    expect(await ask(open(), 10)).toEqual(indexes(10))
    expect(sizes).toEqual([10])
  })

  test('an id that is answered twice is asked again', async () => {
    reply = (body) => (Array.isArray(body) ? [...body.map(answer), { id: body[3]?.id, result: 'other' }] : answer(body))
    expect(await ask(open(), 10)).toEqual(indexes(10))
    expect(sizes).toEqual([10, 1])
  })

  test('a single call whose answer has another id is refused', async () => {
    reply = (body) => ({ ...answer(body as Call), id: 9_999 })
    await expect(ask(open(), 1)).rejects.toThrow('answered another request')
    reply = (body) => ({ ...answer(body as Call), id: String((body as Call).id) })
    expect(await ask(open(), 1)).toEqual([0])
  })
})

test.each([
  ['a million', 1_000_000],
  ['a thousand', 1_000],
])('%s answers to a batch are refused without a walk over them', async (_, count) => {
  const many = JSON.stringify(Array.from({ length: count }, (_, id) => ({ id: -1 - id, error: 1 })))
  reply = (body) => (Array.isArray(body) ? many : answer(body))
  const client = open(20_000)
  await ask(client, 1)
  const ids = vi.spyOn(Map.prototype, 'set')
  const answers = await ask(client, 2).catch((error: unknown) => classify(error).kind)
  const walked = ids.mock.calls.filter(([id]) => String(id).startsWith('-')).length
  ids.mockRestore()
  // A gateway may answer a few more than were asked for; no batch of two has a million.
  expect(answers).toEqual(count > 100_000 ? 'malformed' : [0, 1])
  expect(sizes.length).toBe(count > 100_000 ? 2 : 4)
  expect(walked).toBe(0)
})

test('calls that are sent again count against the budget of the network', async () => {
  reply = singlesOnly(status(405))
  let counted = 0
  const count: RequestCount = {
    async add(_day, requests) {
      counted += requests
      return counted
    },
  }
  const limits = { perSecond: undefined, perDay: 100_000 }
  const budget = new RequestBudget('ethereum', limits, count, () => {})
  const { endpoints } = connectChain([url], { headerProof: 'off', budget })
  const left = budget.leftForHistory
  await endpoints.run((client) => ask(client, 10, 'eth_any'))
  const sent = sizes.reduce((sum, size) => sum + size, 0)
  expect(sent).toBeGreaterThan(20)
  expect(left - budget.leftForHistory).toBe(sent)
})

test('single calls are bounded: 16 at once', async () => {
  reply = singlesOnly(status(405))
  const client = open()
  await ask(client, 2)
  mostUnderWay = 0
  reply = async (body) => {
    await until(async () => mostUnderWay >= 16 || undefined, '16 are under way')
    await sleep(5)
    return answer(body as Call)
  }
  expect(await ask(client, 300)).toEqual(indexes(300))
  expect(mostUnderWay).toBe(16)
})
