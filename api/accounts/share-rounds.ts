/** Rounds over the table of claims: write the own claims, then read the peers' claims. One insert and one query for any number of keys. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import { insertJson, orUnavailable, queryRows, readSql, storeUnavailable } from '../lib/store.ts'
import { type Hold, type Meter, recordPeerUsage } from './credits.ts'
import type { KeyHash } from './keys.ts'
import {
  allShares,
  beginRead,
  beginWrite,
  type ClaimRow,
  cover,
  endRead,
  endWrite,
  floorOf,
  isUsedUp,
  isValid,
  openShares,
  peersOf,
  track,
} from './shares.ts'

const INSERT = readSql(new URL('./claims-insert.sql', import.meta.url))
const READ = readSql(new URL('./claims-read.sql', import.meta.url))

export type ShareRounds = {
  /**
   * Afterwards the counts of the peers are at most a second old. Resolves with a number that grows where rows may have been missed, so that
   * the counts are to be read from the tables.
   */
  refresh(): Promise<number>
  /** From now on the meter counts the peers' use of the key. */
  attach(hash: KeyHash, meter: Meter): void
  /** The next round claims credits of this minute, and writes its counts. */
  track(hash: KeyHash, meter: Meter, limit: number, minute: UnixSeconds): void
  /**
   * Waits until the hold's credits are granted. Resolves with the granted credits of its minute that are neither used nor reserved; undefined
   * where peers have used or hold too many. Throws `store_unavailable` where rounds are too slow to tell.
   */
  acquire(hash: KeyHash, meter: Meter, limit: number, hold: Hold): Promise<(() => number) | undefined>
  /** Gives unused claims back. */
  close(): Promise<void>
}

const FRESH_MS = 1_000
/** Rounds while a key is in use, so that queries do not wait for one. */
const EVERY_MS = 500
/** Minimum time between the starts of two rounds: queries that arrive meanwhile share the next one. */
const PACE_MS = 50
/** How long, and for how many rounds, a query waits for credits that a peer holds: a peer returns them in its next round. */
const WAIT_MS = 2_000
const WAIT_ROUNDS = 10
/** How long a query waits for rounds that are faster than grants expire. */
const SLOW_STORE_MS = 8_000

export function openShareRounds(client: ClickHouseClient, instance: string, now: () => UnixSeconds): ShareRounds {
  const meters = new Map<KeyHash, Meter>()
  const shares = openShares(instance, () => performance.now())
  const isInUse = () => allShares(shares).length > 0

  const round: () => Promise<void> = paced(async () => {
    const rows = beginWrite(shares, now())
    if (rows.length > 0) {
      await orUnavailable(() => insertJson(client, INSERT, rows))
      endWrite(shares)
    }
    const peers = await queryRows<ClaimRow>(client, READ, { instance, ago_ms: beginRead(shares) })
    if (endRead(shares, peers)) round().catch(ignore)
    for (const { hash, minute, instance: id, ...count } of peers) {
      const meter = meters.get(hash)
      if (meter !== undefined) recordPeerUsage(meter, id, minute, count)
    }
  })
  const timer = setInterval(() => {
    if (isInUse()) round().catch(ignore)
  }, EVERY_MS).unref()

  return {
    async refresh() {
      if (performance.now() - shares.readAt >= FRESH_MS) await round()
      return shares.missed
    },
    attach(hash, meter) {
      meters.set(hash, meter)
      for (const minute of shares.minutes.keys())
        for (const [id, count] of peersOf(shares, hash, minute)) recordPeerUsage(meter, id, minute, count)
    },
    track(hash, meter, limit, minute) {
      track(shares, hash, minute, meter, limit)
    },
    async acquire(hash, meter, limit, hold) {
      const share = track(shares, hash, hold.minute, meter, limit)
      const began = performance.now()
      for (let rounds = 0; !cover(shares, share, hold); rounds++) {
        if (isUsedUp(shares, share)) return undefined
        const waited = performance.now() - began
        if (waited > WAIT_MS && rounds >= WAIT_ROUNDS && isValid(shares)) return undefined
        if (waited > SLOW_STORE_MS)
          throw storeUnavailable(
            new Error(`${rounds} rounds of claims in ${Math.round(waited)} ms settled no credits.`),
          )
        await round()
      }
      return () => share.granted - floorOf(share)
    },
    async close() {
      clearInterval(timer)
      for (const share of allShares(shares)) share.limit = 0
      if (isInUse()) await round().catch(ignore)
    },
  }
}

/** Runs one round at a time, at most one in PACE_MS; all calls before it begins share it. */
function paced(round: () => Promise<void>): () => Promise<void> {
  let earliest = Promise.resolve()
  let next: Promise<void> | undefined
  return () => {
    next ??= earliest.then(() => {
      next = undefined
      const running = round()
      earliest = Promise.allSettled([running, sleep(PACE_MS)]).then(ignore)
      return running
    })
    return next
  }
}

function ignore(): void {}
