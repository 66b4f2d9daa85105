/** Metrics of the public topics: the newest published block, and failed writes. */
import type { Registry } from 'prom-client'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { FactHandlers } from './fact.ts'
import { instrumentsIn } from './instruments.ts'

export function publishMetrics(registry: Registry, networks: readonly NetworkName[]): FactHandlers {
  const { counter, gauge } = instrumentsIn(registry)
  const block = gauge(
    'candlepool_published_block',
    'Newest block in the public topics; only of a network that this process publishes.',
  )
  const ticks = counter('candlepool_published_ticks_total', 'Ticks written to the public topics.')
  const failures = counter(
    'candlepool_publish_failures_total',
    'Times that the public topics did not take what was written to them; all are tried again.',
  )
  for (const network of networks) failures.inc({ network }, 0)
  return {
    published: ({ network, number, ticks: count }) => {
      block.set({ network }, number)
      ticks.inc({ network }, count)
    },
    'publish-failed': ({ network }) => failures.inc({ network }),
    // Another process may publish the network now.
    'stage-restarted': ({ stage, network }) => {
      if (stage === 'aggregator') block.remove({ network })
    },
  }
}
