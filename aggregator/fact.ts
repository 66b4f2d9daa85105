/** What the aggregator reports. */
import type { BlockRef } from '../ingest/message.ts'
import type { NetworkName } from '../ingest/network.ts'

export type AggregatorFact = { network: NetworkName } & (
  | { kind: 'aggregator-started'; tip: BlockRef | undefined; epoch: bigint; generation: number; offset: number }
  | { kind: 'flushed'; from: number; to: number; blocks: number; ticks: number; tipTimestamp: number; ms: number }
  | { kind: 'restated'; job: number; from: number; to: number; ticks: number; ms: number }
  | { kind: 'rolled-back'; to: number; depth: number; pools: number }
  | { kind: 'stalled'; number: number; tip: number }
  | { kind: 'connected'; number: number }
  | { kind: 'store-failed'; error: unknown; retryMs: number }
)
