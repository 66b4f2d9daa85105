/**
 * How API processes share the credits of a key's minute, by a table without compare-and-set. A process claims: it writes the upper bound of
 * its use until its next row, waits until the row is stored, and then reads the newest row of each peer. A claim is granted only where all
 * claims together fit the limit. A lower claim binds its process before the write, a higher one after the read.
 *
 * Grants never exceed the limit together, however slow writes and reads are, and however many processes start. Proof: take the grant with the
 * row that was stored last. Its process read afterwards, from each peer the row of that peer's grant or a later row. A peer reduces its grant
 * before it writes a lower claim. So the claims that were read are upper bounds of the peers' grants, and they fit beside this one.
 *
 * A process that is killed returns its claims: peers count only its use once it has written nothing for EXPIRE_MS. It may still run, so its
 * grants are valid for VALID_MS after its last write began. After that it spends nothing before it has written and read again; since that
 * row is stored first, either its read sees the claims that peers have made meanwhile, or their reads see that it runs.
 *
 * `nextClaim` decides only how soon credits reach the process that needs them, never how many are spent.
 */
import { isDeepStrictEqual } from 'node:util'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import { type Count, countOf, type Hold, type Meter, reservedIn } from './credits.ts'
import type { KeyHash } from './keys.ts'
import { minuteOf } from './period.ts'

/** One process's row of a key's minute: credits and calls so far, credits that its queries need (at most the limit), and its claim. */
export type Claim = Count & { claimed: number; needed: number }
export type ClaimRow = Claim & { hash: KeyHash; minute: UnixSeconds; instance: string; version: number }

/** A key's minute, in which this process may spend `granted` credits. `stored`: its newest row, once that is known to be stored. */
export type Share = {
  hash: KeyHash
  minute: UnixSeconds
  meter: Meter
  limit: number
  granted: number
  stored: Claim | undefined
  /** True where the key was asked here since the last write. */
  isAsked: boolean
  peers: ReadonlyMap<string, Claim>
}

/** The claims of this process and of its peers. Milliseconds are of a monotonic clock. */
export type Shares = {
  instance: string
  nowMs: () => number
  minutes: Map<UnixSeconds, { own: Map<KeyHash, Share>; peers: Map<KeyHash, Map<string, Claim>> }>
  processes: Map<string, { version: number; seenAt: number }>
  version: number
  writing: { began: number; rows: Map<Share, Claim> }
  wroteAt: number
  readingAt: number
  readAt: number
  /** Grows where rows may have been missed, so that counts are to be read from the tables. */
  missed: number
}

/** Grants are valid for so long after the start of the last stored write. */
const VALID_MS = 3_000
/** A peer without a new row for so long has ended. */
const EXPIRE_MS = 8_000
/** Reads overlap by more than the longest write and read together: one that took longer counts as failed. */
const OVERLAP_MS = 6_000
const MAX_WRITE_MS = 2_000
const MAX_READ_MS = 3_000
/** How long claims are kept, and how far back the first read reaches: a minute, its running queries, and clocks that differ. */
const KEPT_SECONDS = 130

export function openShares(instance: string, nowMs: () => number): Shares {
  const never = { version: 0, writing: { began: 0, rows: new Map() }, wroteAt: -Infinity, readingAt: -Infinity }
  const readAt = nowMs() - KEPT_SECONDS * 1_000
  return { instance, nowMs, minutes: new Map(), processes: new Map(), ...never, readAt, missed: 0 }
}

/** From now on this process claims credits of the key's minute, and writes its counts. */
export function track(shares: Shares, hash: KeyHash, minute: UnixSeconds, meter: Meter, limit: number): Share {
  const { own } = placesOf(shares, minute)
  const share = own.get(hash) ?? {
    ...{ hash, minute, meter, limit, granted: 0, stored: undefined, isAsked: true },
    peers: peersOf(shares, hash, minute),
  }
  own.set(hash, share)
  Object.assign(share, { limit, isAsked: true })
  return share
}

