/** Patience with tables that do not answer, or refuse what they are sent: they were down, slow, full or read-only before. */

import { retried } from '../../ingest/lib/wait.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { Report } from '../../ingest/model/report.ts'
import type { AggregatorFact } from './fact.ts'

const FIRST_RETRY_MS = 250
const MAX_RETRY_MS = 10_000

export type StoreRetryOptions = { network: NetworkName; report: Report<AggregatorFact>; signal: AbortSignal }

/** Tries until the tables answer: nothing that was read is given up. Throws when the signal aborts, and what says by itself whether to go on. */
export function untilStored<T>({ network, report, signal }: StoreRetryOptions, task: () => Promise<T>): Promise<T> {
  return retried(task, {
    firstMs: FIRST_RETRY_MS,
    mostMs: MAX_RETRY_MS,
    signal,
    failed(error, retryMs) {
      if (isOfTheLog(error)) throw error
      report({ kind: 'store-failed', network, error, retryMs })
    },
  })
}

/** Errors of the log know whether to begin again; those of the tables don't. */
function isOfTheLog(error: unknown): boolean {
  return error instanceof Error && 'retryable' in error
}
