/** The protocol of shares, on the code that runs it: processes with one table between them, in virtual time and random order. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { countOf, type Hold, type Meter, openMeter, release, reserve, settle } from '../../../api/accounts/credits.ts'
import {
  beginRead,
  beginWrite,
  type ClaimRow,
  cover,
  endRead,
  endWrite,
  floorOf,
  isValid,
  nextClaim,
  openShares,
  type Share,
  type Shares,
  track,
} from '../../../api/accounts/shares.ts'
import { type Random, randomOf } from '../../simulation/random.ts'
import { sample } from '../../support/sample.ts'

const MINUTE = Date.UTC(2024, 0, 5, 12) / 1000
const KEYS = ['a'.repeat(64), 'b'.repeat(64)]
/** A peer without a new row for so long has ended for the others. */
const EXPIRE_MS = 8_000
const MAX_WRITE_MS = 2_000
/** A minute, and as long again for clocks that differ. */
const WINDOW_MS = 120_000

/** Reads from `visibleAt` on find the row. */
type TableRow = ClaimRow & { writtenAt: number; visibleAt: number }

type Process = {
  instance: string
  shares: Shares
  rounds: number
  isDead: boolean
  isIdle: boolean
  dueAt: number
  step: () => void
}
/** A key at a process. `rate`: how often it asks. `untold`: credits used and not written when the others took the process for ended. */
type Use = {
  process: Process
  key: string
  rate: number
  meter: Meter
  share: Share
  waiting: Hold[]
  running: Hold[]
  untold: number
}

/** How long a write or a half of a read takes, in milliseconds, and whether a write fails. */
type Weather = { durationMs(): number; isFailure(): boolean }

function openWorld(random: Random, limit: number, weather: Weather) {
  let table: TableRow[] = []
  const processes: Process[] = []
  const uses: Use[] = []
  let now = 0

  function start(keys: readonly string[]): Process {
    // The processes have different names, in random order: equal ones would share their rows.
    const instance = `process ${random.between(100_000, 999_999)}.${processes.length}`
    const shares = openShares(instance, () => now)
    const process = {
      instance,
      shares,
      rounds: 0,
      isDead: false,
      isIdle: false,
      dueAt: now,
      step: () => write(process),
    }
    processes.push(process)
    for (const key of keys) {
      const meter = openMeter(undefined)
      const share = track(shares, key, MINUTE, meter, limit)
      const rate = random.pick([0.3, 0.05, 0.01])
      uses.push({ process, key, rate, meter, share, waiting: [], running: [], untold: 0 })
    }
    return process
  }

  function after(process: Process, milliseconds: number, step: () => void): void {
    process.dueAt = now + milliseconds
    process.step = step
  }

  function write(process: Process): void {
    process.isIdle = false
    const rows = beginWrite(process.shares, MINUTE)
    const takes = weather.durationMs()
    const [isFailed, writtenAt] = [weather.isFailure(), now + random.between(0, takes)]
    // The rows of a failed write are stored later, or never.
    const visibleAt = isFailed ? now + takes + random.between(0, 5_000) : random.between(writtenAt, now + takes)
    if (!isFailed || random.chance(0.5)) table.push(...rows.map((row) => ({ ...row, writtenAt, visibleAt })))
    process.rounds += 1
    after(process, takes, () => {
      if (isFailed) return idle(process)
      endWrite(process.shares)
      read(process)
    })
  }

  function read(process: Process): void {
    const agoMs = beginRead(process.shares)
    after(process, weather.durationMs(), () => {
      const seen = table.filter((row) => row.visibleAt <= now && row.writtenAt >= now - agoMs)
      const others = seen.filter(({ instance }) => instance !== process.instance)
      const newest = new Map(others.sort((a, b) => a.version - b.version).map((row) => [row.instance + row.hash, row]))
      after(process, weather.durationMs(), () => {
        const returns = endRead(
          process.shares,
          [...newest.values()].map(({ writtenAt, visibleAt, ...row }) => row),
        )
        idle(process, returns)
      })
    })
  }

  /** Rounds follow one another while a query waits here or at a peer, else a timer starts them. */
  function idle(process: Process, returns = false): void {
    const isWaiting = returns || uses.some((use) => use.process === process && use.waiting.length > 0)
    process.isIdle = true
    after(process, isWaiting ? random.between(0, 50) : 500, () => write(process))
  }

  const used = ({ meter }: Use) => countOf(meter, MINUTE).credits
  /** Used or reserved; reserved queries of a killed process do not run. */
  const floor = (use: Use) => (use.process.isDead ? used(use) : floorOf(use.share))

  /** Notes what an ended process had used and not written; drops the rows that no read returns any more. */
  function look(use: Use): void {
    const { key, process } = use
    // A row that is stored so late is not in the peers' windows.
    const isOwn = (row: TableRow) =>
      row.instance === process.instance && row.visibleAt <= now && row.visibleAt - row.writtenAt <= MAX_WRITE_MS
    const newest = table.filter(isOwn).reduce((a, b) => Math.max(a, b.version), -1)
    const newestOfKey = table.filter((row) => isOwn(row) && row.hash === key).sort((a, b) => b.version - a.version)[0]
    if (newestOfKey === undefined) return
    table = table.filter((row) => row === newestOfKey || row.hash !== key || !isOwn(row))
    const toldAt = Math.max(...table.filter((row) => isOwn(row) && row.version === newest).map((row) => row.visibleAt))
    if (now - toldAt >= EXPIRE_MS) use.untold = Math.max(use.untold, floor(use) - newestOfKey.credits)
  }

  return {
    processes,
    uses,
    start,
    now: () => now,
    /** The next step of a process, at its time. */
    step(): void {
      const [next] = processes.filter(({ isDead }) => !isDead).sort((a, b) => a.dueAt - b.dueAt)
      if (next === undefined) return
      now = next.dueAt
      next.step()
      for (const use of uses) look(use)
    },
    ask({ process, key, meter, waiting }: Use, cost: number): boolean {
      track(process.shares, key, MINUTE, meter, limit)
      const hold = reserve(meter, { minute: limit, month: 1e9 }, MINUTE, cost)
      if ('window' in hold) return false
      waiting.push(hold)
      if (process.isIdle) process.dueAt = Math.min(process.dueAt, now + random.between(0, 50))
      return true
    },
    /** Starts the queries whose credits are granted. */
    cover({ process, share, waiting, running }: Use): void {
      for (const hold of [...waiting]) {
        if (!cover(process.shares, share, hold)) continue
        waiting.splice(waiting.indexOf(hold), 1)
        running.push(hold)
      }
    },
    finish({ meter, running }: Use): void {
      for (const hold of running.splice(0)) settle(meter, hold, hold.credits)
    },
    giveUp({ meter, waiting }: Use): void {
      for (const hold of waiting.splice(0)) release(meter, hold)
    },
    used: (key: string) => sumOf(uses, key, used),
    untold: (key: string) => sumOf(uses, key, ({ untold }) => untold),
    /** Credits that processes have used, or may use before they read again. */
    spendable: (key: string) =>
      sumOf(uses, key, (use) => {
        const isGranted = !use.process.isDead && isValid(use.process.shares)
        return isGranted ? Math.max(floor(use), use.share.granted) : floor(use)
      }),
  }
}

