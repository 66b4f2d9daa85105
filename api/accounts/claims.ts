/**
 * How API processes share the credits of a key's minute. The tables have no compare-and-set, so a process first writes what it claims and
 * then reads what the others claim: of two that claim at once, at least the one that reads later sees both. A claim holds only where all
 * claims together fit the limit, so that no two processes ever spend the same credit, however late either of them reads. A process claims
 * half of what is free beyond its need, so that rounds are rare and the next process finds room; where claims collide, each process computes
 * the same fair shares from all claims, and claims its own. A process gives unused credits back once another one lacks some.
 * The alternative, equal shares of a counted number of processes, would refuse a key most of its credits where all of its queries reach one process.
 */

/** One process's absolute counts of a key's minute. */
export type Claim = {
  /** Upper bound of its use until its next claim. */
  claimed: number
  /** Credits that its queries need, at most the limit. */
  needed: number
  /** Used so far. */
  credits: number
  calls: number
}

export type Claimant = { id: string; floor: number; needed: number }

/** Shares below this go whole to one process after the other, so that a query of a few credits gets all of them. */
const SMALL_SHARE = 8

/**
 * Max-min fair shares of a limit: each claimant has its floor, and of the rest as much as it needs, or as much as any other gets. The shares
 * exceed the limit only where the floors do. The order of the claimants does not matter.
 */
export function allocateShares(limit: number, claimants: readonly Claimant[]): ReadonlyMap<string, number> {
  const shares = new Map(claimants.map(({ id, floor }) => [id, floor]))
  let free = Math.max(0, limit - claimants.reduce((sum, { floor }) => sum + floor, 0))
  // In the order of their lack: what one does not take is left for the others.
  const lacking = claimants
    .filter(({ floor, needed }) => needed > floor)
    .sort((a, b) => a.needed - a.floor - (b.needed - b.floor) || (a.id < b.id ? -1 : 1))
  for (const [index, { id, floor, needed }] of lacking.entries()) {
    const equal = Math.floor(free / (lacking.length - index))
    const share = Math.min(needed - floor, equal < SMALL_SHARE ? free : equal)
    shares.set(id, floor + share)
    free -= share
  }
  return shares
}

export type ClaimState = {
  id: string
  limit: number
  /** Used, or reserved for running queries. */
  floor: number
  /** The floor and what waiting queries need. */
  needed: number
  granted: number
  /** The claims of the other processes; that of an expired one is what it has used. */
  others: ReadonlyMap<string, Claim>
}

/** The next claim, by the claims read so far. */
export function nextClaim({ id, limit, floor, needed, granted, others }: ClaimState): number {
  const theirs = [...others].map(([id, claim]) => ({ id, floor: claim.credits, needed: neededOf(claim) }))
  const isShort = sumOf(others, neededOf) + needed > limit || [...others.values()].some(lacksCredits)
  const free = limit - sumOf(others, claimedOf)
  if (isShort || needed > free) {
    const shares = allocateShares(limit, [{ id, floor, needed }, ...theirs])
    return Math.max(floor, shares.get(id) ?? floor)
  }
  // The next claim follows while a quarter is left, so that queries rarely wait for it.
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
