/** The claims of the other API processes, and which of these processes are alive. */
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { Claim } from './claims.ts'
import type { KeyHash } from './keys.ts'

/** A key's minute. */
export type KeyMinute = { hash: KeyHash; minute: UnixSeconds }

/** `at`: the minute; `by`: the process. */
export type ClaimRow = Record<keyof Claim | 'version', number | string> & { hash: KeyHash; at: UnixSeconds; by: string }

export type PeerClaims = {
  /** `now`: when the query of the row began. */
  record(row: ClaimRow, now: number): Claim
  /** By process. The claim of an expired process is what it has used. */
  claimsOn(place: KeyMinute): ReadonlyMap<string, Claim>
  /** Drops expired minutes and processes; called after each read. */
  prune(now: number): void
}

/** Claims of a minute are kept for so long: the minute itself, and as long again. */
export const MEMORY_MS = 130_000
/** Longer than the validity of a claim plus the longest write: a process without rows for so long spends none of its claims. */
const EXPIRE_MS = 8_000
/** The key of a row that only shows that its process runs. */
export const NO_KEY: KeyHash = '0'.repeat(64)

type ReceivedClaim = Claim & { version: number; at: number }

export function openPeerClaims(): PeerClaims {
  /** By key and minute; the last updated ones last. */
  const places = new Map<string, Map<string, ReceivedClaim>>()
  const processes = new Map<string, { version: number; at: number }>()
  let readAt = 0

  function isAlive(id: string): boolean {
    const process = processes.get(id)
    return process !== undefined && readAt - process.at < EXPIRE_MS
  }

  return {
    record({ hash, at: minute, by, ...row }, now) {
      const received = {
        claimed: Number(row.claimed),
        needed: Number(row.needed),
        credits: Number(row.credits),
        calls: Number(row.calls),
        version: Number(row.version),
        at: now,
      }
      if (received.version > (processes.get(by)?.version ?? -1))
        processes.set(by, { version: received.version, at: now })
      if (hash === NO_KEY) return received
      const id = idOf({ hash, minute })
      const known = places.get(id) ?? new Map<string, ReceivedClaim>()
      if (received.version > (known.get(by)?.version ?? -1)) known.set(by, received)
      places.delete(id)
      places.set(id, known)
      return received
    },
    claimsOn(place) {
      const all = places.get(idOf(place))
      if (all === undefined) return NOTHING
      const claims = new Map<string, Claim>()
      for (const [id, claim] of all) {
        const { credits, calls } = claim
        claims.set(id, isAlive(id) ? claim : { claimed: credits, needed: credits, credits, calls })
      }
      return claims
    },
    prune(now) {
      readAt = now
      for (const [id, claims] of places) {
        if ([...claims.values()].some(({ at }) => now - at < MEMORY_MS)) break
        places.delete(id)
      }
      for (const [id, { at }] of processes) if (now - at > MEMORY_MS) processes.delete(id)
    },
  }
}

const NOTHING: ReadonlyMap<string, Claim> = new Map()

export function idOf({ hash, minute }: KeyMinute): string {
  return `${hash}:${minute}`
}
