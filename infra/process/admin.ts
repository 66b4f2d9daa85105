/** The operator's port: metrics, whether the process lives, and whether it is ready, with the reasons why not. */
import express from 'express'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { serve } from '../../api/http/server.ts'
import { readTips } from '../../api/market/model/tip.ts'
import type { Store } from '../clickhouse/store.ts'
import { withTimeout } from '../lib/with-timeout.ts'
import { storeMetrics } from '../telemetry/metrics-store.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { type ApiProcesses, isApiProcess, shareMetrics } from './api-processes.ts'
import type { Run } from './run.ts'

/** Below the usual timeout of health probes. */
const TIMEOUT_MS = 2_000

export type Admin = {
  /** Until this is called, the process is not ready. */
  setStore(store: Pick<Store, 'owner' | 'servers'>): void
  /** The metrics of these processes replace the metrics of this one. It is ready only while all of them are. */
  setProcesses(processes: Pick<ApiProcesses, 'reasons' | 'metrics'>): void
}

/** Serves until the signal aborts; does nothing where ADMIN_PORT is not set. The port has no key. Opens before the tables do, since one may wait for them long. */
export async function startAdmin(
  { config, report, signal }: Pick<Run, 'config' | 'report' | 'signal'>,
  { metrics, readiness }: Pick<Telemetry, 'metrics' | 'readiness'>,
): Promise<Admin> {
  let store: Pick<Store, 'owner' | 'servers'> | undefined
  let processes: Pick<ApiProcesses, 'reasons' | 'metrics'> | undefined
  const admin: Admin = {
    setStore(it) {
      store = it
    },
    setProcesses(it) {
      processes = it
    },
  }
  if (config.adminPort === undefined) return admin
  // The port is that of the first process.
  if (isApiProcess()) {
    shareMetrics(metrics)
    return admin
  }
  collectDefaultMetrics({ register: metrics })
  const ofStore = new Registry()
  const updateStoreMetrics = storeMetrics(ofStore)

  async function reasonsNow(): Promise<string[]> {
    if (!store) return ['The tables are not open yet: ClickHouse is started or waited for.']
    try {
      const tips = await withTimeout(readTips(store.owner, readiness.networks()), TIMEOUT_MS)
      const view = { now: Date.now() / 1000, maxTipAgeSeconds: config.readyTipSeconds, tips }
      return [...(processes?.reasons() ?? []), ...readiness.reasons(view)]
    } catch {
      return ['ClickHouse does not answer.']
    }
  }

  const app = express().disable('x-powered-by')
  app.get('/health/live', (_request, response) => {
    response.json({ status: 'live' })
  })
  app.get('/health/ready', async (_request, response) => {
    const reasons = await reasonsNow()
    const standingBy = readiness.standingBy()
    const status = reasons.length > 0 ? 'not ready' : standingBy.length > 0 ? 'standing by' : 'ready'
    response.status(reasons.length > 0 ? 503 : 200).json({ status, reasons, standingBy })
  })
  app.get('/metrics', async (_request, response) => {
    await updateStoreMetrics(store?.servers ?? [])
    const ofProcesses = await (processes ?? metrics).metrics()
    response.type(metrics.contentType).send(`${ofProcesses}\n${await ofStore.metrics()}`)
  })
  const { host, port } = await serve({
    app,
    host: config.adminHost,
    port: config.adminPort,
    signal,
    report: () => {},
    drainMs: 0,
  })
  report({ kind: 'admin-listening', host, port })
  return admin
}
