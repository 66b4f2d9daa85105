/** Options of publishing a network. */
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { Report } from '../../../ingest/model/report.ts'
import type { CandleVersions } from '../../candles/writer-epoch.ts'
import type { AggregatorFact } from '../../ledger/fact.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { PublishedKind, PublishFinality, PublishSink } from './publication.ts'

export type PublishOptions = {
  sink: PublishSink
  /** Candles are neither read nor sent where they are not in it; the sink leaves out the others. */
  kinds: ReadonlySet<PublishedKind>
  finality: PublishFinality
}

export type PublisherOptions = PublishOptions & {
  network: NetworkName
  ledger: Pick<Ledger, 'tip' | 'finalized' | 'at'>
  versions: CandleVersions
  report: Report<AggregatorFact>
  signal: AbortSignal
}
