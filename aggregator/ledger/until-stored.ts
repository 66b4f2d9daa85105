/** Retries while ClickHouse is down, slow, full or read-only. */

import { retried } from '../../ingest/lib/wait.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { Report } from '../../ingest/model/report.ts'
import type { AggregatorFact } from './fact.ts'

const FIRST_RETRY_MS = 250
const MAX_RETRY_MS = 10_000

export type StoreRetryOptions = { network: NetworkName; report: Report<AggregatorFact>; signal: AbortSignal }

/** Retries until the tables answer: no message that was read is given up. Throws when the signal aborts, and errors with `retryable`. */
export function untilStored<T>({ network, report, signal }: StoreRetryOptions, task: () => Promise<T>): Promise<T> {
  return retried(task, {
    firstMs: FIRST_RETRY_MS,
    maxMs: MAX_RETRY_MS,
    signal,
    failed(error, retryMs) {
      if (isOfTheLog(error)) throw error
      report({ kind: 'store-failed', network, error, retryMs })
    },
  })
}

/** Errors of the log carry `retryable`; those of ClickHouse do not. */
function isOfTheLog(error: unknown): boolean {
  return error instanceof Error && 'retryable' in error
}
