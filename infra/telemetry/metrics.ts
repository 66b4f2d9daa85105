/** Facts become metrics here: one registry a process, with the metrics of every stage. */
import { Registry } from 'prom-client'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { Report } from '../../ingest/model/report.ts'
import { type Fact, handle } from './fact.ts'
import { aggregatorMetrics } from './metrics-aggregator.ts'
import { apiMetrics } from './metrics-api.ts'
import { ingestMetrics } from './metrics-ingest.ts'
import { logMetrics } from './metrics-log.ts'
import { processMetrics } from './metrics-process.ts'

export type Metrics = { registry: Registry; report: Report<Fact> }

/**
 * Whatever counts faults is there from the start for each of `networks`: Prometheus sees an increase only of what was there before,
 * and the first fault is the one that somebody wants to hear of.
 */
export function openMetrics(networks: readonly NetworkName[]): Metrics {
  const registry = new Registry()
  const stages = [ingestMetrics, aggregatorMetrics, logMetrics, processMetrics].map((open) => open(registry, networks))
  const all = [...stages, apiMetrics(registry)]
  return {
    registry,
    report(fact) {
      for (const handlers of all) handle(handlers, fact)
    },
  }
}
