/** How ingest reaches the simulated endpoints. */

import type { IngestFact } from '../../ingest/model/fact.ts'
import { type Endpoints, endpointsOf } from '../../ingest/rpc/endpoints/endpoints.ts'
import type { Endpoint } from './endpoint.ts'
import { NETWORK } from './market.ts'
import type { Random } from './random.ts'

type Reach = {
  random: Random
  report: (fact: IngestFact) => void
  signal: AbortSignal
  minFinalitySeconds: number
}

/** Waits are spread by the seed too, so that a run can be had again. */
export function reach(
  endpoints: readonly Endpoint[],
  { random, report, signal, minFinalitySeconds }: Reach,
): Endpoints {
  return endpointsOf(
    endpoints.map(({ client }) => client),
    { network: NETWORK, report, signal, retryPolicy: { minFinalitySeconds, random: () => random.next() } },
  )
}
