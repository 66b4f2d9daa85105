/** The facts that the API stage reports. */
import type { PlanName } from './plan.ts'

export type ApiFact =
  | {
      kind: 'request-answered'
      requestId: string
      method: string
      /** Without the query string. */
      path: string
      /** The mounted path; undefined where no route matched. */
      route: string | undefined
      status: number
      milliseconds: number
    }
  | { kind: 'request-failed'; requestId: string; path: string; error: unknown }
  /** The plan is all that is reported of the key. */
  | { kind: 'credits-charged'; plan: PlanName; credits: number }
  /** `isHeld`: answered from the cache alone; `bytes`: size of the cache. */
  | { kind: 'cache-read'; isHeld: boolean; bytes: number }
  | { kind: 'usage-stored'; rows: number }
  | { kind: 'usage-not-stored'; rows: number; error: unknown }
  | { kind: 'unknown-plan'; account: string; plan: string }
  | { kind: 'server-listening'; host: string; port: number }
  | { kind: 'server-closed' }
