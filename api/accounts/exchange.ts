/** Rounds of the claim exchange: write the own claims, read those of the peers, grant what fits. claims.ts has the protocol. */
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import { storeUnavailable } from '../lib/store.ts'
import { type ClaimTable, openClaimTable } from './claim-table.ts'
import type { Claim } from './claims.ts'
import { type Hold, type Meter, recordPeerUsage } from './credits.ts'
import type { KeyHash } from './keys.ts'
import { floorOf, type MinuteClaim, type MinuteClaims, openMinuteClaims } from './minute-claims.ts'
import { MEMORY_MS, openPeerClaims, type PeerClaims } from './peer-claims.ts'
import { minuteOf } from './period.ts'

export type ClaimExchange = {
  /**
   * Afterwards the counts of the peers are at most `freshMs` old. Resolves with a number that grows where rows may have been missed, so that
   * the counts are to be read from the tables.
   */
  refresh(): Promise<number>
  /** From now on the meter counts what the peers use of the key. */
  attach(hash: KeyHash, meter: Meter): void
  /** Resolves with false where the peers hold or have used the credits that a hold needs. Throws `store_unavailable` where the store is too slow to tell. */
  acquire(hash: KeyHash, meter: Meter, limit: number, hold: Hold): Promise<boolean>
  /** Granted credits of the hold's minute that are neither used nor reserved. */
  freeCredits(hash: KeyHash, hold: Hold): number
  /** The next round writes the counts of this minute. */
  track(hash: KeyHash, meter: Meter, limit: number, minute: UnixSeconds): void
  /** Gives unused claims back. */
  close(): Promise<void>
}

const EVERY_MS = 1_000
/** Minimum time between the starts of two rounds: claims that arrive meanwhile share the next one. */
const PACE_MS = 50
/** How long a query waits for credits that a peer has claimed and does not use, and for how many rounds: claims that collide settle in a few. */
const WAIT_MS = 2_000
const WAIT_ROUNDS = 10
/** How long a query waits where the store is too slow for so many rounds, or for one that is faster than its claims expire. */
const SLOW_STORE_MS = 8_000
/** Claims of this process are valid for so long after their write began, by its own clock. */
const VALID_MS = 3_000
const OVERLAP_MS = 5_000
/** Peers read the claims of MEMORY_MS: unchanged ones are written again before they leave that window. */
const REWRITE_MS = 30_000

export function openClaimExchange(options: {
  client: ClickHouseClient
  instance: string
  clock: () => Date
  freshMs: number
}): ClaimExchange {
  const { client, instance, clock, freshMs } = options
  const meters = new Map<KeyHash, Meter>()
  const peers = openPeerClaims()
  const claims = openMinuteClaims(instance, peers)
  const nowSeconds = () => Math.floor(clock().getTime() / 1000)
  const rounds = openRounds({ table: openClaimTable(client, instance), claims, peers, meters, nowSeconds })
  const timer = setInterval(() => {
    if (claims.size() > 0) void rounds.run().catch(ignore)
  }, EVERY_MS).unref()

  return {
    refresh() {
      const age = rounds.readAgeMs()
      if (age >= freshMs) return rounds.run().then(rounds.missed)
      if (age > 0.75 * freshMs && !rounds.isQueued()) void rounds.run().catch(ignore)
      return Promise.resolve(rounds.missed())
    },
    attach(hash, meter) {
      meters.set(hash, meter)
      const now = minuteOf(nowSeconds()).start
      for (const minute of [now - 120, now - 60, now])
        for (const [id, claim] of peers.claimsOn({ hash, minute })) recordPeerUsage(meter, id, minute, claim)
    },
    async acquire(hash, meter, limit, hold) {
      const claim = claims.track(hash, meter, limit, hold.minute)
      const isCovered = () => rounds.isValid() && claims.isCovered(claim, hold)
      const began = performance.now()
      for (let count = 1; !isCovered(); count++) {
        await rounds.run()
        if (isCovered()) return true
        if (claims.isUsedUp(claim)) return false
        const waited = performance.now() - began
        if (waited > WAIT_MS && count >= WAIT_ROUNDS && rounds.isValid()) return false
        if (waited > SLOW_STORE_MS)
          throw storeUnavailable(new Error(`${count} rounds of claims in ${Math.round(waited)} ms settled no credits.`))
        // At a random time, so that the claims of several processes rarely collide.
        await sleep(Math.random() * PACE_MS)
      }
      return true
    },
    freeCredits(hash, hold) {
      const claim = claims.get(hash, hold.minute)
      return claim === undefined ? 0 : claim.granted - floorOf(claim)
    },
    track: claims.track,
    async close() {
      clearInterval(timer)
      for (const claim of claims.all()) claim.limit = floorOf(claim)
      if (claims.size() > 0) await rounds.run().catch(ignore)
    },
  }
}