function sumOf(uses: readonly Use[], key: string, of: (use: Use) => number): number {
  return uses.filter((use) => use.key === key).reduce((sum, use) => sum + of(use), 0)
}

const [KEY = ''] = KEYS
const calm = (random: Random): Weather => ({ durationMs: () => random.between(1, 30), isFailure: () => false })

describe('processes that share the credits of a minute', () => {
  test.each([
    ['while the store is slow', 400, 0, 0],
    ['while writes fail, reads stall and processes are killed', 15_000, 0.05, 0.002],
  ])('never may spend more than the limit together, %s', (_, rareMs, failures, kills) => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), fc.nat(), (limit, seed) => {
        const random = randomOf(seed)
        const world = openWorld(random, limit, {
          durationMs: () => (random.chance(0.05) ? random.between(0, rareMs) : random.between(0, 60)),
          isFailure: () => random.chance(failures),
        })
        world.start(KEYS)
        for (let step = 0; step < 600 && world.now() < WINDOW_MS; step++) {
          if (world.processes.length < 5 && random.chance(0.02)) world.start(KEYS)
          world.step()
          for (const use of world.uses.filter(({ process }) => !process.isDead)) {
            if (random.chance(use.rate)) world.ask(use, 1)
            world.cover(use)
            if (random.chance(0.3)) world.finish(use)
            if (random.chance(0.02)) world.giveUp(use)
            if (random.chance(kills)) use.process.isDead = true
          }
          for (const key of KEYS) expect(world.spendable(key)).toBeLessThanOrEqual(limit + world.untold(key))
        }
        if (kills === 0) expect(world.untold(KEY)).toBe(0)
      }),
      { numRuns: sample('SHARES', 50, 1_000) },
    )
  })

  test('spend all credits where each wants them all, within some rounds, whatever a query costs', () => {
    fc.assert(
      fc.property(fc.nat(), fc.integer({ min: 1, max: 8 }), fc.constantFrom(1, 2, 3, 7, 20), (seed, count, cost) => {
        const random = randomOf(seed)
        const world = openWorld(random, 60, calm(random))
        for (let process = 0; process < count; process++) world.start([KEY])
        for (const use of world.uses) for (let query = 0; query < 60; query++) world.ask(use, cost)
        spendAll(world)
        expect(Math.max(...world.processes.map(({ rounds }) => rounds))).toBeLessThanOrEqual(20)
        expect(world.used(KEY)).toBeLessThan(60 + cost)
      }),
      { numRuns: 200 },
    )
  })

  test.each([1, 60])(
    'return to a lone client of %d parallel queries what they do not use, in two seconds of virtual time',
    (parallel) => {
      fc.assert(
        fc.property(fc.nat(), fc.integer({ min: 2, max: 8 }), (seed, count) => {
          const random = randomOf(seed)
          const world = openWorld(random, 60, calm(random))
          for (let process = 0; process < count; process++) world.start([KEY])
          for (const use of world.uses) world.ask(use, 1)
          for (let step = 0; step < 100; step++) stepAndRun(world)
          const began = world.now()
          const [lone] = world.uses
          if (lone === undefined) throw new Error('There is one.')
          spendAll(world, () => {
            while (lone.waiting.length < parallel && world.ask(lone, 1));
          })
          expect(world.now() - began).toBeLessThan(2_000)
        }),
        { numRuns: 200 },
      )
    },
  )

  function stepAndRun(world: ReturnType<typeof openWorld>): void {
    world.step()
    for (const use of world.uses) {
      world.cover(use)
      world.finish(use)
    }
  }

  function spendAll(world: ReturnType<typeof openWorld>, ask = () => {}): void {
    for (let step = 0; world.used(KEY) < 60; step++) {
      expect(step).toBeLessThan(2_000)
      ask()
      stepAndRun(world)
    }
  }
})

