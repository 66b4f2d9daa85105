/** Options of publishing a network. */
import type { ObserverContext } from '../../ledger/observer.ts'
import type { PublishedKind, PublishFinality, PublishSink } from './publication.ts'

export type PublishOptions = {
  sink: PublishSink
  /** Candles are neither read nor sent where they are not in it; the sink leaves out the others. */
  kinds: ReadonlySet<PublishedKind>
  finality: PublishFinality
}

export type PublisherOptions = PublishOptions & ObserverContext