type Rounds = {
  run(): Promise<void>
  isQueued(): boolean
  /** The claims of this process are written, so recently that the peers still count them. */
  isValid(): boolean
  readAgeMs(): number
  /** Reads so late that rows of the peers may have left their window. */
  missed(): number
}

function openRounds(options: {
  table: ClaimTable
  claims: MinuteClaims
  peers: PeerClaims
  meters: ReadonlyMap<KeyHash, Meter>
  nowSeconds: () => UnixSeconds
}): Rounds {
  const { table, claims, peers, meters, nowSeconds } = options
  let wroteAt = -VALID_MS
  let readAt = performance.now() - MEMORY_MS
  let missed = 0
  const isValid = () => performance.now() - wroteAt <= VALID_MS

  /** Resolves with false where peers may have missed the claims. */
  async function write(began: number): Promise<boolean> {
    const changed: { claim: MinuteClaim; next: Claim }[] = []
    for (const claim of claims.all()) {
      const next = claims.next(claim)
      if (isDeepStrictEqual(claim.written, next) && began - claim.writtenAt < REWRITE_MS) continue
      changed.push({ claim, next })
      claim.written = next
      claim.writtenAt = began
    }
    const rows = changed.map(({ claim: { hash, minute }, next }) => ({ hash, minute, ...next }))
    let isInTime = false
    try {
      isInTime = await table.write(rows, nowSeconds())
    } finally {
      if (isInTime) wroteAt = began
      else for (const { claim } of changed) claim.written = undefined
    }
    return isInTime
  }

  async function read(): Promise<void> {
    const began = performance.now()
    const since = Math.ceil(began - readAt) + OVERLAP_MS
    for (const row of await table.read(Math.min(MEMORY_MS, since))) {
      const claim = peers.record(row, began)
      const meter = meters.get(row.hash)
      if (meter !== undefined) recordPeerUsage(meter, row.by, row.at, claim)
    }
    peers.prune(began)
    if (since > MEMORY_MS) missed += 1
    readAt = began
  }

  const { run, isQueued } = paced(async () => {
    const began = performance.now()
    claims.prune(nowSeconds())
    if (!isValid()) claims.expire()
    const isInTime = await write(began)
    await read()
    if (isInTime) claims.grant()
  })
  return { run, isQueued, isValid, readAgeMs: () => performance.now() - readAt, missed: () => missed }
}

/** One round at a time, at most one in PACE_MS; all who call before it begins share it. */
function paced(round: () => Promise<void>): { run(): Promise<void>; isQueued(): boolean } {
  let startedAt = -PACE_MS
  let running: Promise<void> | undefined
  let next: Promise<void> | undefined
  return {
    run() {
      next ??= (async () => {
        await running?.catch(ignore)
        const wait = startedAt + PACE_MS - performance.now()
        if (wait > 0) await sleep(wait)
        next = undefined
        startedAt = performance.now()
        running = round()
        await running
      })()
      return next
    },
    isQueued: () => next !== undefined,
  }
}

function ignore(): void {}
