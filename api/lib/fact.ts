/** What the API stage has to say to whoever runs it. */
import type { PlanName } from './plan.ts'

export type ApiFact =
  | {
      kind: 'request-answered'
      requestId: string
      method: string
      /** Without the query, which may hold anything. */
      path: string
      /** As it is mounted; absent where none was reached. */
      route: string | undefined
      status: number
      milliseconds: number
    }
  | { kind: 'request-failed'; requestId: string; path: string; error: unknown }
  /** Of the key nothing but its plan. */
  | { kind: 'credits-charged'; plan: PlanName; credits: number }
  /** Whether candles were answered without the store; `bytes` are held in memory. */
  | { kind: 'cache-read'; isHeld: boolean; bytes: number }
  | { kind: 'usage-stored'; rows: number }
  | { kind: 'usage-not-stored'; rows: number; error: unknown }
  | { kind: 'unknown-plan'; account: string; plan: string }
  | { kind: 'server-listening'; host: string; port: number }
  | { kind: 'server-closed' }
