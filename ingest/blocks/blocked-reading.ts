/** Reports that nothing can be read, with the lack of the endpoint and a remedy: at most once a minute. */
import type { IngestFact } from '../model/fact.ts'
import type { NetworkName } from '../model/network.ts'
import type { Report } from '../model/report.ts'
import type { RpcProblemKind } from '../model/rpc-problem.ts'
import { RpcFailed } from '../rpc/rpc-error.ts'

const EVERY_MS = 60_000
/** A retry may succeed, unless the endpoint says that it cannot do it. */
const PATIENCE_MS = 30_000
const FINAL_ANSWERS: readonly RpcProblemKind[] = ['pruned', 'unsupported', 'too-many-values', 'refused']

export class BlockedReading {
  readonly #network: NetworkName
  readonly #report: Report<IngestFact>
  #sinceMs: number | undefined
  #reportedMs = Number.NEGATIVE_INFINITY

  constructor(network: NetworkName, report: Report<IngestFact>) {
    this.#network = network
    this.#report = report
  }

  /** Something was read. */
  progressed(): void {
    this.#sinceMs = undefined
  }

  /** Nothing was read from block `from` on. */
  failed(error: unknown, from: number): void {
    if (!(error instanceof RpcFailed)) return
    const now = performance.now()
    this.#sinceMs ??= now
    const { problem } = error
    const isSure = FINAL_ANSWERS.includes(problem.kind) || now - this.#sinceMs >= PATIENCE_MS
    if (!isSure || now - this.#reportedMs < EVERY_MS) return
    this.#reportedMs = now
    const advice = adviceOn(error, from, `${this.#network.toUpperCase()}_RPC_URL`)
    this.#report({ kind: 'reading-blocked', network: this.#network, from, problem: problem.kind, advice, error })
  }
}

/** One sentence: the lack of the endpoint, and a remedy. */
export function adviceOn({ endpoint, problem }: RpcFailed, from: number, variable: string): string {
  const another = `name another endpoint in ${variable}`
  switch (problem.kind) {
    case 'pruned':
      return `${endpoint} does not have block ${from} and its logs any more: name an endpoint with older blocks in ${variable}.`
    case 'unsupported':
      return `${endpoint} lacks a method or a tag that reading needs: ${another}.`
    case 'refused':
      return `${endpoint} refuses to answer from block ${from} on: check its key and its plan, or ${another}.`
    case 'too-many-values':
      return `${endpoint} takes no filter, however few addresses it has: ${another}.`
    case 'rate-limited':
      return `${endpoint} limits requests more than reading needs: raise its plan, or ${another}.`
    case 'behind':
      return `${endpoint} does not have block ${from} yet: wait until it has caught up, or ${another}.`
    case 'timeout':
    case 'unreachable':
      return `${endpoint} does not answer requests from block ${from} on: check its address, or ${another}.`
    case 'too-many-results':
    case 'range-capped':
      return `${endpoint} does not answer the logs of block ${from}, not even by pieces of the filter: ${another}.`
    case 'malformed':
    case 'contradictory':
    case 'reverted':
      return `${endpoint} answers from block ${from} on what cannot be true: ${another}.`
  }
}
