/** Who asks, and what it costs them: keys from the store, meters in memory, counts written every second. */
import { randomUUID } from 'node:crypto'
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../ingest/message.ts'
import type { Report } from '../ingest/report.ts'
import {
  countCall,
  type Meter,
  openMeter,
  type Refusal,
  release,
  reserve,
  settle,
  type Usage,
  usageOf,
} from './credits.ts'
import { hashKey, type KeyHash, type KeyRecord, listKeys } from './keys.ts'
import { minuteOf, monthOf } from './period.ts'
import { type Allowance, isPlan, PLANS, type PlanName } from './plan.ts'
import { PROBLEMS, Problem } from './problem.ts'
import { type Refreshed, refreshed } from './refreshed.ts'
import type { ApiFact } from './report.ts'
import { ask, readSql } from './store.ts'
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
  /** Stores what is not stored yet. */
  close(): Promise<void>
}

const OTHERS = readSql(new URL('./usage-others.sql', import.meta.url))

type OthersRow = Record<'minute_credits' | 'minute_calls' | 'month_credits' | 'month_calls', number | string>
type Metered = { meter: Meter; others: Refreshed<void> }

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
  const keys = refreshed(async () => {
    const records = (await listKeys(client)).filter((record) => record.revoked === undefined)
    return new Map(records.map((record) => [record.hash, toAccount(record, reportPlan)]))
  }, freshMs)
  const writer = usageWriter({ client, instance, clock, report, flushMs })

  async function meterOf(account: Account): Promise<Meter> {
    let entry = metered.get(account.hash)
    if (entry === undefined) {
      const meter = openMeter(account.billingStart)
      const load = () => loadOthers(client, instance, account, meter, seconds(clock))
      entry = { meter, others: refreshed(load, freshMs) }
      metered.set(account.hash, entry)
      writer.watch(account.hash, meter)
    }
    await entry.others.get()
    return entry.meter
  }

  return {
    async find(key, eager) {
      const hash = hashKey(key)
      const account = (await keys.get()).get(hash)
      if (account !== undefined || !eager) return account
      return (await keys.renew()).get(hash)
    },
    async countCall(account) {
      countCall(await meterOf(account), seconds(clock))
    },
    async charge(account, known, question) {
      const meter = await meterOf(account)
      const allowance = PLANS[account.plan]
      const hold = reserve(meter, allowance, seconds(clock), known)
      if ('window' in hold) throw creditsExceeded(hold, meter, allowance, seconds(clock))
      try {
        const answer = await question().catch((error: unknown) => {
          // No more than is held, so that it is never refused.
          if (isRefusal(error)) {
            settle(meter, allowance, hold, REFUSAL_COST)
            report({ kind: 'credits-charged', plan: account.plan, credits: REFUSAL_COST })
          }
          throw error
        })
        const refusal = settle(meter, allowance, hold, answer.cost)
        if (refusal !== undefined) throw creditsExceeded(refusal, meter, allowance, seconds(clock))
        report({ kind: 'credits-charged', plan: account.plan, credits: answer.cost })
        return answer
      } finally {
        release(meter, hold)
      }
    },
    async usage(account) {
      return usageOf(await meterOf(account), PLANS[account.plan], seconds(clock))
    },
    close: () => writer.close(),
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

async function loadOthers(
  client: ClickHouseClient,
  instance: string,
  account: Account,
  meter: Meter,
  now: UnixSeconds,
): Promise<void> {
  const minute = minuteOf(now)
  const month = monthOf(now, account.billingStart)
  const parameters = {
    hash: account.hash,
    instance,
    minute: minute.start,
    month_start: month.start,
    month_end: month.end,
  }
  const [row] = await ask<OthersRow>(client, OTHERS, parameters)
  if (row === undefined) return
  meter.others = {
    minute: { start: minute.start, credits: Number(row.minute_credits), calls: Number(row.minute_calls) },
    month: { start: month.start, credits: Number(row.month_credits), calls: Number(row.month_calls) },
  }
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
      headers: {
        'Retry-After': String(wait),
        'RateLimit-Policy': `"minute";q=${allowance.minute};w=60, "month";q=${allowance.month};w=${usage.month.resetAt - usage.month.start}`,
        RateLimit: `"minute";r=${usage.minute.remaining};t=${usage.minute.resetAt - now}, "month";r=${usage.month.remaining};t=${usage.month.resetAt - now}`,
      },
    },
  )
}
