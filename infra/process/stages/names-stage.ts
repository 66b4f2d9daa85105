/** Names of tokens, read again as a running part: beside the listener and with its endpoints, a few at a time. */
import { createReread } from '../../../aggregator/names/reread.ts'
import { pause, repeated } from '../../../ingest/lib/wait.ts'
import type { Network } from '../../../ingest/model/network.ts'
import { type Endpoints, withHistoryPriority } from '../../../ingest/rpc/endpoints/endpoints.ts'
import type { Store } from '../../clickhouse/store.ts'
import type { Run } from '../run.ts'

/** Between two steps, of a few requests each. */
const EVERY_MS = 300_000
const FIRST_RETRY_MS = 30_000

/** Until the signal aborts. Failures are retried without a limit. */
export async function rereadNames(
  endpoints: Endpoints,
  network: Network,
  { owner, shards }: Store,
  { report, signal }: Run,
): Promise<void> {
  const step = createReread(owner, withHistoryPriority(endpoints), { network, shards, report })
  const failed = (error: unknown, retryMs: number) =>
    report({ kind: 'names-waiting', network: network.name, error, retryMs })
  // The first blocks of a start come first.
  await pause(FIRST_RETRY_MS, signal)
  async function reread(): Promise<void> {
    await step()
    await pause(EVERY_MS, signal)
  }
  await repeated(reread, { firstMs: FIRST_RETRY_MS, maxMs: EVERY_MS, signal, failed })
}
