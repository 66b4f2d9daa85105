/** A stage that starts again from the stored tip after a retryable failure. */
import { pause } from '../../../ingest/lib/wait.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { StageName } from '../../telemetry/fact.ts'
import type { Run } from '../run.ts'

const RESTART_MS = 1_000

/** Repeats `task` until it ends or the signal aborts. Throws every error that is not `retryable`. */
export async function restarting(
  stage: StageName,
  network: NetworkName,
  { report, signal }: Pick<Run, 'report' | 'signal'>,
  task: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await task()
    } catch (error) {
      if (signal.aborted) return
      if (!isRetryable(error)) throw error
      report({ kind: 'stage-restarted', stage, network, error })
      await pause(RESTART_MS, signal)
    }
  }
}

function isRetryable(error: unknown): boolean {
  return error instanceof Error && 'retryable' in error && error.retryable === true
}
