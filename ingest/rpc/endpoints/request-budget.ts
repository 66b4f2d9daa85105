/** Request budget of one network: requests a second and a UTC day, over all of its endpoints and all readers of this process. */
import { pause } from '../../lib/wait.ts'
import type { IngestFact } from '../../model/fact.ts'
import type { NetworkName } from '../../model/network.ts'
import type { Report } from '../../model/report.ts'
import { RETRY_POLICY } from '../retry-policy.ts'
import { type Priority, RateLimiter } from './rate-limiter.ts'

export type BudgetLimits = {
  perSecond: number | undefined
  /** The day is one of UTC. */
  perDay: number | undefined
}

/** Requests of each UTC day, kept over restarts and shared by the processes of a deployment. */
export type RequestCount = {
  /** Adds to the count of a day (`2026-11-24`), and resolves to its sum. Does not reject. */
  add(day: string, requests: number): Promise<number>
}

/** Share of a day that backfills and audits leave to live following. */
const LIVE_RESERVE = 0.2
/** The count is stored once for so many requests, in advance: after a crash it is too high by as many at most, and never too low. */
const CLAIMS_PER_DAY = 1_000
const MIN_CLAIM = 10
/** Longest wait before the clock is read again: it may be set. */
const MAX_WAIT_MS = 60_000
const DAY_MS = 86_400_000

export class RequestBudget {
  readonly #network: NetworkName
  readonly #limits: BudgetLimits
  readonly #count: RequestCount
  readonly #report: Report<IngestFact>
  readonly #limiter: RateLimiter | undefined
  #day = ''
  /** The day's count; `#left` of it are claimed and not sent. */
  #counted = 0
  #left = 0
  #claiming: Promise<void> | undefined
  readonly #reported = new Set<Priority>()

  constructor(network: NetworkName, limits: BudgetLimits, count: RequestCount, report: Report<IngestFact>) {
    this.#network = network
    this.#limits = limits
    this.#count = count
    this.#report = report
    if (limits.perSecond !== undefined) this.#limiter = new RateLimiter(RETRY_POLICY, limits.perSecond)
  }

  get perSecond(): number {
    return this.#limits.perSecond ?? Number.POSITIVE_INFINITY
  }

  /** Requests that `history` may still send today. */
  get leftForHistory(): number {
    const { perDay } = this.#limits
    return perDay === undefined ? Number.POSITIVE_INFINITY : Math.max(0, this.#shareOf('history', perDay) - this.#used)
  }

  /** Requests that `history` may send in a whole day. */
  get perDayOfHistory(): number {
    const { perDay } = this.#limits
    return perDay === undefined ? Number.POSITIVE_INFINITY : this.#shareOf('history', perDay)
  }

  /** Resolves when one request may be sent, or when the signal aborts. */
  async take(signal: AbortSignal, priority: Priority): Promise<void> {
    const { perDay } = this.#limits
    if (perDay !== undefined) {
      while (!signal.aborted && !(await this.#takeOfDay(perDay, priority))) {
        await pause(Math.min(MAX_WAIT_MS, DAY_MS - (Date.now() % DAY_MS)), signal)
      }
    }
    await this.#limiter?.take(signal, priority)
  }

  /** False where the day has none left for this priority. */
  async #takeOfDay(perDay: number, priority: Priority): Promise<boolean> {
    for (;;) {
      const day = dayOf(Date.now())
      if (day === this.#day) {
        if (this.#used >= this.#shareOf(priority, perDay)) {
          this.#reportReached(priority, perDay)
          return false
        }
        if (this.#left > 0) {
          this.#left--
          // The next claim is stored while this one is used.
          if (this.#left < claimOf(perDay) / 2 && this.#counted < perDay) void this.#claim(day, perDay)
          return true
        }
      }
      await this.#claim(day, perDay)
    }
  }

  get #used(): number {
    return this.#counted - this.#left
  }

  #shareOf(priority: Priority, perDay: number): number {
    return priority === 'live' ? perDay : Math.floor(perDay * (1 - LIVE_RESERVE))
  }

  #claim(day: string, perDay: number): Promise<void> {
    this.#claiming ??= this.#addClaim(day, perDay).finally(() => {
      this.#claiming = undefined
    })
    return this.#claiming
  }

  async #addClaim(day: string, perDay: number): Promise<void> {
    // A new day begins with the counts of other processes, and of this one before a restart.
    const claim = day === this.#day ? Math.max(0, Math.min(claimOf(perDay), perDay - this.#counted)) : 0
    const used = await this.#count.add(day, claim)
    if (day !== this.#day) {
      this.#day = day
      this.#left = 0
      this.#reported.clear()
    }
    this.#counted = used
    this.#left += claim
    this.#report({ kind: 'budget-counted', network: this.#network, used, perDay })
  }

  #reportReached(priority: Priority, perDay: number): void {
    if (this.#reported.has(priority)) return
    this.#reported.add(priority)
    const kind = priority === 'live' ? 'budget-reached' : 'budget-reserved'
    this.#report({ kind, network: this.#network, used: this.#used, perDay })
  }
}

function claimOf(perDay: number): number {
  return Math.max(MIN_CLAIM, Math.ceil(perDay / CLAIMS_PER_DAY))
}

/** The UTC day: `2026-11-24`. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}
