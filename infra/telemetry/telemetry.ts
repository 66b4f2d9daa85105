/** Facts of a process as log lines, metrics and readiness. */
import type { Registry } from 'prom-client'
import type { Report } from '../../ingest/model/report.ts'
import type { Config } from '../config/config.ts'
import { configuredNetworks } from '../config/networks.ts'
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
  const configured = configuredNetworks(config).map(({ network }) => network.name)
  // The devnet stands in for ethereum.
  const metrics = openMetrics(configured.length > 0 ? configured : ['ethereum'])
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
