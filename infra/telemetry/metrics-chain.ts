/** Metrics of the chain's head, as the endpoints report it. */
import type { Registry } from 'prom-client'
import type { FactHandlers } from './fact.ts'
import { instrumentsIn } from './instruments.ts'

export function chainMetrics(registry: Registry): FactHandlers {
  const { gauge } = instrumentsIn(registry)
  const head = gauge('candlepool_chain_head_block', 'Newest block of the chain, as an endpoint told it last.')
  const headTime = gauge('candlepool_chain_head_timestamp_seconds', 'Time of the newest block of the chain.')
  const final = gauge('candlepool_chain_final_block', 'Newest block that the chain calls final.')
  const seen = gauge(
    'candlepool_chain_seen_timestamp_seconds',
    'When an endpoint last told the head of the chain; before that, when the listener began.',
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
