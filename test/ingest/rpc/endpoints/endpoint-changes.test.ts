/** Endpoints that change while they are used: another chain behind the address, a slow one, a dead one beside others that disagree. */
import type { Client } from 'viem'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { connectChain } from '../../../../infra/rpc/chain-client.ts'
import { ChainReplaced } from '../../../../ingest/model/errors.ts'
import type { IngestFact } from '../../../../ingest/model/fact.ts'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import { getHead } from '../../../../ingest/rpc/rpc.ts'
import { madeUpHash } from '../../../support/recorded.ts'
import type { RpcServer } from '../../../support/rpc-server.ts'
import { until } from '../../../support/until.ts'
import { FAST_RETRIES, hostOf, startNode } from '../../over-nodes.ts'

let first: RpcServer
let second: RpcServer
let facts: IngestFact[]
let stopping: AbortController

beforeEach(async () => {
  first = await startNode()
  second = await startNode()
  facts = []
  stopping = new AbortController()
})

afterEach(async () => {
  stopping.abort()
  await Promise.all([first.stop(), second.stop()])
})

function connect(urls: readonly string[], policy: Partial<typeof FAST_RETRIES> = {}, timeoutMs = 5_000) {
  const { endpoints } = connectChain(urls, {
    headerProof: 'off',
    network: NETWORKS.ethereum,
    report: (fact) => facts.push(fact),
    signal: stopping.signal,
    retryPolicy: { ...FAST_RETRIES, ...policy },
    timeoutMs,
  })
  /** The endpoint that answers the next request for the head. */
  const answering = () =>
    endpoints.run(async (client) => {
      await getHead(client)
      return client.name
    })
  return { endpoints, answering }
}

test('an endpoint whose chain id changes is not used until it is the right one again', async () => {
  const { answering } = connect([first.url, second.url], { chainIdMs: 0, compareMs: 60_000 })
  expect(await answering()).toBe(hostOf(first))
  first.chain.chainId = 5
  for (let count = 0; count < 10; count++) expect(await answering()).toBe(hostOf(second))
  const failed = facts.flatMap((fact) => (fact.kind === 'rpc-failed' ? [String(fact.error)] : []))
  expect(failed[0]).toContain('The node answers as chain 5 now, and ethereum is chain 1.')
  first.chain.chainId = 1
  await until(async () => ((await answering()) === hostOf(first) ? true : undefined), 'it is used again')
})

test('an endpoint alone whose chain id changes answers nothing meanwhile, and ends no listener', async () => {
  const { answering } = connect([first.url], { chainIdMs: 0, compareMs: 60_000 })
  await answering()
  first.chain.chainId = 5
  await expect(answering()).rejects.toThrow('answers as chain 5 now')
  first.chain.chainId = 1
  await until(
    async () => ((await answering().catch(() => undefined)) === hostOf(first) ? true : undefined),
    'it is used again',
  )
})

test('live reading leaves a preferred endpoint that is slow, and returns once it is fast', async () => {
  const { endpoints, answering } = connect([first.url, second.url], { lateMs: 60, compareMs: 20 })
  expect(await answering()).toBe(hostOf(first))
  first.faults.delayMs = 250
  await until(async () => ((await answering()) === hostOf(second) ? true : undefined), 'the fast one leads')
  const late = facts.flatMap((fact) => (fact.kind === 'endpoint-late' ? [fact.endpoint] : []))
  expect(late).toEqual([hostOf(first)])
  const history = await endpoints.run(async (client) => client.name, { priority: 'history' })
  expect(history).toBe(hostOf(first))
  first.faults.delayMs = 0
  await until(async () => ((await answering()) === hostOf(first) ? true : undefined), 'the preferred one leads again')
})

test('live reading waits once for an endpoint that does not answer, and returns once it does', async () => {
  const { answering } = connect([first.url, second.url], { lateMs: 60_000, compareMs: 20 }, 300)
  let heads = 0
  await until(async () => {
    await answering()
    return ++heads > 8 ? true : undefined
  }, 'both are known')
  first.faults.delayMs = 1_000
  const asked = () => facts.filter((fact) => fact.kind === 'rpc-failed' && fact.endpoint === hostOf(first)).length
  for (let count = 0; count < 20; count++) expect(await answering()).toBe(hostOf(second))
  await new Promise((resolve) => setTimeout(resolve, 200))
  for (let count = 0; count < 20; count++) expect(await answering()).toBe(hostOf(second))
  expect(asked()).toBe(1)
  first.faults.delayMs = 0
  await until(async () => ((await answering()) === hostOf(first) ? true : undefined), 'it leads again')
})

test('a single slow answer changes nothing', async () => {
  const { answering } = connect([first.url, second.url], { lateMs: 60, compareMs: 20 })
  for (let count = 0; count < 6; count++) await answering()
  first.faults.delayMs = 250
  await answering()
  first.faults.delayMs = 0
  expect(await answering()).toBe(hostOf(first))
  expect(facts.some(({ kind }) => kind === 'endpoint-late')).toBe(false)
})

test('a dead endpoint beside two that have replaced a final block does not prevent the halt', async () => {
  const dead = await startNode()
  await dead.stop()
  const { endpoints } = connect([first.url, second.url, dead.url], { behindMs: 1 })
  const stored = { number: 7, hash: madeUpHash(7) }
  const replaced = () =>
    Promise.reject(new ChainReplaced('ethereum', { stored, found: madeUpHash(7, 1), wasFinal: true }))
  const outcome = async () => {
    const task = (client: Client) => getHead(client).then(replaced)
    const error: unknown = await endpoints.run(task).catch((it) => it)
    return error instanceof ChainReplaced ? true : undefined
  }
  expect(await outcome()).toBeUndefined()
  await until(outcome, 'the two are believed')
})
