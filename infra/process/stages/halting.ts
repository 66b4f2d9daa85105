/** Halting: a stage that fails for good stops alone, records the reason in the tables, and is retried once a minute. */
import { clearHalt, type HaltedStage, recordHalt } from '../../../aggregator/ledger/halts.ts'
import { storedChain } from '../../../aggregator/ledger/stored-blocks.ts'
import { pause } from '../../../ingest/lib/wait.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { Report } from '../../../ingest/model/report.ts'
import type { Store } from '../../clickhouse/store.ts'
import { createRedactor } from '../../config/secrets.ts'
import { describeError } from '../../telemetry/describe-error.ts'
import type { Fact } from '../../telemetry/fact.ts'
import type { Run } from '../run.ts'

/** A halted stage is retried so often: an endpoint or a right may have been fixed. */
const RETRY_MS = 60_000
/** At once where the stored tip moves, as a rewind does. */
const POLL_MS = 1_000

/** The fact that shows that a stage works. */
const WORKING_FACTS: Record<HaltedStage, Fact['kind']> = { listener: 'head-seen', aggregator: 'aggregator-started' }

/**
 * Runs `task` until the signal aborts. Where it fails, this stage of this network halts, and all others continue. Each attempt
 * has a signal of its own, which ends all that the one before has begun.
 */
export async function runHaltable(
  stage: HaltedStage,
  network: NetworkName,
  store: Store,
  run: Run,
  task: (run: Run) => Promise<void>,
): Promise<void> {
  const { report, signal } = run
  const hide = createRedactor(run.config)
  /** The reported reason; empty where an earlier process may have recorded a halt; undefined while the stage works. */
  let halted: string | undefined = ''

  const watched: Report<Fact> = (fact) => {
    report(fact)
    if (fact.kind !== WORKING_FACTS[stage] || !('network' in fact) || fact.network !== network || halted === undefined)
      return
    if (halted !== '') report({ kind: 'stage-resumed', stage, network })
    halted = undefined
    // Where the tables do not answer, the next fact tries again.
    clearHalt(store.owner, { network, stage }).catch(() => {
      halted ??= ''
    })
  }

  report({ kind: 'stage-started', stage, network })
  while (!signal.aborted) {
    const attempt = new AbortController()
    try {
      return await task({ ...run, report: watched, signal: AbortSignal.any([signal, attempt.signal]) })
    } catch (error) {
      if (signal.aborted) return
      const reason = hide(describeError(error))
      if (halted !== reason) report({ kind: 'stage-halted', stage, network, error })
      halted = reason
      await recordHalt(store.owner, { network, stage, reason }).catch(() => undefined)
    } finally {
      attempt.abort()
    }
    await untilRetry(network, store, signal)
  }
}

async function untilRetry(network: NetworkName, store: Store, signal: AbortSignal): Promise<void> {
  const stored = storedChain(store.owner, network)
  const tip = () =>
    stored.tip().then(
      (found) => found?.hash,
      () => undefined,
    )
  const before = await tip()
  const again = performance.now() + RETRY_MS
  while (!signal.aborted && performance.now() < again) {
    await pause(POLL_MS, signal)
    const now = await tip()
    if (now !== undefined && now !== before) return
  }
}
