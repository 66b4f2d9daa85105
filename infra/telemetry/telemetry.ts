/** What a process tells of itself, all of it made of facts: log lines, metrics, and how its stages stand. */
import type { Registry } from 'prom-client'
import type { Report } from '../../ingest/model/report.ts'
import type { Config } from '../config/config.ts'
import { hiderOf } from '../config/secrets.ts'
import type { Fact } from './fact.ts'
import { openLogLines } from './log-lines.ts'
import { openMetrics } from './metrics.ts'
import { openStanding, type Standing } from './readiness.ts'

export type Telemetry = {
  report: Report<Fact>
  metrics: Registry
  standing: Standing
}

export function openTelemetry(config: Config): Telemetry {
  const networks =
    config.chain.kind === 'networks' ? config.chain.networks.map((it) => it.network.name) : (['ethereum'] as const)
  const metrics = openMetrics(networks)
  const hide = hiderOf(config)
  const standing = openStanding(hide)
  const write = openLogLines(config.logLevel, hide)
  return {
    metrics: metrics.registry,
    standing,
    report(fact) {
      metrics.report(fact)
      standing.report(fact)
      write(fact)
    },
  }
}
