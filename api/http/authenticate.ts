/** Authenticates a request by its key, and counts the call. */
import type { Request, RequestHandler, Response } from 'express'
import type { Account, Accounts } from '../accounts/accounts.ts'
import { Problem } from '../lib/problem.ts'
import type { AuthThrottle } from './auth-throttle.ts'
import type { ClientAddress } from './client-address.ts'
import { beforeHead } from './headers.ts'

/** A route of an authenticated account. */
export type AccountHandler = (account: Account, req: Request, res: Response) => Promise<void>
export type Authenticate = (handler: AccountHandler) => RequestHandler

/** The account of a request with these keys from this address. Throws `unauthorized`, and `too_many_failures` after too many. */
export type Identify = (keys: readonly string[], address: string) => Promise<Account>

export function openIdentify(options: { accounts: Accounts; failures: AuthThrottle; clock: () => Date }): Identify {
  const { accounts, failures, clock } = options
  return async (keys, address) => {
    const now = clock().getTime() / 1000
    const wait = failures.retryAfterSeconds(address, now)
    const [key] = keys
    // Wrong keys of the same address change nothing for a right one.
    const account = keys.length === 1 && key !== undefined ? await accounts.find(key, address) : undefined
    if (account !== undefined) return account
    failures.recordFailure(address, now)
    throw wait > 0 ? tooManyFailures(wait) : unauthorized(keys.length)
  }
}

export function openAuthenticate(identify: Identify, accounts: Accounts, addressOf: ClientAddress): Authenticate {
  return (handler) =>
    async function authenticated(req, res) {
      const account = await identify(req.headersDistinct['x-api-key'] ?? [], addressOf(req))
      limitHeaders(res, accounts, account)
      await accounts.countCall(account)
      await handler(account, req, res)
    }
}

/** `RateLimit` headers when the head is written: the credits are settled by then. */
export function limitHeaders(res: Response, accounts: Accounts, account: Account): void {
  beforeHead(res, () => {
    if (!res.hasHeader('RateLimit')) res.set(accounts.rateLimits(account))
  })
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
