/**
 * How API processes share the credits of a key's minute. The tables have no compare-and-set, so a process first writes what it claims and
 * then reads what the others claim: of two that claim at once, at least the one that reads later sees both. A claim holds only where all
 * claims together fit the limit, so that no two processes ever spend the same credit, however late either of them reads. A process claims
 * half of what is free beyond its need, so that it asks rarely and leaves room for the next; where claims collide, each process computes
 * the same fair shares of what all have told, and claims that. What a process does not need it gives back once another one lacks it.
 * The alternative, equal shares of a counted number of processes, would refuse a key most of its credits where it asks one process alone.
 */

/** What one process tells of a key's minute: absolute counts, all of them. */
export type Claim = {
  /** It will not use more than this before it has claimed more. */
  claimed: number
  /** It would use as much if it could. */
  needed: number
  /** It has used so many. */
  credits: number
  calls: number
}

export type Claimant = { id: string; floor: number; needed: number }

/** What cannot be shared equally goes to one after the other, so that a question which costs some credits gets all of them. */
const SMALL_SHARE = 8

/**
 * Fair shares of a limit: each party has its floor, and of the rest as much as it needs, or as much as any other gets. The shares never
 * exceed the limit, but where the floors do. The order in which the parties are given does not matter.
 */
export function allocateShares(limit: number, parties: readonly Claimant[]): ReadonlyMap<string, number> {
  const shares = new Map(parties.map(({ id, floor }) => [id, floor]))
  let free = Math.max(0, limit - parties.reduce((sum, { floor }) => sum + floor, 0))
  // Who lacks least first: what it does not take is left for the others.
  const hungry = parties
    .filter(({ floor, needed }) => needed > floor)
    .sort((a, b) => a.needed - a.floor - (b.needed - b.floor) || (a.id < b.id ? -1 : 1))
  for (const [index, { id, floor, needed }] of hungry.entries()) {
    const equal = Math.floor(free / (hungry.length - index))
    const share = Math.min(needed - floor, equal < SMALL_SHARE ? free : equal)
    shares.set(id, floor + share)
    free -= share
  }
  return shares
}

export type ClaimState = {
  id: string
  limit: number
  /** Used, and set aside for questions under way. */
  floor: number
  /** With what waits. */
  needed: number
  granted: number
  /** Of the others; a process that was not heard of for a while has claimed what it has used. */
  others: ReadonlyMap<string, Claim>
}

/** What to claim next, from what is told so far. */
export function nextClaim({ id, limit, floor, needed, granted, others }: ClaimState): number {
  const theirs = [...others].map(([id, claim]) => ({ id, floor: claim.credits, needed: neededOf(claim) }))
  const isShort = sumOf(others, neededOf) + needed > limit || [...others.values()].some(lacksCredits)
  const free = limit - sumOf(others, claimedOf)
  if (isShort || needed > free) {
    const shares = allocateShares(limit, [{ id, floor, needed }, ...theirs])
    return Math.max(floor, shares.get(id) ?? floor)
  }
  // Claimed again while a quarter is left, so that questions rarely wait for it.
  const isAmple = granted <= free && granted - needed >= Math.min(granted, free - needed) / 4 && granted >= needed
  if (isAmple) return granted
  return needed + Math.ceil((free - needed) / 2)
}

/** Whether this claim holds beside those of the others. */
export function fits(claimed: number, limit: number, others: ReadonlyMap<string, Claim>): boolean {
  return claimed + sumOf(others, claimedOf) <= limit
}

/** True where no other process has credits left to spend, or lacks any. */
export function isLast(others: ReadonlyMap<string, Claim>): boolean {
  return [...others.values()].every((claim) => claim.claimed <= claim.credits && !lacksCredits(claim))
}

export function claimedOf({ claimed, credits }: Claim): number {
  return Math.max(claimed, credits)
}

export function usedOf({ credits }: Claim): number {
  return credits
}

function neededOf({ needed, credits }: Claim): number {
  return Math.max(needed, credits)
}

function lacksCredits(claim: Claim): boolean {
  return neededOf(claim) > claimedOf(claim)
}

export function sumOf(claims: ReadonlyMap<string, Claim>, of: (claim: Claim) => number): number {
  let sum = 0
  for (const claim of claims.values()) sum += of(claim)
  return sum
}
