/** All facts that a process may report: facts of its stages, and its own. */

import type { AggregatorFact } from '../../aggregator/ledger/fact.ts'
import type { ApiFact } from '../../api/lib/fact.ts'
import type { IngestFact } from '../../ingest/model/fact.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { EngineFact } from '../clickhouse/engine/engine.ts'
import type { StoreFact } from '../clickhouse/store.ts'
import type { DevnetFact } from '../devnet/begin.ts'
import type { LogFact } from '../kafka/client/facts.ts'

export type StageName = 'listener' | 'aggregator' | 'api'

export type ProcessFact =
  | { kind: 'public-endpoint'; network: NetworkName; hosts: readonly string[]; advice: string }
  /** Several addresses of one kind are on a host that is not this machine. */
  | { kind: 'shared-host'; network: NetworkName; host: string }
  | { kind: 'earlier-start'; network: NetworkName; wanted: number; stored: number; command: string }
  | { kind: 'another-devnet'; folder: string; replaces: string }
  | { kind: 'unknown-variable'; name: string; meant: string }
  | { kind: 'tables-ready' }
  | { kind: 'first-data'; networks: readonly NetworkName[] }
  | { kind: 'stage-started'; stage: StageName; network: NetworkName }
  | { kind: 'stage-restarted'; stage: StageName; network: NetworkName; error: unknown }
  /** Needs an operator; the other stages of the process continue. */
  | { kind: 'stage-halted'; stage: StageName; network: NetworkName; error: unknown }
  | { kind: 'stage-resumed'; stage: StageName; network: NetworkName }
  | { kind: 'job-started'; network: NetworkName; job: number; from: number; to: number }
  | { kind: 'job-done'; network: NetworkName; job: number }
  | { kind: 'job-stopped'; network: NetworkName; job: number }
  | { kind: 'job-failed'; network: NetworkName; job: number; error: unknown }
  | { kind: 'job-refused'; network: NetworkName; job: number; error: unknown }
  | { kind: 'names-waiting'; network: NetworkName; error: unknown; retryMs: number }
  | { kind: 'merges-waiting'; error: unknown; retryMs: number }
  | { kind: 'api-process-listening'; process: number }
  | { kind: 'api-process-ended'; process: number; reason: string }
  | { kind: 'admin-listening'; host: string; port: number }
  | { kind: 'sql-listening'; host: string; port: number }
  | { kind: 'sql-unrestricted' }
  | { kind: 'stopping'; reason: string }

export type ApiKeyFact = { kind: 'bootstrap-key-revoked'; account: string }

export type Fact =
  | AggregatorFact
  | ApiFact
  | ApiKeyFact
  | DevnetFact
  | EngineFact
  | IngestFact
  | LogFact
  | ProcessFact
  | StoreFact

/** Handlers of some kinds of facts. */
export type FactHandlers = { readonly [Kind in Fact['kind']]?: (fact: Extract<Fact, { kind: Kind }>) => void }

export function handle(handlers: FactHandlers, fact: Fact): void {
  // The compiler does not see that both are of one kind.
  const handler = handlers[fact.kind] as ((fact: Fact) => void) | undefined
  handler?.(fact)
}
