/** The port through which a backfill reads history. Its first adapter asks endpoints; another one reads what was exported from a node. */
import { type RangesOptions, readRanges } from '../blocks/range-scheduler.ts'
import type { Endpoints } from '../rpc/endpoints/endpoints.ts'
import type { LogRange } from '../rpc/logs/log-range.ts'
import { takeSample } from './estimate.ts'

export type HistorySource = {
  /**
   * All blocks from `from` to `to` as ranges without a gap, in order, with the logs that match the filter. `endpoints` have the chain's final
   * block: they are asked for what the source cannot know. Throws `SourceRefused` where the source cannot be used; other errors are retried.
   */
  read(endpoints: Endpoints, options: RangesOptions): AsyncIterable<LogRange>
  /** For the estimate; absent where the source needs few requests. */
  sample?: typeof takeSample
}

/** Logs and headers of endpoints. */
export const rpcSource: HistorySource = { read: readRanges, sample: takeSample }
