/** The API as a running part: over the tables, on its port, until the signal aborts. */
import type { WriteEvent } from '../../aggregator/candles/changes.ts'
import { openAccounts } from '../../api/accounts/accounts.ts'
import { createApp } from '../../api/app.ts'
import { openExtras } from '../../api/extras/extras.ts'
import type { PageCode } from '../../api/extras/page/page-code.ts'
import { type Serving, serve } from '../../api/http/server.ts'
import { openMarket } from '../../api/market/market.ts'
import type { Network } from '../../ingest/model/network.ts'
import type { Store } from '../clickhouse/store.ts'
import { isApiProcess, turnOfFirstProcess } from './api-processes.ts'
import { watchProblems } from './problems.ts'
import type { Run } from './run.ts'

/** Shorter than an orderly stop may take, since usage is stored afterwards. */
const ANSWER_MS = 7_000
const DRAIN_MS = 3_000

/** Polling intervals without and with notifications of writes in the same process. */
const POLL_MS = 50
const NOTIFIED_POLL_MS = 500

/**
 * Resolves once the port is open; `closed` once the last answer is sent and all usage is stored. `warm` fills the caches for the first answers.
 * `onWritten` is given a function to call after each write.
 */
export async function startApi(
  networks: readonly Network[],
  store: Store,
  run: Run,
  onWritten?: (look: (written: WriteEvent) => void) => void,
  pageCode?: PageCode,
): Promise<Serving & { warm(): void }> {
  const { config, report, signal } = run
  for (const { name } of networks) report({ kind: 'stage-started', stage: 'api', network: name })
  const clock = () => new Date()
  const pollMs = onWritten ? NOTIFIED_POLL_MS : POLL_MS
  const market = openMarket({ reader: store.reader, networks, clock, pollMs, report })
  onWritten?.(market.onFlush)
  const accounts = openAccounts({ client: store.accounts, clock, report })
  const problems = watchProblems(run, store)
  const { host, port, corsOrigins, embedOrigins, trustedProxies } = config
  const extras = openExtras({ embedOrigins, pageCode })
  const app = createApp({ market, accounts, clock, report, origins: corsOrigins, trustedProxies, problems, extras })
  const turnOfAcceptor = isApiProcess() ? turnOfFirstProcess : undefined
  const limits = { drainMs: DRAIN_MS, answerMs: ANSWER_MS }
  const serving = await serve({ app, host, port, signal, report, ...limits, turnOfAcceptor })
  // A failed read is repeated by the query that needs it, which gets the error.
  const warm = () => void market.warm().catch(() => undefined)
  return { ...serving, warm, closed: serving.closed.then(() => accounts.close()) }
}
