/** Merges of the parts that history leaves, as a running part of each process that aggregates. */
import type { ClickHouseClient } from '@clickhouse/client'
import { mergeParts } from '../../../aggregator/maintenance/part-merges.ts'
import { pause, repeated } from '../../../ingest/lib/wait.ts'
import type { Store } from '../../clickhouse/store.ts'
import type { Run } from '../run.ts'

const IDLE_MS = 10_000
/** Between two merges of a server. */
const BETWEEN_MS = 1_000
const MAX_RETRY_MS = 600_000

/** Until the signal aborts. Failures are retried without a limit. */
export async function runPartMerges(
  { shards }: Pick<Store, 'shards'>,
  { report, signal }: Pick<Run, 'report' | 'signal'>,
): Promise<void> {
  const failed = (error: unknown, retryMs: number) => report({ kind: 'merges-waiting', error, retryMs })
  const merge = async (server: ClickHouseClient) =>
    pause((await mergeParts(server, { signal })) ? BETWEEN_MS : IDLE_MS, signal)
  const retries = { firstMs: IDLE_MS, maxMs: MAX_RETRY_MS, signal, failed }
  await Promise.all(shards.map((server) => repeated(() => merge(server), retries)))
}
