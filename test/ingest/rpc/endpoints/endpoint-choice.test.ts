/** Which of two endpoints is asked, by what is known of their heads. */
import { type Client, createClient, custom } from 'viem'
import { expect, test } from 'vitest'
import { Endpoint } from '../../../../ingest/rpc/endpoints/endpoint.ts'
import { chooseEndpoint } from '../../../../ingest/rpc/endpoints/endpoint-choice.ts'
import { RETRY_POLICY } from '../../../../ingest/rpc/retry-policy.ts'
import { BadAnswer } from '../../../../ingest/rpc/rpc-error.ts'

const never = new AbortController().signal
const CONTEXT = {
  policy: RETRY_POLICY,
  budget: undefined,
  signal: never,
  onCalled: () => {},
  onOddity: () => {},
  onHead: () => {},
  headers: undefined,
}

/** Answers these heads, one after another. */
function endpointAt(name: string, ...heads: number[]): Endpoint {
  const request = async () => `0x${(heads.shift() ?? 0).toString(16)}`
  const client: Client = createClient({ transport: custom({ request }) })
  return new Endpoint(name, name, client, CONTEXT)
}

const askHead = (endpoint: Endpoint) => endpoint.client.request({ method: 'eth_blockNumber' })

test('the head of an endpoint is its latest answer, also where that is below the one before', async () => {
  const endpoint = endpointAt('a', 10, 5)
  await askHead(endpoint)
  expect(endpoint.head).toBe(10)
  await askHead(endpoint)
  expect(endpoint.head).toBe(5)
})

test('an endpoint whose head is below the block comes after one that has it', async () => {
  const endpoints = [endpointAt('a', 5), endpointAt('b', 10)]
  await Promise.all(endpoints.map(askHead))
  const chosen = (atLeast?: number) => chooseEndpoint(endpoints, new Set(endpoints), { atLeast }, never)
  expect((await chosen())?.name).toBe('a')
  expect((await chosen(5))?.name).toBe('a')
  expect((await chosen(6))?.name).toBe('b')
  expect((await chosen(11))?.name).toBe('a')
})

test('an answer of another shape is an error of the endpoint', async () => {
  const client: Client = createClient({ transport: custom({ request: async () => 'no chain' }, { retryCount: 0 }) })
  const endpoint = new Endpoint('a', 'a', client, CONTEXT)
  await expect(endpoint.client.request({ method: 'eth_chainId' })).rejects.toThrow(BadAnswer)
})
