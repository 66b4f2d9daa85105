/** The ClickHouse client of a process that is going to die: at which statement, and how. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import { Died, intercepted } from '../aggregator/statements.ts'
import { type Place, placesOf } from './places.ts'

export const CRASH_KINDS = [
  'before the statement',
  'before the statement, but not before those beside it',
  'its answer lost',
] as const
/** In which those that set out beside a statement arrive. */
const BESIDE_MS = 50

export type CrashKind = (typeof CRASH_KINDS)[number]

/** At the first statement of a place, else after so many others. */
export type CrashPlan = { how: CrashKind; place: Place | undefined; orAfter: number }

export type CrashClient = {
  client: ClickHouseClient
  /** Aborts when the process dies. */
  death: AbortSignal
  /** Tells that charge is taken, and what was left is cleared away. */
  started(): void
  /** Kills it now, if it is mortal. */
  dieAt(place: Place): void
  /** Where it died. */
  diedAt(): Place | undefined
}

/** None of its statements is heard after its death. Without a plan it lives on. */
export function createCrashClient(
  client: ClickHouseClient,
  plan: CrashPlan | undefined,
  onSeen: (place: Place) => void,
): CrashClient {
  const death = new AbortController()
  const places = placesOf()
  let left = plan?.orAfter ?? 0
  let diedAt: Place | undefined

  function dieIfDead(): void {
    if (death.signal.aborted) throw new Died('The process is dead.')
  }

  return {
    death: death.signal,
    started: places.started,
    dieAt(place) {
      if (plan === undefined || death.signal.aborted) return
      diedAt = place
      death.abort()
    },
    diedAt: () => diedAt,
    client: intercepted(client, async (send, _, [options]) => {
      dieIfDead()
      const { query, query_params = {} } = options as { query: string; query_params?: Record<string, unknown> }
      const place = places.of(query, query_params)
      if (place === undefined) return send()
      onSeen(place)
      const isIt = plan !== undefined && (place === plan.place || left-- === 0)
      if (isIt && plan.how === 'before the statement, but not before those beside it') await sleep(BESIDE_MS)
      if (isIt && plan.how !== 'its answer lost') {
        diedAt = place
        death.abort()
      }
      dieIfDead()
      const answer = await send()
      if (isIt) {
        diedAt = place
        death.abort()
      }
      // What comes after the death of another statement that was under way beside this one.
      dieIfDead()
      return answer
    }),
  }
}
