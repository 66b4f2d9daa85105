/** What ingest reports: facts for log lines and metrics, never sentences. */
import type { BlockRef } from './message.ts'
import type { NetworkName } from './network.ts'
import type { PoolId } from './pool.ts'

export type SkipReason = 'other-factory' | 'unknown-pool' | 'no-decimals'

export type IngestFact = { network: NetworkName } & (
  | { kind: 'resumed'; at: BlockRef | undefined; firstBlock: number }
  | { kind: 'range-appended'; from: number; to: number; ticks: number }
  | { kind: 'block-appended'; number: number; ticks: number; timestamp: number }
  | { kind: 'reorg'; ancestor: number; depth: number }
  | { kind: 'range-split'; from: number; to: number; reason: string }
  | { kind: 'rpc-failed'; error: unknown; retryMs: number }
  | { kind: 'log-broken'; block: number; logIndex: number; reason: string }
  | { kind: 'pool-skipped'; pool: PoolId; reason: SkipReason }
  | { kind: 'balances-unread'; pools: number; error: unknown }
  | { kind: 'republishing'; stored: number | undefined; appended: number }
)
