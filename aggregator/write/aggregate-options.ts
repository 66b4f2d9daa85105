/** Options of one network's aggregator. */

import type { ClickHouseClient } from '@clickhouse/client'
import type { RangeOverwrite } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { Report } from '../../ingest/model/report.ts'
import type { TickLog } from '../../ingest/model/tick-log.ts'
import type { HasOpenJobs } from '../jobs/job.ts'
import type { Disk } from '../ledger/checkpoint.ts'
import type { AggregatorFact } from '../ledger/fact.ts'
import type { OpenObserver } from '../ledger/observer.ts'
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
  /** Called at each write, in this order. */
  observers?: readonly OpenObserver[]
  report: Report<AggregatorFact>
  signal: AbortSignal
}
