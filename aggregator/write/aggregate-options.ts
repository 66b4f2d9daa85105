/** Options of one network's aggregator. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { RangeOverwrite } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { Report } from '../../ingest/model/report.ts'
import type { TickLog } from '../../ingest/model/tick-log.ts'
import type { WriteEvent } from '../candles/changes.ts'
import type { PublishOptions } from '../extras/publish/publish-options.ts'
import type { HasOpenJobs } from '../jobs/open-jobs.ts'
import type { Disk } from '../ledger/checkpoint.ts'
import type { AggregatorFact } from '../ledger/fact.ts'
import type { LogPosition } from '../store/version.ts'

export type AggregateOptions = {
  network: NetworkName
  log: TickLog
  /** Where to resume reading, from `positionInLog` or `positionAfterStored`. */
  position: LogPosition
  /** Final history that jobs have read; taken while the stream has nothing waiting. */
  history?: TickLog<RangeOverwrite> | undefined
  /** One for all networks of this process. */
  hasOpenJobs?: HasOpenJobs | undefined
  /** Where the tables themselves are, if not all of them with the client. */
  shards?: readonly ClickHouseClient[]
  /** Where writes are not synced one by one. */
  disk?: Disk | undefined
  /** Where changes are published, if anywhere. */
  publish?: PublishOptions | undefined
  report: Report<AggregatorFact>
  /** For caches of candles in the same process. */
  onWritten?: (written: WriteEvent) => void
  signal: AbortSignal
}
