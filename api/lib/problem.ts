/** Error answers: RFC 9457 problems with a code. */

/** Every code, with its status, its title and its meaning for the client. */
export const PROBLEMS = {
  bad_request: { status: 400, title: 'Bad request', meaning: 'Not a well-formed request.' },
  invalid_parameters: {
    status: 400,
    title: 'Invalid parameters',
    meaning: '`errors` lists every bad parameter with its rule.',
  },
  unauthorized: { status: 401, title: 'Unauthorized', meaning: 'Send one header `X-API-KEY` with a good key.' },
  not_found: { status: 404, title: 'Not found', meaning: 'There is no such path.' },
  unknown_pool: { status: 404, title: 'Unknown pool', meaning: 'The pool is not known on the networks asked.' },
  unknown_symbol: { status: 404, title: 'Unknown symbol', meaning: 'A token of the pair is not known.' },
  no_pool: { status: 404, title: 'No pool', meaning: 'Both tokens are known, but no pool trades them.' },
  no_usd_price: {
    status: 404,
    title: 'No price in dollars',
    meaning: 'Neither token of the pool has a price in dollars.',
  },
  method_not_allowed: { status: 405, title: 'Method not allowed', meaning: 'Only GET and HEAD ask here.' },
  request_timeout: {
    status: 408,
    title: 'Request timeout',
    meaning: 'The request took too long to arrive, and the connection is closed.',
  },
  uri_too_long: { status: 414, title: 'URI too long', meaning: 'The address is too long.' },
  too_many_failures: {
    status: 429,
    title: 'Too many failures',
    meaning: 'Too many requests from this address had no good key. `Retry-After` says how long to wait.',
  },
  minute_credits_exceeded: {
    status: 429,
    title: 'Minute credits exceeded',
    meaning: 'No credits are left in this minute. `Retry-After` says when there are.',
  },
  month_credits_exceeded: {
    status: 429,
    title: 'Month credits exceeded',
    meaning: 'No credits are left in this month. `Retry-After` says when there are.',
  },
  too_many_streams: {
    status: 429,
    title: 'Too many streams',
    meaning: 'The key has as many open streams as its plan allows: close one first.',
  },
  headers_too_large: {
    status: 431,
    title: 'Request header fields too large',
    meaning: 'The header fields are too large.',
  },
  internal: { status: 500, title: 'Internal error', meaning: 'Our fault: tell the operator the `request_id`.' },
  store_unavailable: {
    status: 503,
    title: 'Store unavailable',
    meaning: 'The store does not answer at the moment. Ask again after `Retry-After`.',
  },
  nothing_stored: {
    status: 503,
    title: 'Nothing stored',
    meaning:
      'Nothing is stored yet of the networks asked. Ask again after `Retry-After`; `/v0/health` says how far they are.',
  },
  stream_ended: {
    status: 503,
    title: 'Stream ended',
    meaning:
      'Only the last event of a stream: the server stops, or the reader is too slow. Open it again with `Last-Event-ID`.',
  },
  overloaded: {
    status: 503,
    title: 'Overloaded',
    meaning: 'Too many questions at once. Ask again after `Retry-After`.',
  },
} as const
export type ProblemCode = keyof typeof PROBLEMS

export type FieldError = { field: string; message: string }

/** An error answer. The client gets the message; `cause` is reported to the operator only. */
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
    type: `/v0/docs#${problem.code}`,
    title,
    status,
    detail: problem.message,
    code: problem.code,
    message: problem.message,
    request_id: requestId,
    ...(problem.errors === undefined ? {} : { errors: problem.errors }),
  }
}
