/** The whole service over a database of the test's own, asked over HTTP. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { WriteEvent } from '../../aggregator/candles/changes.ts'
import { openAccounts } from '../../api/accounts/accounts.ts'
import { createKey } from '../../api/accounts/keys.ts'
import { createApp } from '../../api/app.ts'
import type { TrustedProxies } from '../../api/http/client-address.ts'
import { type ServerTimeouts, serve } from '../../api/http/server.ts'
import type { ApiFact } from '../../api/lib/fact.ts'
import { openMarket } from '../../api/market/market.ts'
import type { Network } from '../../ingest/model/network.ts'
import { HAS_EXTRAS } from '../support/extras.ts'

const { openExtras, openPageCode } = HAS_EXTRAS
  ? { ...(await import('../../api/extras/extras.ts')), ...(await import('../../api/extras/page/page-code.ts')) }
  : {}

export type Service = {
  /** With the service's key, unless headers say otherwise. */
  get(path: string, headers?: Record<string, string>, method?: string): Promise<Reply>
  url: string
  key: string
  /** For the page's link, once. */
  code(): string
  facts: ApiFact[]
  /** Something was written just now, as an aggregator in the same process says. */
  look(written: WriteEvent): void
  /** Reads ahead, as a start does. */
  warm(): Promise<void>
  stop(): Promise<void>
}

export type Reply = { status: number; headers: Headers; body: unknown }

export async function startService(options: {
  client: ClickHouseClient
  accounts?: ClickHouseClient
  networks: readonly Network[]
  clock: () => Date
  /** One that exists already, such as of a service before this one. */
  key?: string
  plan?: 'free' | 'operator'
  /** How old may be what is held in memory; nothing is where absent. */
  freshMs?: number
  /** How often changes are looked for; rarely where nothing is held in memory, since every question reads the tables then. */
  pollMs?: number
  cacheBytes?: number
  billingStart?: Date
  embedOrigins?: readonly string[]
  trustedProxies?: TrustedProxies
  timeouts?: Partial<ServerTimeouts>
}): Promise<Service> {
  const {
    client,
    networks,
    clock,
    accounts: accountClient = client,
    plan = 'operator',
    billingStart,
    timeouts,
  } = options
  const { freshMs = 0, pollMs = freshMs === 0 ? 500 : 50, cacheBytes } = options
  const facts: ApiFact[] = []
  const report = (fact: ApiFact) => facts.push(fact)
  const key = options.key ?? (await createKey({ client: accountClient, plan, name: 'test', billingStart }))
  const market = openMarket({
    reader: client,
    networks,
    clock,
    freshMs,
    pollMs,
    ...(cacheBytes !== undefined && { cacheBytes }),
  })
  const accounts = openAccounts({ client: accountClient, clock, report })
  const stopping = new AbortController()
  const pageCode = openPageCode?.(clock)
  const { embedOrigins, trustedProxies } = options
  const extras = openExtras?.({ embedOrigins, pageCode })
  const app = createApp({ market, accounts, clock, report, trustedProxies, extras })
  const serving = await serve({ app, host: '127.0.0.1', port: 0, signal: stopping.signal, report, ...timeouts })
  const url = `http://127.0.0.1:${serving.port}`
  return {
    url,
    key,
    code: () => pageCode?.issue(key) ?? '',
    facts,
    look: market.onFlush,
    warm: market.warm,
    async get(path, headers = { 'X-API-KEY': key }, method = 'GET') {
      const response = await fetch(url + path, { headers, method })
      const text = await response.text()
      const body: unknown =
        response.headers.get('content-type')?.includes('json') && text !== '' ? JSON.parse(text) : text
      return { status: response.status, headers: response.headers, body }
    },
    async stop() {
      stopping.abort()
      await serving.closed
      await accounts.close()
    },
  }
}

/** A stream that is read, and so stays open: the service applies every notification of a write, however long it is not asked. */
export async function openStream({ url, key }: Service, path: string): Promise<{ close(): void }> {
  const stop = new AbortController()
  const headers = { 'X-API-KEY': key, Accept: 'text/event-stream' }
  const response = await fetch(url + path, { headers, signal: stop.signal })
  if (response.status !== 200) throw new Error(`The stream is refused with ${response.status}.`)
  void response.text().catch(() => undefined)
  return { close: () => stop.abort() }
}
