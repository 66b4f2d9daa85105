/** The rounds in which API processes tell each other what they claim and have used: one insert and one question, however many keys there are. */
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import { whenIdle } from '../../ingest/lib/live-priority.ts'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import { queryRows, readSql, storeUnavailable } from '../lib/store.ts'
import { type Claim, claimedOf, fits, isLast, nextClaim, sumOf, usedOf } from './claims.ts'
import { countOf, type Hold, heldIn, type Meter, recordPeerUsage } from './credits.ts'
import type { KeyHash } from './keys.ts'
import { type ClaimRow, idOf, MEMORY_MS, NO_KEY, openPeerClaims } from './peer-claims.ts'
import { minuteOf } from './period.ts'

export type ClaimExchange = {
  /**
   * Others' counts are as new as `freshMs` afterwards. Resolves with a number that grows where some of what others told was missed, so that
   * their counts are to be read from the tables.
   */
  refresh(): Promise<number>
  /** From now on the meter hears what others have used of the key. */
  attach(hash: KeyHash, meter: Meter): void
  /** Resolves with false where the credits that a hold needs are not to be had from the other processes. */
  acquire(hash: KeyHash, meter: Meter, limit: number, hold: Hold): Promise<boolean>
  /** Credits of the hold's minute that this process may still spend beside what is set aside. */
  freeCredits(hash: KeyHash, hold: Hold): number
  /** Tells the counts of a minute with the next round. */
  track(hash: KeyHash, meter: Meter, limit: number, minute: UnixSeconds): void
  /** Gives back what is claimed and not used. */
  close(): Promise<void>
}

const INSERT = readSql(new URL('./claims-insert.sql', import.meta.url))
const READ = readSql(new URL('./claims-read.sql', import.meta.url))
const EVERY_MS = 1_000
/** Between the starts of two rounds at least: what is claimed meanwhile goes into the next. */
const PACE_MS = 50
/** A question waits so long for credits that another process has claimed and does not use. */
const WAIT_MS = 2_000
/** Claims of this process hold so long after they were written, by its own clock. */
const VALID_MS = 3_000
/** A write that took longer may be missed by a question that follows it. */
const MAX_WRITE_MS = 2_000
const OVERLAP_MS = 5_000
/** What is told of a minute is read for MEMORY_MS, and told again before. */
const RETELL_MS = 30_000

type MinuteClaim = {
  hash: KeyHash
  minute: UnixSeconds
  meter: Meter
  limit: number
  /** What this process may come to use in the minute. */
  granted: number
  told: Claim | undefined
  toldAt: number
}

