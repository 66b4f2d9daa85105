/** Metrics of the API: answers by route and status, and their cost. Nothing here is by key. */
import type { Registry } from 'prom-client'
import { PLANS, type PlanName } from '../../api/lib/plan.ts'
import type { FactHandlers } from './fact.ts'
import { instrumentsIn, SECONDS } from './instruments.ts'

export function apiMetrics(registry: Registry): FactHandlers {
  const { counter, gauge, histogram } = instrumentsIn(registry)
  const seconds = histogram(
    'candlepool_http_request_seconds',
    'From the arrival of a request to the end of its answer.',
    SECONDS,
    ['route', 'status'],
  )
  const credits = counter('candlepool_credits_charged_total', 'Credits that answers cost.', ['plan'])
  const unstored = gauge(
    'candlepool_usage_unstored_rows',
    'Minutes of keys whose credits and calls could not be stored yet.',
    [],
  )
  const failures = counter('candlepool_usage_failures_total', 'Times that credits and calls could not be stored.', [])
  const unknownPlans = counter(
    'candlepool_unknown_plans_total',
    'Keys with a plan that this version does not know.',
    [],
  )
  const reads = counter(
    'candlepool_cache_reads_total',
    'Questions for candles, by whether memory held all that they need.',
    ['result'],
  )
  const cached = gauge('candlepool_cache_bytes', 'Candles held in memory.', [])
  const streams = gauge('candlepool_open_streams', 'Streams of candles and ticks that are open.', [])
  const streamFailures = counter(
    'candlepool_stream_failures_total',
    'Times that the changes of a stream could not be read.',
    [],
  )
  for (const plan of Object.keys(PLANS) as PlanName[]) credits.inc({ plan }, 0)

  return {
    'request-answered': ({ route = 'none', status, milliseconds }) =>
      seconds.observe({ route, status }, milliseconds / 1000),
    'credits-charged': ({ plan, credits: count }) => credits.inc({ plan }, count),
    'cache-read': ({ isCached, bytes }) => {
      reads.inc({ result: isCached ? 'hit' : 'miss' })
      cached.set(bytes)
    },
    'streams-open': ({ change }) => streams.inc(change),
    'stream-failed': () => streamFailures.inc(),
    'usage-stored': () => unstored.set(0),
    'usage-not-stored': ({ rows }) => {
      unstored.set(rows)
      failures.inc()
    },
    'unknown-plan': () => unknownPlans.inc(),
  }
}
