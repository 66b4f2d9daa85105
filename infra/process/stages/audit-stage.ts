/** The audit as a running part: beside the listener and with its endpoints, a little at a time. */
import { createAudit } from '../../../aggregator/extras/audit/audit.ts'
import { pause, repeated } from '../../../ingest/lib/wait.ts'
import type { RangeOverwrite } from '../../../ingest/model/message.ts'
import type { Network } from '../../../ingest/model/network.ts'
import type { TickLog } from '../../../ingest/model/tick-log.ts'
import type { Endpoints } from '../../../ingest/rpc/endpoints/endpoints.ts'
import type { Store } from '../../clickhouse/store.ts'
import type { Run } from '../run.ts'

/** Between two ranges, and at least as long as the last one took: live work finds endpoints and tables free. */
const BETWEEN_MS = 250
/** While nothing new is final. */
const IDLE_MS = 10_000
const MAX_RETRY_MS = 60_000

/** Until the signal aborts. Failures are retried without a limit. */
export async function runAudit(
  endpoints: Endpoints,
  network: Network,
  history: TickLog<RangeOverwrite>,
  store: Store,
  { config, report, signal }: Run,
): Promise<void> {
  const pools = config.pools && [...config.pools]
  const step = createAudit(store.owner, endpoints, {
    network,
    pools,
    history,
    proofShare: config.proofShare,
    report,
    signal,
  })
  const failed = (error: unknown, retryMs: number) =>
    report({ kind: 'audit-waiting', network: network.name, error, retryMs })
  async function audit(): Promise<void> {
    const began = performance.now()
    const isMore = await step()
    await pause(isMore ? Math.max(BETWEEN_MS, performance.now() - began) : IDLE_MS, signal)
  }
  await repeated(audit, { firstMs: IDLE_MS, maxMs: MAX_RETRY_MS, signal, failed })
}