export function allShares({ minutes }: Shares): Share[] {
  return [...minutes.values()].flatMap(({ own }) => [...own.values()])
}

/** The newest row of each peer that has used the key in the minute. */
export function peersOf(shares: Shares, hash: KeyHash, minute: UnixSeconds): Map<string, Claim> {
  const { peers } = placesOf(shares, minute)
  const known = peers.get(hash) ?? new Map<string, Claim>()
  peers.set(hash, known)
  return known
}

function placesOf({ minutes }: Shares, minute: UnixSeconds) {
  const places = minutes.get(minute) ?? { own: new Map(), peers: new Map() }
  minutes.set(minute, places)
  return places
}

/** Peers still count the claims of this process. */
export function isValid({ nowMs, wroteAt }: Shares): boolean {
  return nowMs() - wroteAt <= VALID_MS
}

/** Starts a round: the rows to write. One of them at least where there are claims, as a sign that the process runs. */
export function beginWrite(shares: Shares, nowSeconds: UnixSeconds): ClaimRow[] {
  prune(shares, minuteOf(nowSeconds).start)
  const rows = new Map<Share, Claim>()
  const all = allShares(shares)
  for (const share of all) {
    if (!isValid(shares)) share.granted = floorOf(share)
    const row = nextRow(shares, share)
    share.granted = Math.min(share.granted, row.claimed)
    share.isAsked = false
    if (!isDeepStrictEqual(row, share.stored)) rows.set(share, row)
  }
  const [first] = all
  if (first?.stored && rows.size === 0) rows.set(first, first.stored)
  for (const share of rows.keys()) share.stored = undefined
  shares.writing = { began: shares.nowMs(), rows }
  shares.version += 1
  const { instance, version } = shares
  return [...rows].map(([{ hash, minute }, row]) => ({ ...row, hash, minute, instance, version }))
}

function prune({ minutes, processes, readAt }: Shares, latest: UnixSeconds): void {
  for (const minute of minutes.keys()) if (Math.abs(minute - latest) > KEPT_SECONDS) minutes.delete(minute)
  for (const [id, { seenAt }] of processes) if (readAt - seenAt > KEPT_SECONDS * 1_000) processes.delete(id)
}

function nextRow(shares: Shares, share: Share): Claim {
  const { meter, minute, limit, granted, isAsked } = share
  const { credits, calls } = countOf(meter, minute)
  const floor = floorOf(share)
  const needed = Math.max(floor, Math.min(limit, credits + reservedIn(meter, 'minute', minute)))
  const claimed = nextClaim({ id: shares.instance, limit, floor, needed, granted, isAsked }, peersOn(shares, share))
  return { claimed, needed, credits, calls }
}

/** The rows are stored. If the write took too long, the next round writes them again. */
export function endWrite(shares: Shares): void {
  const { began, rows } = shares.writing
  if (shares.nowMs() - began > MAX_WRITE_MS) return
  shares.wroteAt = began
  for (const [share, row] of rows) share.stored = row
}

/** How far back to read, in milliseconds. */
export function beginRead(shares: Shares): number {
  shares.readingAt = shares.nowMs()
  return Math.min(KEPT_SECONDS * 1_000, Math.ceil(shares.readingAt - shares.readAt) + OVERLAP_MS)
}

/**
 * Takes the peers' newest rows, and grants the claims that fit beside them. True if the next round must return credits at once: a claim does
 * not fit, or a peer lacks credits that this process can spare.
 */
