/** What a process tells of itself, all of it made of facts: log lines, metrics, and how its stages stand. */
import type { Registry } from 'prom-client'
import type { Report } from '../../ingest/model/report.ts'
import type { Config } from '../config/config.ts'
import { createRedactor } from '../config/secrets.ts'
import type { Fact } from './fact.ts'
import { openLogLines } from './log-lines.ts'
import { openMetrics } from './metrics.ts'
import { openReadiness, type Readiness } from './readiness.ts'

export type Telemetry = {
  report: Report<Fact>
  metrics: Registry
  readiness: Readiness
}

export function openTelemetry(config: Config): Telemetry {
  const networks =
    config.chain.kind === 'networks' ? config.chain.networks.map((it) => it.network.name) : (['ethereum'] as const)
  const metrics = openMetrics(networks)
  const hide = createRedactor(config)
  const readiness = openReadiness(hide)
  const write = openLogLines(config.logLevel, hide)
  return {
    metrics: metrics.registry,
    readiness,
    report(fact) {
      metrics.report(fact)
      readiness.report(fact)
      write(fact)
    },
  }
}
