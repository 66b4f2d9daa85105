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
  /** `isCached`: answered from the cache alone; `bytes`: size of the cache. */
  | { kind: 'cache-read'; isCached: boolean; bytes: number }
  /** A stream was opened (1) or closed (-1). */
  | { kind: 'streams-open'; change: 1 | -1 }
  /** The events of a stream could not be read; its next refresh reads them again. */
  | { kind: 'stream-failed'; error: unknown }
  | { kind: 'usage-stored'; rows: number }
  | { kind: 'usage-not-stored'; rows: number; error: unknown }
  | { kind: 'unknown-plan'; account: string; plan: string }
  | { kind: 'server-listening'; host: string; port: number }
  | { kind: 'server-closed' }