export function endRead(shares: Shares, rows: readonly ClaimRow[]): boolean {
  const { processes, readingAt } = shares
  const now = shares.nowMs()
  for (const { hash, minute, instance, version, ...claim } of rows) {
    peersOf(shares, hash, minute).set(instance, claim)
    if (version > (processes.get(instance)?.version ?? -1)) processes.set(instance, { version, seenAt: now })
  }
  if (now - readingAt > MAX_READ_MS) return false
  if (readingAt - shares.readAt + OVERLAP_MS > KEPT_SECONDS * 1_000) shares.missed += 1
  shares.readAt = readingAt
  let returns = false
  for (const share of allShares(shares)) {
    const claimed = share.stored?.claimed ?? 0
    const peers = peersOn(shares, share)
    if (claimed > share.granted && claimed + sum(peers, 'claimed') <= share.limit) share.granted = claimed
    returns ||= claimed > share.granted || (peers.some(isLacking) && nextRow(shares, share).claimed < share.granted)
  }
  return returns
}

/** True where the hold's credits are granted. The last credit of a minute admits a query that costs more. */
export function cover(shares: Shares, share: Share, hold: Hold): boolean {
  const { granted, limit } = share
  const floor = floorOf(share)
  const isLastCredit = () => floor < granted && granted + sum(peersOn(shares, share), 'credits') >= limit
  hold.covered = isValid(shares) && (floor + hold.credits <= granted || isLastCredit())
  return hold.covered
}

/** True where this process and its peers have used all credits of the minute. */
export function isUsedUp(shares: Shares, share: Share): boolean {
  return floorOf(share) + sum(peersOn(shares, share), 'credits') >= share.limit
}

/** Credits that are used, or reserved by covered holds. */
export function floorOf({ meter, minute }: Share): number {
  let floor = countOf(meter, minute).credits
  for (const hold of meter.holds) if (hold.covered && hold.minute === minute) floor += hold.credits
  return floor
}

type PeerClaim = Claim & { id: string }

/** An ended process claims and needs no more than it has used. */
function peersOn({ processes, readAt }: Shares, { peers }: Share): PeerClaim[] {
  return [...peers].map(([id, claim]) => {
    const isAlive = readAt - (processes.get(id)?.seenAt ?? -Infinity) < EXPIRE_MS
    const { credits } = claim
    return {
      id,
      ...claim,
      ...(isAlive ? { claimed: Math.max(claim.claimed, credits) } : { claimed: credits, needed: credits }),
    }
  })
}

/** Equal shares are no smaller, so that each is enough for a query. */
const MIN_SHARE = 20

type Need = { id: string; limit: number; floor: number; needed: number; granted: number; isAsked: boolean }

/**
 * The need and half of the credits that are free beyond it, so that queries rarely wait, and another process finds credits. A process that
 * has credits takes all of the last MIN_SHARE; one that is not asked takes none. Where credits lack, no process keeps unused ones, and the
 * processes that lack some take equal shares of the free ones, in the order of their ids.
 */
export function nextClaim({ id, limit, floor, needed, granted, isAsked }: Need, peers: readonly PeerClaim[]): number {
  const room = limit - sum(peers, 'claimed')
  const lacking = peers.filter(isLacking)
  const spare = room - needed
  if (spare >= 0 && lacking.length === 0) {
    const ample = needed + (granted > 0 && spare <= MIN_SHARE ? spare : Math.floor(spare / 2))
    return isAsked ? ample : Math.min(ample, Math.max(needed, granted))
  }
  if (needed <= granted) return needed
  let free = room - floor
  const takers = [
    ...lacking.map((peer) => ({ id: peer.id, lack: peer.needed - peer.claimed })),
    { id, lack: needed - floor },
  ]
  takers.sort((a, b) => (a.id < b.id ? -1 : 1))
  for (const [index, taker] of takers.entries()) {
    const equal = Math.floor(free / (takers.length - index))
    const share = Math.max(0, Math.min(taker.lack, free, Math.max(equal, MIN_SHARE)))
    if (taker.id === id) return floor + share
    free -= share
  }
  return floor
}

function isLacking({ needed, claimed }: PeerClaim): boolean {
  return needed > claimed
}

function sum(peers: readonly PeerClaim[], column: 'claimed' | 'credits'): number {
  return peers.reduce((total, peer) => total + peer[column], 0)
}
