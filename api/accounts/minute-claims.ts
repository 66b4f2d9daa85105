/** The claims of this process: for each key and minute the credits that it may spend, by what it and its peers have claimed. */
import type { UnixSeconds } from '../../ingest/model/message.ts'
import { type Claim, claimedOf, fits, isLast, nextClaim, sumOf, usedOf } from './claims.ts'
import { countOf, type Hold, heldIn, type Meter } from './credits.ts'
import type { KeyHash } from './keys.ts'
import { idOf, MEMORY_MS, type PeerClaims } from './peer-claims.ts'

export type MinuteClaim = {
  hash: KeyHash
  minute: UnixSeconds
  meter: Meter
  limit: number
  /** Credits that this process may spend in the minute. */
  granted: number
  /** As last written; undefined where the write failed. */
  written: Claim | undefined
  writtenAt: number
}

export type MinuteClaims = {
  /** In the order of their creation. */
  all(): Iterable<MinuteClaim>
  size(): number
  get(hash: KeyHash, minute: UnixSeconds): MinuteClaim | undefined
  track(hash: KeyHash, meter: Meter, limit: number, minute: UnixSeconds): MinuteClaim
  /** The next claim to write. Credits that it gives up are no longer granted. */
  next(claim: MinuteClaim): Claim
  /** After the claims of the peers were read: grants what fits beside them. */
  grant(): void
  /** Reduces all grants to what is used and reserved: the peers may have taken the rest. */
  expire(): void
  /** True where the hold's credits are granted; marks the hold as covered. */
  isCovered(claim: MinuteClaim, hold: Hold): boolean
  /** True where this process and its peers have used all credits of the minute. */
  isUsedUp(claim: MinuteClaim): boolean
  /** Drops the minutes that no query can change any more. */
  prune(nowSeconds: UnixSeconds): void
}

export function openMinuteClaims(instance: string, peers: PeerClaims): MinuteClaims {
  const claims = new Map<string, MinuteClaim>()
  return {
    all: () => claims.values(),
    size: () => claims.size,
    get: (hash, minute) => claims.get(idOf({ hash, minute })),
    track(hash, meter, limit, minute) {
      const id = idOf({ hash, minute })
      const known = claims.get(id)
      if (known !== undefined) {
        known.limit = limit
        return known
      }
      const claim = { hash, minute, meter, limit, granted: 0, written: undefined, writtenAt: 0 }
      claims.set(id, claim)
      return claim
    },
    next(claim) {
      const { meter, minute, limit, granted } = claim
      const { credits, calls } = countOf(meter, minute)
      const floor = floorOf(claim)
      const needed = Math.max(floor, Math.min(limit, credits + heldIn(meter, 'minute', minute)))
      const claimed = nextClaim({ id: instance, limit, floor, needed, granted, others: peers.claimsOn(claim) })
      // Before the write: a peer that reads it may spend the difference at once.
      claim.granted = Math.min(granted, claimed)
      return { claimed, needed, credits, calls }
    },
    grant() {
      for (const claim of claims.values()) {
        const claimed = claim.written?.claimed ?? 0
        if (claimed > claim.granted && fits(claimed, claim.limit, peers.claimsOn(claim))) claim.granted = claimed
      }
    },
    expire() {
      for (const claim of claims.values()) claim.granted = floorOf(claim)
    },
    isCovered(claim, hold) {
      const { granted, limit } = claim
      const floor = floorOf(claim)
      const others = peers.claimsOn(claim)
      // The last credit admits a query that costs more than is left.
      const isLastCredit = floor < granted && granted + sumOf(others, claimedOf) >= limit && isLast(others)
      hold.covered = floor + hold.credits <= granted || isLastCredit
      return hold.covered
    },
    isUsedUp: (claim) => floorOf(claim) + sumOf(peers.claimsOn(claim), usedOf) >= claim.limit,
    prune(nowSeconds) {
      const oldest = nowSeconds - MEMORY_MS / 1000
      for (const [id, claim] of claims) {
        const isIdle = heldIn(claim.meter, 'minute', claim.minute) === 0
        if (claim.minute >= oldest || !isIdle) break
        claims.delete(id)
      }
    },
  }
}

/** Credits that are used, or reserved by covered holds. */
export function floorOf({ meter, minute }: MinuteClaim): number {
  let floor = countOf(meter, minute).credits
  for (const hold of meter.holds) if (hold.covered && hold.minute === minute) floor += hold.credits
  return floor
}
