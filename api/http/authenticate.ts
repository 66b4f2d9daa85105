/** Authenticates a request by its key, and counts the call. */
import type { Request, RequestHandler, Response } from 'express'
import type { Account, Accounts } from '../accounts/accounts.ts'
import { Problem } from '../lib/problem.ts'
import type { AuthThrottle } from './auth-throttle.ts'
import { beforeHead } from './headers.ts'

/** A route of an authenticated account. */
export type AccountHandler = (account: Account, req: Request, res: Response) => Promise<void>
export type Authenticate = (handler: AccountHandler) => RequestHandler

export function openAuthenticate(options: {
  accounts: Accounts
  failures: AuthThrottle
  clock: () => Date
}): Authenticate {
  const { accounts, failures, clock } = options
  return (handler) =>
    async function authenticated(req, res) {
      const now = clock().getTime() / 1000
      const address = req.ip ?? req.socket.remoteAddress ?? ''
      const wait = failures.retryAfterSeconds(address, now)
      const keys = req.headersDistinct['x-api-key'] ?? []
      const [key] = keys
      // A throttled address cannot cause a read at once; a valid key passes all the same.
      const account = keys.length === 1 && key !== undefined ? await accounts.find(key, wait === 0) : undefined
      if (account === undefined) {
        failures.recordFailure(address, now)
        throw wait > 0 ? tooManyFailures(wait) : unauthorized(keys.length)
      }
      beforeHead(res, () => {
        if (!res.hasHeader('RateLimit')) res.set(accounts.rateLimits(account))
      })
      await accounts.countCall(account)
      await handler(account, req, res)
    }
}

function unauthorized(keys: number): Problem {
  const what =
    keys === 0
      ? 'The header X-API-KEY is missing.'
      : keys > 1
        ? 'The header X-API-KEY was sent more than once.'
        : 'The key in X-API-KEY is not known.'
  return new Problem('unauthorized', `${what} Send one header X-API-KEY with a key that the operator gave you.`, {
    headers: { 'WWW-Authenticate': 'ApiKey realm="candlepool", header="X-API-KEY"' },
  })
}

export function tooManyFailures(wait: number): Problem {
  return new Problem('too_many_failures', `Too many requests from this address had no good key. Wait ${wait} s.`, {
    headers: { 'Retry-After': String(wait) },
  })
}
