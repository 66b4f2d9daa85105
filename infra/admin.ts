/** The operator's port: whether a process lives, and whether it is ready, with the reasons why not. */
import express from 'express'
import { serve } from '../api/server.ts'
import type { Run } from './run.ts'
import type { Store } from './store.ts'

/** Only this machine may ask: the port has no key. */
const ADMIN_HOST = '127.0.0.1'

/** Serves until the signal aborts; does nothing where ADMIN_PORT is not set. */
export async function startAdmin(store: Store, { config, report, signal }: Run): Promise<void> {
  if (config.adminPort === undefined) return
  const app = express().disable('x-powered-by')
  app.get('/health/live', (_request, response) => {
    response.json({ status: 'live' })
  })
  app.get('/health/ready', async (_request, response) => {
    const answered = await store.owner.ping()
    if (answered.success) response.json({ status: 'ready' })
    else response.status(503).json({ status: 'not ready', reasons: ['ClickHouse does not answer.'] })
  })
  await serve({ app, host: ADMIN_HOST, port: config.adminPort, signal, report, drainMs: 0 })
}
