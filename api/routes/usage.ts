/** GET /v0/usage: free, and answered when all credits are used. */
import type { Account, Accounts } from '../accounts/accounts.ts'
import type { Usage } from '../accounts/credits.ts'
import type { AccountHandler } from '../http/authenticate.ts'
import { sendAnswer } from '../http/headers.ts'
import { formatTime } from '../query/time.ts'

export function getUsage(accounts: Accounts): AccountHandler {
  return async function usage(account, _req, res) {
    sendAnswer(res, toBody(account, await accounts.usage(account)), false)
  }
}

function toBody(account: Account, { minute, month }: Usage) {
  return {
    credits: {
      minute: {
        used: minute.credits,
        limit: minute.limit,
        remaining: minute.remaining,
        reset_at: formatTime(minute.resetAt),
      },
      month: {
        used: month.credits,
        limit: month.limit,
        remaining: month.remaining,
        reset_at: formatTime(month.resetAt),
        billing_period_start: account.billingStart === undefined ? null : formatTime(month.start),
      },
    },
    api_calls: { minute: { used: minute.calls }, month: { used: month.calls } },
    subscription_plan: account.plan,
  }
}
