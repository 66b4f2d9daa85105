/** What the other processes of the API have told of keys' minutes, and which of those processes are still there. */
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { Claim } from './claims.ts'
import type { KeyHash } from './keys.ts'

/** A key's minute. */
export type KeyMinute = { hash: KeyHash; minute: UnixSeconds }

/** `at`: the minute; `by`: the process. */
export type ClaimRow = Record<keyof Claim | 'version', number | string> & { hash: KeyHash; at: UnixSeconds; by: string }

export type PeerClaims = {
  /** `now`: when the question for the row was asked. */
  record(row: ClaimRow, now: number): Claim
  /** By process. One that is gone has claimed what it has used. */
  claimsOn(place: KeyMinute): ReadonlyMap<string, Claim>
  /** Drops what is too old to matter; after each reading. */
  prune(now: number): void
}

/** What is told of a minute matters for so long: the minute itself, and as long again. */
export const MEMORY_MS = 130_000
/** Longer than a claim is valid after its write began, and a write takes: a process that was not heard of for so long spends none of its claims. */
const EXPIRE_MS = 8_000
/** Says only that a process is there. */
export const NO_KEY: KeyHash = '0'.repeat(64)

type ReceivedClaim = Claim & { version: number; at: number }

export function openPeerClaims(): PeerClaims {
  /** The places of which anything was told lately last. */
  const places = new Map<string, Map<string, ReceivedClaim>>()
  const processes = new Map<string, { version: number; at: number }>()
  let readAt = 0

  function isThere(id: string): boolean {
    const process = processes.get(id)
    return process !== undefined && readAt - process.at < EXPIRE_MS
  }

  return {
    record({ hash, at: minute, by, ...row }, now) {
      const told = {
        claimed: Number(row.claimed),
        needed: Number(row.needed),
        credits: Number(row.credits),
        calls: Number(row.calls),
        version: Number(row.version),
        at: now,
      }
      if (told.version > (processes.get(by)?.version ?? -1)) processes.set(by, { version: told.version, at: now })
      if (hash === NO_KEY) return told
      const id = idOf({ hash, minute })
      const known = places.get(id) ?? new Map<string, ReceivedClaim>()
      if (told.version > (known.get(by)?.version ?? -1)) known.set(by, told)
      places.delete(id)
      places.set(id, known)
      return told
    },
    claimsOn(place) {
      const all = places.get(idOf(place))
      if (all === undefined) return NOTHING
      const claims = new Map<string, Claim>()
      for (const [id, told] of all) {
        const { credits, calls } = told
        claims.set(id, isThere(id) ? told : { claimed: credits, needed: credits, credits, calls })
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
