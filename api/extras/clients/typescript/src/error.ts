/** The errors of the service, as it describes them. */
import type { components } from './schema.ts'

type ProblemDocument = components['schemas']['Problem']
export type CandlepoolErrorCode = ProblemDocument['code'] | 'no_answer'

/** `code` says what happened; `errors` names each bad parameter with its rule. The key is in none of its members. */
export class CandlepoolError extends Error {
  override readonly name = 'CandlepoolError'
  readonly code: CandlepoolErrorCode
  /** The status of HTTP; 0 where there was no answer. */
  readonly status: number
  readonly requestId: string | undefined
  readonly errors: readonly { field: string; message: string }[]
  /** How long the service asks to wait. */
  readonly retryAfterSeconds: number | undefined

  constructor(
    problem: Partial<ProblemDocument>,
    more: { status: number; retryAfter?: string | null; cause?: unknown } = { status: 0 },
  ) {
    super(problem.message ?? `The service answered with status ${more.status}.`, { cause: more.cause })
    this.code = problem.code ?? 'no_answer'
    this.status = more.status
    this.requestId = problem.request_id
    this.errors = problem.errors ?? []
    const seconds = Number(more.retryAfter ?? Number.NaN)
    this.retryAfterSeconds = Number.isFinite(seconds) ? seconds : undefined
  }

  /** True where the same request may succeed later. */
  get isTemporary(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500
  }
}
