/** Facts become metrics here: one registry a process, with the metrics of every stage. */
import { Registry } from 'prom-client'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { Report } from '../../ingest/model/report.ts'
import { type Fact, handle } from './fact.ts'
import { aggregatorMetrics, auditMetrics, publishMetrics, verifyMetrics } from './metrics-aggregator.ts'
import { apiMetrics } from './metrics-api.ts'
import { budgetMetrics, endpointMetrics, trustMetrics } from './metrics-endpoints.ts'
import { chainMetrics, ingestMetrics } from './metrics-ingest.ts'
import { logMetrics } from './metrics-log.ts'
import { processMetrics } from './metrics-process.ts'

export type Metrics = { registry: Registry; report: Report<Fact> }

/** Fault counters start at 0 for each of `networks`: `increase()` misses the first fault of a series that begins with it. */
export function openMetrics(networks: readonly NetworkName[]): Metrics {
  const registry = new Registry()
  const stages = [
    ingestMetrics,
    aggregatorMetrics,
    publishMetrics,
    auditMetrics,
    verifyMetrics,
    logMetrics,
    processMetrics,
  ].map((open) => open(registry, networks))
  const others = [chainMetrics, endpointMetrics, trustMetrics, budgetMetrics, apiMetrics].map((open) => open(registry))
  const all = [...stages, ...others]
  return {
    registry,
    report(fact) {
      for (const handlers of all) handle(handlers, fact)
    },
  }
}
