/** Failures of requests, as far as the page reacts to them. */

export type RefusalKind =
  /** The key is missing or unknown. */
  | 'key'
  /** Too many invalid keys from this address. */
  | 'failures'
  | 'minute-credits'
  | 'month-credits'
  /** The service or its store does not answer. */
  | 'away'
  /** Nothing is stored yet. */
  | 'empty'
  /** An invalid request, or an unknown pool or pair. */
  | 'question'

export class Refusal extends Error {
  readonly kind: RefusalKind
  /** Time of the next attempt. */
  readonly waitMs: number

  constructor(kind: RefusalKind, message: string, waitMs: number) {
    super(message)
    this.name = 'Refusal'
    this.kind = kind
    this.waitMs = waitMs
  }
}

const USUAL_WAIT_MS = 5_000

const KINDS: Readonly<Record<string, RefusalKind>> = {
  unauthorized: 'key',
  too_many_failures: 'failures',
  minute_credits_exceeded: 'minute-credits',
  month_credits_exceeded: 'month-credits',
  nothing_stored: 'empty',
  store_unavailable: 'away',
  overloaded: 'away',
  internal: 'away',
}

/** `code` and `message` of the problem document, where the answer has one; a proxy may answer instead of the service. */
export function refusalOf(
  status: number,
  code: string | undefined,
  message: string,
  retryAfter: string | null,
): Refusal {
  const seconds = Number(retryAfter ?? '')
  const waitMs = seconds > 0 ? seconds * 1_000 : USUAL_WAIT_MS
  return new Refusal(KINDS[code ?? ''] ?? (status >= 500 ? 'away' : 'question'), message, waitMs)
}

export function unreachable(): Refusal {
  return new Refusal('away', 'The service can not be reached.', USUAL_WAIT_MS)
}
