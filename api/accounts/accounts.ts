/** Who asks, and what it costs them: keys from the store, meters in memory, counts written every second. */
import { randomUUID } from 'node:crypto'
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { Report } from '../../ingest/model/report.ts'
import type { ApiFact } from '../lib/fact.ts'
import { type Allowance, isPlan, PLANS, type PlanName } from '../lib/plan.ts'
import { PROBLEMS, Problem } from '../lib/problem.ts'
import {
  countCall,
  exhausted,
  type Meter,
  openMeter,
  type Refusal,
  release,
  reserve,
  settle,
  type Usage,
  usageOf,
} from './credits.ts'
import { openClaimExchange } from './exchange.ts'
import { openKeyCache } from './key-ring.ts'
import { hashKey, type KeyHash, type KeyRecord } from './keys.ts'
import { minuteOf } from './period.ts'
import { queueNearLimit } from './turn.ts'
import { openUsageBefore } from './usage-before.ts'
import { usageWriter } from './usage-writer.ts'

export type Account = {
  hash: KeyHash
  id: string
  plan: PlanName
  billingStart: UnixSeconds | undefined
}

export type Accounts = {
  /** `eager`: a key that nobody knows yet is looked for in the store at once, else within a second. */
  find(key: string, eager: boolean): Promise<Account | undefined>
  countCall(account: Account): Promise<void>
  /** Asks once the known part of the cost is set aside; throws a 429 where no credit is left. A refusal of the question, which took a search, costs a credit; a failure of ours nothing. */
  charge<Answer extends { cost: number }>(
    account: Account,
    known: number,
    question: () => Promise<Answer>,
  ): Promise<Answer>
  usage(account: Account): Promise<Usage>
  /** Headers that say what is left, as this process has counted so far; none before its first count of the account. */
  rateLimits(account: Account): Readonly<Record<string, string>>
  /** Stores what is not stored yet. */
  close(): Promise<void>
}

/** `era`: of the exchange, in which it was loaded. */
type Metered = { meter: Meter; era: number; loaded: Promise<void> }

export function openAccounts(options: {
  /** May read `api_keys` and `usage`, and insert into `usage`. */
  client: ClickHouseClient
  clock: () => Date
  report: Report<ApiFact>
  /** How old keys and other processes' counts may be. */
  freshMs?: number
  flushMs?: number
}): Accounts {
  const { client, clock, report, freshMs = 1_000, flushMs = 1_000 } = options
  const instance = randomUUID()
  const metered = new Map<KeyHash, Metered>()
  const unknownPlans = new Set<string>()
  /** Once for each account, however often its key is read. */
  function reportPlan(account: string, plan: string): void {
    if (unknownPlans.has(account)) return
    unknownPlans.add(account)
    report({ kind: 'unknown-plan', account, plan })
  }
  const keys = openKeyCache(client, freshMs)
  const exchange = openClaimExchange({ client, instance, clock, freshMs })
  const loadBefore = openUsageBefore(client, instance)
  const writer = usageWriter({ client, instance, clock, report, flushMs })

  async function meterOf(account: Account): Promise<Meter> {
    const { hash, billingStart } = account
    const entry = metered.get(hash) ?? { meter: openMeter(billingStart), era: -1, loaded: Promise.resolve() }
    if (entry.era === -1) {
      metered.set(hash, entry)
      writer.watch(hash, entry.meter)
    }
    const era = await exchange.refresh()
    if (entry.era !== era) {
      entry.era = era
      entry.loaded = loadBefore(hash, entry.meter, seconds(clock)).then(() => exchange.attach(hash, entry.meter))
      // It is loaded again for the next question.
      entry.loaded.catch(() => {
        entry.era = -1
      })
    }
    await entry.loaded
    return entry.meter
  }

  return {
    async find(key, eager) {
      const record = await keys.find(hashKey(key), eager)
      return record && toAccount(record, reportPlan)
    },
    async countCall(account) {
      const meter = await meterOf(account)
      const now = seconds(clock)
      countCall(meter, now)
      exchange.track(account.hash, meter, PLANS[account.plan].minute, minuteOf(now).start)
    },
    async charge(account, known, question) {
      const meter = await meterOf(account)
      const allowance = PLANS[account.plan]
      const hold = reserve(meter, allowance, seconds(clock), known)
      if ('window' in hold) throw creditsExceeded(hold, meter, allowance, seconds(clock))
      const pay = (credits: number) => {
        settle(meter, hold, credits)
        report({ kind: 'credits-charged', plan: account.plan, credits })
      }
      try {
        if (!(await exchange.acquire(account.hash, meter, allowance.minute, hold))) {
          // What others hold and do not use may come back before the minute ends.
          const resetAt = seconds(clock) + 1
          throw creditsExceeded({ window: 'minute', resetAt }, meter, allowance, seconds(clock))
        }
        return await queueNearLimit(
          meter,
          () => exchange.freeCredits(account.hash, hold),
          async () => {
            const refusal = exhausted(meter, allowance, hold)
            if (refusal !== undefined) throw creditsExceeded(refusal, meter, allowance, seconds(clock))
            const answer = await question().catch((error: unknown) => {
              if (isRefusal(error)) pay(REFUSAL_COST)
              throw error
            })
            pay(answer.cost)
            return answer
          },
        )
      } finally {
        release(meter, hold)
      }
    },
    async usage(account) {
      return usageOf(await meterOf(account), PLANS[account.plan], seconds(clock))
    },
    rateLimits(account) {
      const meter = metered.get(account.hash)?.meter
      if (!meter) return {}
      const allowance = PLANS[account.plan]
      const now = seconds(clock)
      return rateLimitsOf(usageOf(meter, allowance, now), now)
    },
    async close() {
      await exchange.close()
      await writer.close()
    },
  }
}

/** The search for a pool was made, whatever it found. */
const REFUSAL_COST = 1

function isRefusal(error: unknown): boolean {
  return error instanceof Problem && PROBLEMS[error.code].status < 500
}

function seconds(clock: () => Date): UnixSeconds {
  return Math.floor(clock().getTime() / 1000)
}

/** A plan that this version does not know gives what the smallest one gives. */
function toAccount(record: KeyRecord, onUnknown: (account: string, plan: string) => void): Account {
  const { hash, id, plan, billingStart } = record
  if (isPlan(plan)) return { hash, id, plan, billingStart }
  onUnknown(id, plan)
  return { hash, id, plan: 'free', billingStart }
}

function creditsExceeded(refusal: Refusal, meter: Meter, allowance: Allowance, now: UnixSeconds): Problem {
  const { window, resetAt } = refusal
  const wait = Math.max(1, resetAt - now)
  const usage = usageOf(meter, allowance, now)
  // What is held for questions under way is as good as used.
  usage[window].remaining = 0
  return new Problem(
    `${window}_credits_exceeded`,
    `The ${allowance[window]} credits of this ${window} are used up. They come back in ${wait} s; /v0/usage says how many are left.`,
    {
      headers: { 'Retry-After': String(wait), ...rateLimitsOf(usage, now) },
    },
  )
}

function rateLimitsOf({ minute, month }: Usage, now: UnixSeconds): Record<string, string> {
  return {
    'RateLimit-Policy': `"minute";q=${minute.limit};w=60, "month";q=${month.limit};w=${month.resetAt - month.start}`,
    RateLimit: `"minute";r=${minute.remaining};t=${minute.resetAt - now}, "month";r=${month.remaining};t=${month.resetAt - now}`,
  }
}
