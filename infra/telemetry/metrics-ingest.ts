/** Metrics of the listeners: blocks and ticks appended to the log, reorgs, and logs left out. */
import type { Registry } from 'prom-client'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { FactHandlers } from './fact.ts'
import { DEPTH_BLOCKS, instrumentsIn } from './instruments.ts'

export function ingestMetrics(registry: Registry, networks: readonly NetworkName[]): FactHandlers {
  const { counter, gauge, histogram } = instrumentsIn(registry)
  const appendedBlock = gauge('candlepool_appended_block', 'Newest block that the listener has appended to the log.')
  const blocks = counter('candlepool_appended_blocks_total', 'Blocks appended to the log, replaced ones included.')
  const ticks = counter('candlepool_appended_ticks_total', 'Ticks appended to the log.')
  const reorgs = histogram(
    'candlepool_reorg_depth_blocks',
    'Blocks that the chain replaced, for each reorg that the listener met.',
    DEPTH_BLOCKS,
  )
  const failures = counter(
    'candlepool_listener_failures_total',
    'Looks at the chain that failed for another reason than an endpoint, and were repeated.',
  )
  const splits = counter(
    'candlepool_range_splits_total',
    'Ranges that an endpoint refused for their width or for the length of the answer.',
  )
  const brokenLogs = counter('candlepool_broken_logs_total', 'Logs of the chain that make no sense and were left out.')
  const skippedPools = counter('candlepool_skipped_pools_total', 'Pools that were left out, by the reason.', [
    'network',
    'reason',
  ])
  const unreadBalances = counter(
    'candlepool_unread_balances_total',
    'Blocks whose balances of pools could not be read.',
  )
  const republished = counter(
    'candlepool_republished_total',
    'How often what was appended had to be appended again, since it was not stored.',
  )
  for (const network of networks) {
    for (const counter of [brokenLogs, failures, republished, unreadBalances]) counter.inc({ network }, 0)
    reorgs.zero({ network })
  }

  function append(network: NetworkName, number: number, count: number, tickCount: number): void {
    appendedBlock.set({ network }, number)
    blocks.inc({ network }, count)
    ticks.inc({ network }, tickCount)
  }

  return {
    'stage-started': ({ stage, network }) => {
      if (stage === 'listener') blocks.inc({ network }, 0)
    },
    'range-appended': ({ network, from, to, ticks }) => append(network, to, to - from + 1, ticks),
    'block-appended': ({ network, number, ticks }) => append(network, number, 1, ticks),
    reorg: ({ network, depth }) => reorgs.observe({ network }, depth),
    'rpc-failed': ({ network, endpoint }) => {
      if (endpoint === undefined) failures.inc({ network })
    },
    'range-split': ({ network }) => splits.inc({ network }),
    'log-broken': ({ network }) => brokenLogs.inc({ network }),
    'pool-skipped': ({ network, reason }) => skippedPools.inc({ network, reason }),
    'balances-unread': ({ network }) => unreadBalances.inc({ network }),
    republishing: ({ network }) => republished.inc({ network }),
  }
}

/** The chain's head, as the endpoints report it. */
export function chainMetrics(registry: Registry): FactHandlers {
  const { gauge } = instrumentsIn(registry)
  const head = gauge('candlepool_chain_head_block', 'Newest block of the chain, as an endpoint last answered it.')
  const headTime = gauge('candlepool_chain_head_timestamp_seconds', 'Time of the newest block of the chain.')
  const final = gauge('candlepool_chain_final_block', 'Newest block that the chain calls final.')
  const seen = gauge(
    'candlepool_chain_seen_timestamp_seconds',
    'When an endpoint last answered the head of the chain; before that, when the listener began.',
  )

  return {
    // Set before the first head, so that a chain whose endpoints never answer raises the alert.
    'stage-started': ({ stage, network }) => {
      if (stage === 'listener') seen.set({ network }, Date.now() / 1000)
    },
    'head-seen': ({ network, number, timestamp, finalized }) => {
      head.set({ network }, number)
      headTime.set({ network }, timestamp)
      final.set({ network }, Math.max(0, finalized))
      seen.set({ network }, Date.now() / 1000)
    },
  }
}
