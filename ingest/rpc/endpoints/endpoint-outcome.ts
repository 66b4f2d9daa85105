/** Records how a unit of work ended at an endpoint: its circuit breaker, its limits, and the facts that operators see. */
import type { IngestFact } from '../../model/fact.ts'
import type { RpcProblem } from '../../model/rpc-problem.ts'
import { RpcFailed } from '../rpc-error.ts'
import type { Endpoint } from './endpoint.ts'
import type { RunOptions } from './endpoint-choice.ts'

/** A fact without its network. */
export type EndpointFact = IngestFact extends infer F ? (F extends IngestFact ? Omit<F, 'network'> : never) : never

export type ReportEndpoint = (fact: EndpointFact) => void

/** Any answer closes the circuit breaker. */
export function recordAnswer(report: ReportEndpoint, endpoint: Endpoint, epoch: number): void {
  const failures = endpoint.breaker.succeeded(epoch)
  if (failures > 0) report({ kind: 'endpoint-recovered', endpoint: endpoint.name, failures })
}

/** Longest pause after a failed range: an endpoint may fail at wide ranges alone. */
const MAX_RANGE_PAUSE_MS = 2_000

/** `isAlone`: there is no other endpoint. */
export type Failure = { epoch: number; error: unknown; problem: RpcProblem; run: RunOptions; isAlone: boolean }

/** Records a failure. True where a repeated request to this endpoint cannot help. */
export function recordFailure(report: ReportEndpoint, endpoint: Endpoint, failure: Failure): boolean {
  const { name } = endpoint
  const { epoch, error, problem, run, isAlone } = failure
  report({ kind: 'rpc-erred', endpoint: name, problem: problem.kind })
  const asked = error instanceof RpcFailed ? error.asked : undefined
  const fact = { kind: 'rpc-failed', endpoint: name, problem: problem.kind, ...asked, error } as const
  const isFault = error instanceof RpcFailed && error.isFault
  const isRange = (run.blocks ?? 1) > 1
  switch (problem.kind) {
    case 'too-many-results':
      // Fewer blocks can be asked for, or this is no answer to them.
      if (isRange || !isFault) recordAnswer(report, endpoint, epoch)
      else rest()
      return true
    case 'range-capped':
      recordAnswer(report, endpoint, epoch)
      endpoint.limits.capRange(problem.maxBlocks, run.blocks ?? Number.POSITIVE_INFINITY)
      return true
    case 'behind':
      recordAnswer(report, endpoint, epoch)
      if (endpoint.setBehind(true)) report(isAlone ? { ...fact, retryMs: 0 } : behindFact(endpoint, run.atLeast))
      return true
    case 'pruned':
      recordAnswer(report, endpoint, epoch)
      if (run.oldest !== undefined) endpoint.limits.noteLack(run.oldest)
      return true
    case 'unsupported':
    case 'too-many-values':
      recordAnswer(report, endpoint, epoch)
      report({ ...fact, retryMs: 0 })
      return true
    case 'rate-limited':
      recordAnswer(report, endpoint, epoch)
      report({ ...fact, retryMs: endpoint.limiter.waitMs() })
      return false
    default:
      rest()
      return false
  }

  function rest(): void {
    const ms = endpoint.breaker.failed(epoch, { isFault, ...(isRange && { mostMs: MAX_RANGE_PAUSE_MS }) })
    if (ms === undefined) return
    report({ ...fact, retryMs: ms })
    const { failures } = endpoint.breaker
    report({ kind: 'endpoint-cooling', endpoint: name, problem: problem.kind, ms, failures })
  }
}

/** Its chain replaced a final block and another endpoint's did not: it comes last for a while, and the fact is reported once in that time. */
export function recordFork(report: ReportEndpoint, endpoint: Endpoint, error: Error): RpcFailed {
  const problem = 'contradictory'
  const failure = new RpcFailed(endpoint.name, { kind: problem }, error)
  if (endpoint.setBehind(true))
    report({ kind: 'rpc-failed', endpoint: endpoint.name, problem, retryMs: 0, error: failure })
  return failure
}

export function behindFact({ name, head }: Endpoint, best: number | undefined): EndpointFact {
  return { kind: 'endpoint-behind', endpoint: name, head, best }
}
