/** Metrics of the listeners: the chain's head, what was read of it, and how the endpoints answer. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { FactHandlers } from './fact.ts'
import { DEPTH_BLOCKS, SECONDS } from './metrics-buckets.ts'

export function ingestMetrics(registry: Registry, networks: readonly NetworkName[]): FactHandlers {
  const registers = [registry]
  const labelNames = ['network'] as const
  const ofEndpoint = ['network', 'endpoint'] as const
  const head = new Gauge({
    name: 'candlepool_chain_head_block',
    help: 'Newest block of the chain, as an endpoint told it last.',
    labelNames,
    registers,
  })
  const headTime = new Gauge({
    name: 'candlepool_chain_head_timestamp_seconds',
    help: 'Time of the newest block of the chain.',
    labelNames,
    registers,
  })
  const final = new Gauge({
    name: 'candlepool_chain_final_block',
    help: 'Newest block that the chain calls final.',
    labelNames,
    registers,
  })
  const seen = new Gauge({
    name: 'candlepool_chain_seen_timestamp_seconds',
    help: 'When an endpoint last told the head of the chain; before that, when the listener began.',
    labelNames,
    registers,
  })
  const appendedBlock = new Gauge({
    name: 'candlepool_appended_block',
    help: 'Newest block that the listener has appended to the log.',
    labelNames,
    registers,
  })
  const blocks = new Counter({
    name: 'candlepool_appended_blocks_total',
    help: 'Blocks appended to the log, replaced ones included.',
    labelNames,
    registers,
  })
  const ticks = new Counter({
    name: 'candlepool_appended_ticks_total',
    help: 'Ticks appended to the log.',
    labelNames,
    registers,
  })
  const reorgs = new Histogram({
    name: 'candlepool_reorg_depth_blocks',
    help: 'Blocks that the chain replaced, for each reorg that the listener met.',
    labelNames,
    buckets: DEPTH_BLOCKS,
    registers,
  })
  const calls = new Counter({
    name: 'candlepool_rpc_calls_total',
    help: 'Requests to an endpoint, by its host.',
    labelNames: ['network', 'endpoint', 'method'] as const,
    registers,
  })
  const callSeconds = new Histogram({
    name: 'candlepool_rpc_call_seconds',
    help: 'How long an endpoint takes to answer or to fail.',
    labelNames: ofEndpoint,
    buckets: SECONDS,
    registers,
  })
  const errors = new Counter({
    name: 'candlepool_rpc_errors_total',
    help: 'Units of work that an endpoint did not do, by what was wrong.',
    labelNames: ['network', 'endpoint', 'problem'] as const,
    registers,
  })
  const failures = new Counter({
    name: 'candlepool_listener_failures_total',
    help: 'Looks at the chain that failed for another reason than an endpoint, and were repeated.',
    labelNames,
    registers,
  })
  const resting = new Gauge({
    name: 'candlepool_rpc_endpoint_resting',
    help: '1 from when an endpoint has failed until it answers again.',
    labelNames: ofEndpoint,
    registers,
  })
  const disabled = new Gauge({
    name: 'candlepool_rpc_endpoint_disabled',
    help: '1 where an endpoint belongs to another chain.',
    labelNames: ofEndpoint,
    registers,
  })
  const behind = new Counter({
    name: 'candlepool_rpc_endpoint_behind_total',
    help: 'How often an endpoint fell behind the others.',
    labelNames: ofEndpoint,
    registers,
  })
  const omitted = new Counter({
    name: 'candlepool_rpc_omitted_logs_total',
    help: 'Logs that an endpoint left out and that its receipts have.',
    labelNames: ofEndpoint,
    registers,
  })
  const splits = new Counter({
    name: 'candlepool_range_splits_total',
    help: 'Ranges that an endpoint refused for their width or for the length of the answer.',
    labelNames,
    registers,
  })
  const brokenLogs = new Counter({
    name: 'candlepool_broken_logs_total',
    help: 'Logs of the chain that make no sense and were left out.',
    labelNames,
    registers,
  })
  const skippedPools = new Counter({
    name: 'candlepool_skipped_pools_total',
    help: 'Pools that were left out, by the reason.',
    labelNames: ['network', 'reason'] as const,
    registers,
  })
  const unreadBalances = new Counter({
    name: 'candlepool_unread_balances_total',
    help: 'Blocks whose balances of pools could not be read.',
    labelNames,
    registers,
  })
  const republished = new Counter({
    name: 'candlepool_republished_total',
    help: 'How often what was appended had to be appended again, since it was not stored.',
    labelNames,
    registers,
  })
  for (const network of networks) {
    for (const counter of [brokenLogs, failures, republished, unreadBalances]) counter.inc({ network }, 0)
    reorgs.zero({ network })
  }

  const known = new Map<NetworkName, Set<string>>()
  /** That it is well has to be there as well: an alert asks whether all of a network's endpoints fail. */
  function meet(network: NetworkName, endpoint: string): void {
    known.set(network, new Set(known.get(network)).add(endpoint))
    for (const gauge of [resting, disabled]) gauge.set({ network, endpoint }, 0)
    for (const counter of [behind, omitted]) counter.inc({ network, endpoint }, 0)
  }

  function append(network: NetworkName, number: number, count: number, tickCount: number): void {
    appendedBlock.set({ network }, number)
    blocks.inc({ network }, count)
    ticks.inc({ network }, tickCount)
  }

  return {
    // A chain that nobody ever tells must show as well.
    'stage-started': ({ stage, network }) => {
      if (stage !== 'listener') return
      seen.set({ network }, Date.now() / 1000)
      blocks.inc({ network }, 0)
    },
    'head-seen': ({ network, number, timestamp, finalized }) => {
      head.set({ network }, number)
      headTime.set({ network }, timestamp)
      final.set({ network }, Math.max(0, finalized))
      seen.set({ network }, Date.now() / 1000)
    },
    'range-appended': ({ network, from, to, ticks }) => append(network, to, to - from + 1, ticks),
    'block-appended': ({ network, number, ticks }) => append(network, number, 1, ticks),
    reorg: ({ network, depth }) => reorgs.observe({ network }, depth),
    'rpc-called': ({ network, endpoint, method, ms }) => {
      if (!known.get(network)?.has(endpoint)) meet(network, endpoint)
      calls.inc({ network, endpoint, method })
      callSeconds.observe({ network, endpoint }, ms / 1000)
    },
    'rpc-erred': ({ network, endpoint, problem }) => errors.inc({ network, endpoint, problem }),
    'rpc-failed': ({ network, endpoint }) => {
      if (endpoint === undefined) failures.inc({ network })
    },
    'endpoint-cooling': ({ network, endpoint }) => resting.set({ network, endpoint }, 1),
    'endpoint-recovered': ({ network, endpoint }) => resting.set({ network, endpoint }, 0),
    'endpoint-disabled': ({ network, endpoint }) => disabled.set({ network, endpoint }, 1),
    'endpoint-behind': ({ network, endpoint }) => behind.inc({ network, endpoint }),
    'endpoint-omitted-logs': ({ network, endpoint, logs }) => omitted.inc({ network, endpoint }, logs),
    'range-split': ({ network }) => splits.inc({ network }),
    'log-broken': ({ network }) => brokenLogs.inc({ network }),
    'pool-skipped': ({ network, reason }) => skippedPools.inc({ network, reason }),
    'balances-unread': ({ network }) => unreadBalances.inc({ network }),
    republishing: ({ network }) => republished.inc({ network }),
  }
}
