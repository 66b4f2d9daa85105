/** Metrics of the API: answers by route and status, and what they cost. Nothing here is by key. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { PLANS, type PlanName } from '../../api/lib/plan.ts'
import type { FactHandlers } from './fact.ts'
import { SECONDS } from './metrics-buckets.ts'

export function apiMetrics(registry: Registry): FactHandlers {
  const registers = [registry]
  const seconds = new Histogram({
    name: 'candlepool_http_request_seconds',
    help: 'From the arrival of a request to the end of its answer.',
    // A route is as it is mounted, so that there are few.
    labelNames: ['route', 'status'] as const,
    buckets: SECONDS,
    registers,
  })
  const credits = new Counter({
    name: 'candlepool_credits_charged_total',
    help: 'Credits that answers cost.',
    labelNames: ['plan'] as const,
    registers,
  })
  const unstored = new Gauge({
    name: 'candlepool_usage_unstored_rows',
    help: 'Minutes of keys whose credits and calls could not be stored yet.',
    registers,
  })
  const failures = new Counter({
    name: 'candlepool_usage_failures_total',
    help: 'Times that credits and calls could not be stored.',
    registers,
  })
  const unknownPlans = new Counter({
    name: 'candlepool_unknown_plans_total',
    help: 'Keys with a plan that this version does not know.',
    registers,
  })
  const reads = new Counter({
    name: 'candlepool_cache_reads_total',
    help: 'Questions for candles, by whether memory held all that they need.',
    labelNames: ['result'] as const,
    registers,
  })
  const cached = new Gauge({
    name: 'candlepool_cache_bytes',
    help: 'Candles held in memory.',
    registers,
  })
  for (const plan of Object.keys(PLANS) as PlanName[]) credits.inc({ plan }, 0)

  return {
    'request-answered': ({ route = 'none', status, milliseconds }) =>
      seconds.observe({ route, status }, milliseconds / 1000),
    'credits-charged': ({ plan, credits: count }) => credits.inc({ plan }, count),
    'cache-read': ({ isHeld, bytes }) => {
      reads.inc({ result: isHeld ? 'hit' : 'miss' })
      cached.set(bytes)
    },
    'usage-stored': () => unstored.set(0),
    'usage-not-stored': ({ rows }) => {
      unstored.set(rows)
      failures.inc()
    },
    'unknown-plan': () => unknownPlans.inc(),
  }
}
