/** Accounts of API keys: keys cached from the store, credit meters in memory, counts written every second. */
import { randomUUID } from 'node:crypto'
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { Report } from '../../ingest/model/report.ts'
import type { ApiFact } from '../lib/fact.ts'
import { isPlan, PLANS, type PlanName } from '../lib/plan.ts'
import { PROBLEMS, Problem } from '../lib/problem.ts'
import { countCall, exhausted, release, reserve, settle, type Usage, usageOf } from './credits.ts'
import { openKeyCache } from './key-cache.ts'
import { hashKey, type KeyHash, type KeyRecord } from './keys.ts'
import { type MeterTable, openMeterTable } from './meters.ts'
import { queueNearLimit } from './near-limit.ts'
import { minuteOf } from './period.ts'
import { creditsExceeded, rateLimitsOf } from './rate-limits.ts'
import { openShareRounds, type ShareRounds } from './share-rounds.ts'
import { openUsageWriter } from './usage-writer.ts'

export type Account = {
  hash: KeyHash
  id: string
  plan: PlanName
  billingStart: UnixSeconds | undefined
}

export type Accounts = {
  /** Undefined for an unknown key. Keys that are not cached are read for one address after the other. */
  find(key: string, address: string): Promise<Account | undefined>
  countCall(account: Account): Promise<void>
  /**
   * Runs the query once the known part of its cost is reserved; throws a 429 where no credit is left. A refused query (a problem below 500)
   * costs one credit for its search, a failure of the service none.
   */
  charge<Answer extends { cost: number }>(
    account: Account,
    known: number,
    query: () => Promise<Answer>,
  ): Promise<Answer>
  usage(account: Account): Promise<Usage>
  /** `RateLimit` headers by the counts of this process; empty before its first count of the account. */
  rateLimits(account: Account): Readonly<Record<string, string>>
  /** Writes the counts that are not stored yet. */
  close(): Promise<void>
}

export function openAccounts(options: {
  /** May read `api_keys` and `usage`, and insert into `usage`. */
  client: ClickHouseClient
  clock: () => Date
  report: Report<ApiFact>
}): Accounts {
  const { client, clock, report } = options
  const instance = randomUUID()
  const now = () => Math.floor(clock().getTime() / 1000)
  const keys = openKeyCache(client)
  const shares = openShareRounds(client, instance, now)
  const writer = openUsageWriter({ client, instance, clock, report })
  const meters = openMeterTable({ client, instance, now, shares, writer })
  const reportPlan = planReporter(report)

  return {
    async find(key, address) {
      const record = await keys.find(hashKey(key), address)
      return record && toAccount(record, reportPlan)
    },
    async countCall(account) {
      const meter = await meters.load(account)
      countCall(meter, now())
      shares.track(account.hash, meter, PLANS[account.plan].minute, minuteOf(now()).start)
    },
    charge: (account, known, query) => charge({ shares, meters, now, report }, account, known, query),
    async usage(account) {
      return usageOf(await meters.load(account), PLANS[account.plan], now())
    },
    rateLimits(account) {
      const meter = meters.loaded(account)
      return meter ? rateLimitsOf(usageOf(meter, PLANS[account.plan], now()), now()) : {}
    },
    async close() {
      await shares.close()
      await writer.close()
    },
  }
}

type Charging = { shares: ShareRounds; meters: MeterTable; now: () => UnixSeconds; report: Report<ApiFact> }

/** Reserve, claim among the processes, run, settle. */
async function charge<Answer extends { cost: number }>(
  { shares, meters, now, report }: Charging,
  account: Account,
  known: number,
  query: () => Promise<Answer>,
): Promise<Answer> {
  const meter = await meters.load(account)
  const allowance = PLANS[account.plan]
  const hold = reserve(meter, allowance, now(), known)
  if ('window' in hold) throw creditsExceeded(hold, meter, allowance, now())
  const pay = (credits: number) => {
    settle(meter, hold, credits)
    report({ kind: 'credits-charged', plan: account.plan, credits })
  }
  const run = async () => {
    const refusal = exhausted(meter, allowance, hold)
    if (refusal !== undefined) throw creditsExceeded(refusal, meter, allowance, now())
    const answer = await query().catch((error: unknown) => {
      if (isRefusal(error)) pay(REFUSAL_COST)
      throw error
    })
    pay(answer.cost)
    return answer
  }
  try {
    const freeCredits = await shares.acquire(account.hash, meter, allowance.minute, hold)
    if (freeCredits === undefined) {
      // A peer may give unused credits back before the minute ends.
      throw creditsExceeded({ window: 'minute', resetAt: now() + 1 }, meter, allowance, now())
    }
    return await queueNearLimit(meter, freeCredits, run)
  } finally {
    release(meter, hold)
  }
}

/** A refused query has searched for a pool. */
const REFUSAL_COST = 1

function isRefusal(error: unknown): boolean {
  return error instanceof Problem && PROBLEMS[error.code].status < 500
}

/** Reports an unknown plan once for each account. */
function planReporter(report: Report<ApiFact>): (account: string, plan: string) => void {
  const reported = new Set<string>()
  return (account, plan) => {
    if (reported.has(account)) return
    reported.add(account)
    report({ kind: 'unknown-plan', account, plan })
  }
}

/** An unknown plan has the allowance of the smallest one. */
function toAccount(record: KeyRecord, onUnknown: (account: string, plan: string) => void): Account {
  const { hash, id, plan, billingStart } = record
  if (isPlan(plan)) return { hash, id, plan, billingStart }
  onUnknown(id, plan)
  return { hash, id, plan: 'free', billingStart }
}
