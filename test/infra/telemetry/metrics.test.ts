/** Metrics of what a listener really says, over nodes with the faults of real providers. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openMetrics } from '../../../infra/telemetry/metrics.ts'
import { FINALIZED, FROM, hostOf, listenTo, startNode } from '../../ingest/over-nodes.ts'
import { DAY } from '../../support/recorded.ts'
import type { RpcServer } from '../../support/rpc-server.ts'
import { samplesIn, sum } from '../../support/scrape.ts'
import { until } from '../../support/until.ts'

let first: RpcServer
let second: RpcServer

beforeEach(async () => {
  first = await startNode()
  second = await startNode()
})

afterEach(() => Promise.all([first.stop(), second.stop()]))

test('a chain that is read: its head, how far it was read, and each call by its method', async () => {
  const { registry, report } = openMetrics(['ethereum'])
  const listening = listenTo([first])
  const messages = await listening.messagesUpTo(DAY.lastBlock)
  await listening.stop()
  for (const fact of listening.facts) report(fact)

  const samples = samplesIn(await registry.metrics())
  const network = { network: 'ethereum' }
  expect(sum(samples, 'candlepool_chain_head_block', network)).toBe(DAY.lastBlock)
  expect(sum(samples, 'candlepool_chain_final_block', network)).toBe(FINALIZED)
  expect(sum(samples, 'candlepool_appended_block', network)).toBe(DAY.lastBlock)
  expect(sum(samples, 'candlepool_appended_blocks_total', network)).toBe(DAY.lastBlock - FROM + 1)
  const ticks = messages.flatMap((it) => (it.kind === 'range' ? it.blocks : [it])).flatMap((block) => block.ticks)
  expect(sum(samples, 'candlepool_appended_ticks_total', network)).toBe(ticks.length)
  expect(ticks.length).toBeGreaterThan(0)
  // Of other methods one may be under way when it stops.
  const method = 'eth_getLogs'
  expect(sum(samples, 'candlepool_rpc_calls_total', { endpoint: hostOf(first), method })).toBe(first.calls[method])
  const calls = sum(samples, 'candlepool_rpc_calls_total')
  expect(sum(samples, 'candlepool_rpc_call_seconds_count')).toBe(calls)
  expect(sum(samples, 'candlepool_rpc_errors_total')).toBeUndefined()
  expect(sum(samples, 'candlepool_rpc_endpoint_resting', { endpoint: hostOf(first) })).toBe(0)
  // What has not happened yet is there as 0: the first time is an increase.
  for (const name of [
    'candlepool_broken_logs_total',
    'candlepool_messages_rejected_total',
    'candlepool_reorg_depth_blocks_count',
  ]) {
    expect([name, sum(samples, name, network)]).toEqual([name, 0])
  }
})

test('endpoints that fail: by host and by what is wrong with them, from when they rest until they answer again', async () => {
  const { registry, report } = openMetrics(['ethereum'])
  const now = async () => samplesIn(await registry.metrics())
  first.faults.nextStatus = [429, 429]
  first.faults.spoilNext = ['cut text']
  first.faults.maxLogs = 200
  second.faults.reset = true
  const listening = listenTo([second, first])
  await listening.messagesUpTo(DAY.lastBlock)
  for (const fact of listening.facts) report(fact)
  const errors = (node: RpcServer, problem: string) =>
    now().then((samples) => sum(samples, 'candlepool_rpc_errors_total', { endpoint: hostOf(node), problem }))
  expect(await errors(first, 'rate-limited')).toBeGreaterThanOrEqual(1)
  expect(await errors(first, 'malformed')).toBeGreaterThanOrEqual(1)
  expect(await errors(first, 'too-many-results')).toBeGreaterThanOrEqual(1)
  expect(await errors(first, 'unreachable')).toBeUndefined()
  expect(await errors(second, 'unreachable')).toBeGreaterThanOrEqual(1)
  expect(sum(await now(), 'candlepool_range_splits_total')).toBe(listening.factsOf('range-split').length)
  expect(sum(await now(), 'candlepool_rpc_endpoint_resting', { endpoint: hostOf(second) })).toBe(1)

  const before = listening.facts.length
  second.faults.reset = false
  second.chain.head = first.chain.head = DAY.lastBlock + 1
  await until(
    async () =>
      listening.factsOf('endpoint-recovered').some((it) => it.endpoint === hostOf(second)) ? true : undefined,
    'it is back',
  )
  await listening.stop()
  for (const fact of listening.facts.slice(before)) report(fact)
  expect(sum(await now(), 'candlepool_rpc_endpoint_resting', { endpoint: hostOf(second) })).toBe(0)
})
