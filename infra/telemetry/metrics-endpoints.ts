/** Metrics of the RPC endpoints: calls, errors, and pauses. */
import type { Registry } from 'prom-client'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { FactHandlers } from './fact.ts'
import { instrumentsIn, SECONDS } from './instruments.ts'

const OF_ENDPOINT = ['network', 'endpoint'] as const

export function endpointMetrics(registry: Registry): FactHandlers {
  const { counter, gauge, histogram } = instrumentsIn(registry)
  const calls = counter('candlepool_rpc_calls_total', 'Requests to an endpoint, by its host.', [
    'network',
    'endpoint',
    'method',
  ])
  const callSeconds = histogram(
    'candlepool_rpc_call_seconds',
    'How long an endpoint takes to answer or to fail.',
    SECONDS,
    OF_ENDPOINT,
  )
  const errors = counter(
    'candlepool_rpc_errors_total',
    'Units of work that an endpoint did not do, by what was wrong.',
    ['network', 'endpoint', 'problem'],
  )
  const resting = gauge(
    'candlepool_rpc_endpoint_resting',
    '1 from when an endpoint has failed until it answers again.',
    OF_ENDPOINT,
  )
  const disabled = gauge(
    'candlepool_rpc_endpoint_disabled',
    '1 where an endpoint belongs to another chain.',
    OF_ENDPOINT,
  )
  const behind = counter(
    'candlepool_rpc_endpoint_behind_total',
    'How often an endpoint fell behind the others.',
    OF_ENDPOINT,
  )
  const omitted = counter(
    'candlepool_rpc_omitted_logs_total',
    'Logs that an endpoint left out and that its receipts have.',
    OF_ENDPOINT,
  )
  const known = new Map<NetworkName, Set<string>>()
  /** Zero from the first call on: an alert takes the minimum over all endpoints of a network. */
  function register(network: NetworkName, endpoint: string): void {
    known.set(network, new Set(known.get(network)).add(endpoint))
    for (const gauge of [resting, disabled]) gauge.set({ network, endpoint }, 0)
    for (const counter of [behind, omitted]) counter.inc({ network, endpoint }, 0)
  }

  return {
    'rpc-called': ({ network, endpoint, method, ms }) => {
      if (!known.get(network)?.has(endpoint)) register(network, endpoint)
      calls.inc({ network, endpoint, method })
      callSeconds.observe({ network, endpoint }, ms / 1000)
    },
    'rpc-erred': ({ network, endpoint, problem }) => errors.inc({ network, endpoint, problem }),
    'endpoint-cooling': ({ network, endpoint }) => resting.set({ network, endpoint }, 1),
    'endpoint-recovered': ({ network, endpoint }) => resting.set({ network, endpoint }, 0),
    'endpoint-disabled': ({ network, endpoint }) => disabled.set({ network, endpoint }, 1),
    'endpoint-behind': ({ network, endpoint }) => behind.inc({ network, endpoint }),
    'endpoint-omitted-logs': ({ network, endpoint, logs }) => omitted.inc({ network, endpoint }, logs),
  }
}

/** Endpoints that contradict each other, or a proof. */
export function trustMetrics(registry: Registry): FactHandlers {
  const { counter } = instrumentsIn(registry)
  const altered = counter(
    'candlepool_rpc_altered_logs_total',
    "Logs that an endpoint answered and that a receipts' root disproves.",
    OF_ENDPOINT,
  )
  const disagreements = counter(
    'candlepool_rpc_disagreements_total',
    'Times that endpoints had different blocks at the height of a final one, at most one a minute.',
    ['network'],
  )
  return {
    'endpoint-altered-logs': ({ network, endpoint, logs }) => altered.inc({ network, endpoint }, logs),
    'endpoints-disagree': ({ network }) => disagreements.inc({ network }),
  }
}

export function budgetMetrics(registry: Registry): FactHandlers {
  const { gauge } = instrumentsIn(registry)
  const budget = gauge('candlepool_rpc_budget_requests', "Requests of a UTC day that the network's budget allows.")
  const requests = gauge(
    'candlepool_rpc_budget_used_requests',
    'Requests of this UTC day that count against the budget of the network, in all processes.',
  )
  return {
    'budget-counted': ({ network, used, perDay }) => {
      budget.set({ network }, perDay)
      requests.set({ network }, used)
    },
  }
}
