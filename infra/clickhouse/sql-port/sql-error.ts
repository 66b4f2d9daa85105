/** Errors of SQL_PORT, in the form of ClickHouse's own, so that a driver reads them as such. */
import type { Breach } from './sql-rules.ts'

export class SqlPortError extends Error {
  override readonly name = 'SqlPortError'
  readonly status: number
  readonly code: number

  /** `code`: ClickHouse's; `message`: the whole text of the answer. */
  constructor(status: number, code: number, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

/** The error names the rule: infra/docs/sql.md has the rules and their lists. */
export function sqlPortErrorOf({ rule, reason }: Breach, status = 403): SqlPortError {
  return new SqlPortError(status, 497, `Code: 497. DB::Exception: SQL_PORT, rule ${rule}: ${reason} (ACCESS_DENIED)`)
}

export const UNAUTHENTICATED = new SqlPortError(
  401,
  516,
  'Code: 516. DB::Exception: Authentication failed: the password of analyst is incorrect. (AUTHENTICATION_FAILED)',
)

export const UNANSWERED = new SqlPortError(
  503,
  210,
  'Code: 210. DB::Exception: ClickHouse does not answer. (NETWORK_ERROR)',
)

export const TOO_MANY = new SqlPortError(
  503,
  202,
  'Code: 202. DB::Exception: Too many statements wait at SQL_PORT: send fewer at once. (TOO_MANY_SIMULTANEOUS_QUERIES)',
)
