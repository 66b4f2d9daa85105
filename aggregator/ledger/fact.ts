/** Facts that the aggregator reports. */

import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { LedgerBlock } from './stored-blocks.ts'

/** Logs, but for blocks that `mismatched`, that were `repriced`, or that are `undecided`. */
export type AuditCounts = Record<'logs' | 'mismatched' | 'omitted' | 'invented' | 'repriced' | 'undecided', number>

export type AggregatorFact = { network: NetworkName } & (
  | { kind: 'aggregator-started'; tip: LedgerBlock | undefined; epoch: bigint; generation: number; offset: number }
  /** The tables were empty, and the log no longer has the blocks before this one: the command reads them. */
  | { kind: 'begins-late'; first: number; command: string }
  | { kind: 'flushed'; from: number; to: number; blocks: number; ticks: number; tipTimestamp: UnixSeconds; ms: number }
  | { kind: 'restated'; job: number; from: number; to: number; ticks: number; ms: number }
  /** Some blocks are as the chain has them; `job` is 0 where the listener stored them. */
  | { kind: 'audit-waiting'; network: NetworkName; error: unknown; retryMs: number }
  | ({ kind: 'audited' | 'audit-found'; job: number; from: number; to: number } & AuditCounts)
  | { kind: 'rebuilt'; job: number; ms: number }
  | { kind: 'rebuild-failed'; job: number; error: unknown }
  /** A slice of the permanent verification: everything of its phase before `until` is verified in this pass. `ms` is spent in statements. */
  | { kind: 'verified'; phase: string; until: UnixSeconds; rows: number; mismatches: number; ms: number }
  /** The stored value and the value computed from the ticks, as text; the command repairs it. */
  | {
      kind: 'verify-mismatch'
      what: 'candle' | 'block' | 'coverage'
      where: string
      stored: string
      counted: string
      command: string
    }
  /** Everything that is stored and final was verified. */
  | { kind: 'verify-passed'; passes: number; mismatches: number; since: UnixSeconds; until: UnixSeconds }
  | { kind: 'verify-failed'; error: unknown; retryMs: number }
  | { kind: 'rolled-back'; to: number; depth: number; pools: number }
  /** Blocks were taken back because an operator asked for it. */
  | { kind: 'rewound'; job: number; to: number; depth: number; pools: number; ms: number }
  | { kind: 'rewind-failed'; job: number; error: unknown }
  /** The tables can't hold it: it was passed over. */
  | { kind: 'message-rejected'; offset: number; reason: string }
  | { kind: 'stalled'; number: number; tip: number }
  | { kind: 'connected'; number: number }
  /** Blocks up to `number` are in the public topics. */
  | { kind: 'published'; number: number; ticks: number; candles: number; ms: number }
  | { kind: 'publish-failed'; error: unknown; retryMs: number }
  | { kind: 'store-failed'; error: unknown; retryMs: number }
)
