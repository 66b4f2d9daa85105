/** Facts that ingest reports for log lines and metrics. */
import type { Address, Hash } from 'viem'
import type { BlockRef, UnixSeconds } from './message.ts'
import type { NetworkName } from './network.ts'
import type { PoolId } from './pool.ts'
import type { RpcProblemKind } from './rpc-problem.ts'

/** A way in which an endpoint differs from others. */
export type Oddity = 'duplicate-logs' | 'few-values' | 'unknown-header-field' | 'no-logs-by-hash' | 'no-old-logs'

export type SkipReason = 'other-factory' | 'unknown-pool' | 'no-decimals'

export type IngestFact = { network: NetworkName } & (
  | { kind: 'resumed'; at: BlockRef | undefined; firstBlock: number }
  /** The chain as one node has it. */
  | { kind: 'head-seen'; number: number; timestamp: UnixSeconds; finalized: number }
  | { kind: 'range-appended'; from: number; to: number; ticks: number; timestamp: UnixSeconds }
  | { kind: 'block-appended'; number: number; ticks: number; timestamp: UnixSeconds }
  | { kind: 'reorg'; ancestor: number; depth: number }
  | { kind: 'range-split'; from: number; to: number; reason: string }
  /** One request to a node, successful or not. */
  | { kind: 'rpc-called'; endpoint: string; method: string; ms: number }
  /** One unit of work that an endpoint failed to do. Operators see the facts below. */
  | { kind: 'rpc-erred'; endpoint: string; problem: RpcProblemKind }
  /**
   * `endpoint` is a host; both are absent where the failure is not one endpoint's. `method` and `blocks` name the request, where one failed
   * and not the use of an answer.
   */
  | {
      kind: 'rpc-failed'
      endpoint?: string
      problem?: RpcProblemKind
      method?: string
      blocks?: string
      error: unknown
      retryMs: number
    }
  /** Its chain id differs; it is not used again. */
  | { kind: 'endpoint-disabled'; endpoint: string; chainId: number; expected: number }
  | { kind: 'endpoint-cooling'; endpoint: string; problem: RpcProblemKind; ms: number; failures: number }
  /** It answers again after failures. */
  | { kind: 'endpoint-recovered'; endpoint: string; failures: number }
  /** It has answered its head later than another endpoint by a block time, again and again; `ms` is the median. */
  | { kind: 'endpoint-late'; endpoint: string; ms: number }
  | { kind: 'endpoint-behind'; endpoint: string; head: number | undefined; best: number | undefined }
  /** Voices have different blocks at the height of a block that one of them reports as final; `agreed` is the block that most of three or more have. At most once a minute. */
  | {
      kind: 'endpoints-disagree'
      block: number
      voices: readonly { endpoint: string; hash: Hash }[]
      agreed: Hash | undefined
    }
  /** It differs from other endpoints in a way that reading allows for; once for each oddity. */
  | { kind: 'endpoint-oddity'; endpoint: string; oddity: Oddity; detail: string }
  /** Nothing can be read from block `from` on; at most once a minute. `advice` says what the endpoint lacks, and what to do. */
  | { kind: 'reading-blocked'; from: number; problem: RpcProblemKind; advice: string; error: unknown }
  /** No endpoint has the block at which an empty store is to begin. */
  | { kind: 'start-moved'; wanted: number | undefined; firstBlock: number }
  | { kind: 'log-broken'; block: number; logIndex: number; reason: string }
  | { kind: 'pool-skipped'; pool: PoolId; reason: SkipReason }
  /** A contract has changed its name: two readings of final blocks agree. */
  | { kind: 'token-renamed'; token: Address; from: string; to: string; block: number }
  /** A contract answers other decimals than the stored prices were computed with: its answers are not used. Reported once for each token. */
  | { kind: 'decimals-changed'; token: Address; symbol: string; decimals: number; answered: number }
  | { kind: 'balances-unread'; pools: number; error: unknown }
  | { kind: 'backfill-waiting'; from: number; error: unknown; retryMs: number }
  /** Its receipts contain logs that `eth_getLogs` omitted. */
  | { kind: 'endpoint-omitted-logs'; endpoint: string; logs: number }
  /** The endpoint's logs differ from the ones that a receipts' root proves. */
  | { kind: 'endpoint-altered-logs'; endpoint: string; logs: number }
  /** Requests of a UTC day; `used` includes some that are claimed and not sent yet. */
  | { kind: 'budget-counted'; used: number; perDay: number }
  /** Backfills and audits have used their share; the rest is left to live following. */
  | { kind: 'budget-reserved'; used: number; perDay: number }
  | { kind: 'budget-reached'; used: number; perDay: number }
  | { kind: 'republishing'; stored: number | undefined; appended: number }
)
