/** Why there is no answer, as far as the page acts on it. */

export type RefusalKind =
  /** The key is missing or not known. */
  | 'key'
  /** Too many bad keys came from here. */
  | 'failures'
  | 'minute-credits'
  | 'month-credits'
  /** The service or its store does not answer. */
  | 'away'
  /** What was asked makes no sense to the service, or does not exist. */
  | 'question'

export class Refusal extends Error {
  readonly kind: RefusalKind
  /** When to ask again. */
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
  store_unavailable: 'away',
  overloaded: 'away',
  internal: 'away',
}

/** `code` and `message` are those of the problem, where the answer was one; a proxy between us may answer for the service. */
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