const peers = fc.uniqueArray(
  fc.record({
    id: fc.string({ minLength: 1, maxLength: 4 }),
    claimed: fc.nat(40),
    needed: fc.nat(200),
    credits: fc.nat(40),
    calls: fc.constant(0),
  }),
  { selector: ({ id }) => id, maxLength: 8 },
)
const own = fc.record({
  id: fc.constant('me'),
  limit: fc.nat(200),
  floor: fc.nat(60),
  granted: fc.nat(60),
  isAsked: fc.boolean(),
})

test('a process that is killed returns its claims to its peers after eight seconds', () => {
  let now = 0
  const [killed, peer] = ['a', 'b'].map((instance) => openShares(instance, () => now))
  const meters = [openMeter(undefined), openMeter(undefined)]
  const [hash] = KEYS
  if (!killed || !peer || hash === undefined) throw new Error('There are two processes and a key.')
  const round = (shares: Shares, others: readonly ClaimRow[]) => {
    const rows = beginWrite(shares, MINUTE)
    endWrite(shares)
    beginRead(shares)
    endRead(shares, others)
    return rows
  }
  const [own, other] = meters.map((meter, at) => track(at === 0 ? killed : peer, hash, MINUTE, meter, 60))
  reserve(meters[0] as Meter, { minute: 60, month: 1e6 } as never, MINUTE, 60)
  const claims = round(killed, [])
  expect(own?.granted).toBe(60)
  reserve(meters[1] as Meter, { minute: 60, month: 1e6 } as never, MINUTE, 5)
  for (now = 500; now < EXPIRE_MS; now += 500) {
    round(peer, claims)
    expect(other?.granted).toBe(0)
  }
  for (now = EXPIRE_MS + 1_000; now < EXPIRE_MS + 3_000; now += 500) round(peer, claims)
  expect(other?.granted).toBeGreaterThanOrEqual(5)
})

test('a claim is never below what is used, nor above what the process holds or the peers leave', () => {
  fc.assert(
    fc.property(own, fc.nat(60), peers, (one, more, all) => {
      const claimed = nextClaim({ ...one, needed: one.floor + more }, all)
      const room = one.limit - all.reduce((sum, { claimed }) => sum + claimed, 0)
      expect(claimed).toBeGreaterThanOrEqual(one.floor)
      expect(claimed).toBeLessThanOrEqual(Math.max(one.floor, one.granted, room))
    }),
  )
})