export function openClaimExchange(options: {
  client: ClickHouseClient
  instance: string
  clock: () => Date
  freshMs: number
}): ClaimExchange {
  const { client, instance, clock, freshMs } = options
  const meters = new Map<KeyHash, Meter>()
  /** By key and minute, the older ones first. */
  const slots = new Map<string, MinuteClaim>()
  const heard = openPeerClaims()
  let version = 0
  let startedAt = -PACE_MS
  let wroteAt = -VALID_MS
  let readAt = performance.now() - MEMORY_MS
  let era = 0
  let running: Promise<void> | undefined
  let next: Promise<void> | undefined
  const timer = setInterval(() => {
    if (slots.size > 0) void whenIdle().then(exchange).catch(ignore)
  }, EVERY_MS).unref()

  function slotOf(hash: KeyHash, meter: Meter, limit: number, minute: UnixSeconds): MinuteClaim {
    const id = idOf({ hash, minute })
    const known = slots.get(id)
    if (known !== undefined) {
      known.limit = limit
      return known
    }
    const slot = { hash, minute, meter, limit, granted: 0, told: undefined, toldAt: 0 }
    slots.set(id, slot)
    return slot
  }

  function tellOf(slot: MinuteClaim): Claim {
    const { meter, minute, limit } = slot
    const { credits, calls } = countOf(meter, minute)
    const floor = floorOf(slot)
    const needed = Math.max(floor, Math.min(limit, credits + heldIn(meter, 'minute', minute)))
    const claimed = nextClaim({
      id: instance,
      limit,
      floor,
      needed,
      granted: slot.granted,
      others: heard.claimsOn(slot),
    })
    // Given back before anybody can read of it.
    slot.granted = Math.min(slot.granted, claimed)
    return { claimed, needed, credits, calls }
  }

  async function tell(began: number): Promise<void> {
    const told: (MinuteClaim | undefined)[] = []
    const rows: object[] = []
    version += 1
    for (const slot of slots.values()) {
      const claim = tellOf(slot)
      if (slot.told !== undefined && isSame(slot.told, claim) && began - slot.toldAt < RETELL_MS) continue
      slot.told = claim
      slot.toldAt = began
      told.push(slot)
      rows.push({ hash: slot.hash, minute: slot.minute, instance, version, ...claim })
    }
    // That the process is there.
    const now = Math.floor(clock().getTime() / 1000)
    if (rows.length === 0)
      rows.push({ hash: NO_KEY, minute: now, instance, version, claimed: 0, needed: 0, credits: 0, calls: 0 })
    try {
      const values = Readable.from([rows.map((row) => JSON.stringify(row)).join('\n')])
      const settings = { async_insert: 0, insert_deduplicate: 0 } as const
      const { stream } = await client.exec({ query: INSERT, values, clickhouse_settings: settings })
      stream.resume()
      if (performance.now() - began > MAX_WRITE_MS) throw new Error('The claims were written too late to be relied on.')
    } catch (error) {
      for (const slot of told) if (slot !== undefined) slot.told = undefined
      throw storeUnavailable(error)
    }
    wroteAt = began
  }

  async function read(): Promise<void> {
    const began = performance.now()
    const since = Math.ceil(began - readAt) + OVERLAP_MS
    const ago = Math.min(MEMORY_MS, since)
    for (const row of await queryRows<ClaimRow>(client, READ, { instance, ago_ms: ago })) {
      const claim = heard.record(row, began)
      const meter = meters.get(row.hash)
      if (meter !== undefined) recordPeerUsage(meter, row.by, row.at, claim)
    }
    heard.prune(began)
    if (since > MEMORY_MS) era += 1
    readAt = began
  }

  async function round(): Promise<void> {
    const began = performance.now()
    forget()
    // Others may have taken by now what this process had claimed.
    if (began - wroteAt > VALID_MS) for (const slot of slots.values()) slot.granted = floorOf(slot)
    await tell(began)
    await read()
    for (const slot of slots.values()) {
      const claimed = slot.told?.claimed ?? 0
      if (claimed > slot.granted && fits(claimed, slot.limit, heard.claimsOn(slot))) slot.granted = claimed
    }
  }

  /** One round at a time; all who ask before it begins share it. */
  function exchange(): Promise<void> {
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
  }

  function forget(): void {
    const oldest = Math.floor(clock().getTime() / 1000) - MEMORY_MS / 1000
    for (const [id, slot] of slots) {
      const isIdle = heldIn(slot.meter, 'minute', slot.minute) === 0
      if (slot.minute >= oldest || !isIdle) break
      slots.delete(id)
    }
  }

  function isCovered(slot: MinuteClaim, hold: Hold): boolean {
    if (performance.now() - wroteAt > VALID_MS) return false
    const floor = floorOf(slot)
    const others = heard.claimsOn(slot)
    // The last credit lets a question in that costs more than is left.
    const isLastCredit = floor < slot.granted && slot.granted + sumOf(others, claimedOf) >= slot.limit && isLast(others)
    hold.covered = floor + hold.credits <= slot.granted || isLastCredit
    return hold.covered
  }

  return {
    refresh() {
      const age = performance.now() - readAt
      if (age >= freshMs) return exchange().then(() => era)
      if (age > 0.75 * freshMs && next === undefined) void whenIdle().then(exchange).catch(ignore)
      return Promise.resolve(era)
    },
    attach(hash, meter) {
      meters.set(hash, meter)
      const now = minuteOf(Math.floor(clock().getTime() / 1000)).start
      for (const minute of [now - 120, now - 60, now])
        for (const [id, claim] of heard.claimsOn({ hash, minute })) recordPeerUsage(meter, id, minute, claim)
    },
    async acquire(hash, meter, limit, hold) {
      const slot = slotOf(hash, meter, limit, hold.minute)
      const until = performance.now() + WAIT_MS
      while (!isCovered(slot, hold)) {
        await exchange()
        if (isCovered(slot, hold)) return true
        if (performance.now() > until || floorOf(slot) + sumOf(heard.claimsOn(slot), usedOf) >= limit) return false
        // Not all at once, so that the claims of several processes meet rarely.
        await sleep(Math.random() * PACE_MS)
      }
      return true
    },
    freeCredits(hash, hold) {
      const slot = slots.get(idOf({ hash, minute: hold.minute }))
      return slot === undefined ? 0 : slot.granted - floorOf(slot)
    },
    track: slotOf,
    async close() {
      clearInterval(timer)
      for (const slot of slots.values()) slot.limit = floorOf(slot)
      if (slots.size > 0) await exchange().catch(ignore)
    },
  }
}

function floorOf({ meter, minute }: MinuteClaim): number {
  let floor = countOf(meter, minute).credits
  for (const hold of meter.holds) if (hold.covered && hold.minute === minute) floor += hold.credits
  return floor
}

function isSame(one: Claim, other: Claim): boolean {
  return (
    one.claimed === other.claimed &&
    one.needed === other.needed &&
    one.credits === other.credits &&
    one.calls === other.calls
  )
}

function ignore(): void {}
