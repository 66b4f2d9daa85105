/** The port for interfaces beside the four operations: each gets the service and returns its routes. The core does not import them. */
import type { RequestHandler } from 'express'
import type { Report } from '../../ingest/model/report.ts'
import type { Accounts } from '../accounts/accounts.ts'
import type { ApiFact } from '../lib/fact.ts'
import type { Market } from '../market/market.ts'
import type { AccountHandler, Authenticate, Identify } from './authenticate.ts'
import type { ClientAddress } from './client-address.ts'

export type ApiService = {
  market: Market
  /** A query that waits for credits of its key takes no slot of the concurrency limit. */
  accounts: Accounts
  clock: () => Date
  report: Report<ApiFact>
  identify: Identify
  authenticate: Authenticate
  addressOf: ClientAddress
}

export type Extras = {
  /** By path. */
  get: Readonly<Record<string, RequestHandler>>
  /** By path, in order: routes of `post` come before routes of `get`. */
  post: Readonly<Record<string, readonly RequestHandler[]>>
  /** Answers of the requests that prefer a stream. */
  streams: { candles: AccountHandler; ticks: AccountHandler }
}

export type OpenExtras = (service: ApiService) => Extras
