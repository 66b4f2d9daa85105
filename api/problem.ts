/** What a user is told when there is no answer: RFC 9457 problems with our codes. */

/** Every code, with its status and title. */
export const PROBLEMS = {
  bad_request: { status: 400, title: 'Bad request' },
  invalid_parameters: { status: 400, title: 'Invalid parameters' },
  unauthorized: { status: 401, title: 'Unauthorized' },
  not_found: { status: 404, title: 'Not found' },
  unknown_pool: { status: 404, title: 'Unknown pool' },
  unknown_symbol: { status: 404, title: 'Unknown symbol' },
  no_pool: { status: 404, title: 'No pool' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  uri_too_long: { status: 414, title: 'URI too long' },
  too_many_failures: { status: 429, title: 'Too many failures' },
  minute_credits_exceeded: { status: 429, title: 'Minute credits exceeded' },
  month_credits_exceeded: { status: 429, title: 'Month credits exceeded' },
  headers_too_large: { status: 431, title: 'Request header fields too large' },
  internal: { status: 500, title: 'Internal error' },
  store_unavailable: { status: 503, title: 'Store unavailable' },
  overloaded: { status: 503, title: 'Overloaded' },
} as const
export type ProblemCode = keyof typeof PROBLEMS

export type FieldError = { field: string; message: string }

/** An answer that is an error. Its message is for the user; what is ours stays in `cause`. */
export class Problem extends Error {
  readonly code: ProblemCode
  readonly headers: Readonly<Record<string, string>>
  readonly errors: readonly FieldError[] | undefined

  constructor(
    code: ProblemCode,
    message: string,
    more: { headers?: Record<string, string>; errors?: readonly FieldError[]; cause?: unknown } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause })
    this.name = 'Problem'
    this.code = code
    this.headers = more.headers ?? {}
    this.errors = more.errors
  }
}

export type ProblemBody = {
  type: string
  title: string
  status: number
  detail: string
  code: ProblemCode
  message: string
  request_id: string
  errors?: readonly FieldError[]
}

export function problemBody(problem: Problem, requestId: string): ProblemBody {
  const { status, title } = PROBLEMS[problem.code]
  return {
    type: `/v0/docs/errors#${problem.code}`,
    title,
    status,
    detail: problem.message,
    code: problem.code,
    message: problem.message,
    request_id: requestId,
    ...(problem.errors === undefined ? {} : { errors: problem.errors }),
  }
}
