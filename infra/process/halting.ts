/** Halting: a stage that can't go on stands still alone, says so to every process, and looks again now and then. */
import { clearHalt, type HaltedStage, recordHalt } from '../../aggregator/ledger/halts.ts'
import { storedChain } from '../../aggregator/ledger/stored-blocks.ts'
import { pause } from '../../ingest/lib/wait.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { Report } from '../../ingest/model/report.ts'
import type { Store } from '../clickhouse/store.ts'
import { createRedactor } from '../config/secrets.ts'
import { describeError } from '../telemetry/describe-error.ts'
import type { Fact } from '../telemetry/fact.ts'
import type { Run } from './run.ts'

/** A halted stage looks again so often: an endpoint may have been mended, or a right given. */
const RETRY_MS = 60_000
/** At once where the stored tip moves, as a rewind does. */
const POLL_MS = 1_000

/** What a stage reports once it works. */
const WORKING_FACTS: Record<HaltedStage, Fact['kind']> = { listener: 'head-seen', aggregator: 'aggregator-started' }

/**
 * Runs `task` until the signal aborts. Where it fails, this stage of this network halts: the others of the process go on. Each attempt
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
  /** What was said of the halt; empty where a process before this one may have noted one. */
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
  const again = Date.now() + RETRY_MS
  while (!signal.aborted && Date.now() < again) {
    await pause(POLL_MS, signal)
    const now = await tip()
    if (now !== undefined && now !== before) return
  }
}
