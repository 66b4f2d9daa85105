/**
 * Int suites that take longest and show in a larger setting what faster ones show. A check runs a part of them, others in each run, which are printed. All of
 * them run where `SOAK=1` or `SUITES=all`, each night, and those of a path where one is given.
 */
import { drawn } from './sample.ts'

export const LONG_SUITES: readonly string[] = [
  'test/aggregator/extras/audit/audit.int.test.ts',
  'test/aggregator/extras/publish/after-failure.int.test.ts',
  'test/aggregator/extras/publish/publisher.int.test.ts',
  'test/aggregator/extras/verify/verify-worker.int.test.ts',
  'test/aggregator/extras/verify/verify.int.test.ts',
  'test/aggregator/history/overwrite-range.int.test.ts',
  'test/aggregator/ledger/resume.int.test.ts',
  'test/aggregator/maintenance/rewind.int.test.ts',
  'test/aggregator/write/crash.int.test.ts',
  'test/aggregator/write/retry.int.test.ts',
  'test/api/accounts/accounts.int.test.ts',
  'test/api/accounts/processes.int.test.ts',
  'test/api/extras/clients/clients.int.test.ts',
  'test/api/extras/export/export.int.test.ts',
  'test/api/extras/page/docs.int.test.ts',
  'test/api/extras/page/embed.int.test.ts',
  'test/api/extras/page/layout.int.test.ts',
  'test/api/extras/page/page.int.test.ts',
  'test/api/extras/page/states.int.test.ts',
  'test/api/extras/pool-lists/new-pools.int.test.ts',
  'test/api/extras/pool-lists/top-pools.int.test.ts',
  'test/api/extras/stream/lives.int.test.ts',
  'test/api/extras/stream/stream.int.test.ts',
  'test/api/market/cache/cache.int.test.ts',
  'test/api/market/cache/rollback-under-way.int.test.ts',
  'test/api/market/candles/fold.int.test.ts',
  'test/api/market/find/crowded-pairs.int.test.ts',
  'test/api/market/find/crowded-symbols.int.test.ts',
  'test/api/market/pools/pool-lookups.int.test.ts',
  'test/api/query/fuzz.int.test.ts',
  'test/chaos/chaos.int.test.ts',
  'test/chaos/clickhouse-faults.int.test.ts',
  'test/chaos/history-faults.int.test.ts',
  'test/chaos/late-clickhouse.int.test.ts',
  'test/chaos/power-cut.int.test.ts',
  'test/chaos/shard-down.int.test.ts',
  'test/e2e/anvil-pools.int.test.ts',
  'test/e2e/api-processes.int.test.ts',
  'test/e2e/audit.int.test.ts',
  'test/e2e/backfill-again.int.test.ts',
  'test/e2e/backfill-files.int.test.ts',
  'test/e2e/backfill.int.test.ts',
  'test/e2e/clients.int.test.ts',
  'test/e2e/cluster-faults.int.test.ts',
  'test/e2e/depth.int.test.ts',
  'test/e2e/halt.int.test.ts',
  'test/e2e/kafka-writer.int.test.ts',
  'test/e2e/lying-endpoints.int.test.ts',
  'test/e2e/market-attacks.int.test.ts',
  'test/e2e/metadata.int.test.ts',
  'test/e2e/primary-key.int.test.ts',
  'test/e2e/providers.int.test.ts',
  'test/e2e/publish.int.test.ts',
  'test/e2e/published-hooks.int.test.ts',
  'test/e2e/recorded-day.int.test.ts',
  'test/e2e/rewind.int.test.ts',
  'test/e2e/runbook-restore.int.test.ts',
  'test/e2e/shards.int.test.ts',
  'test/e2e/snippets.int.test.ts',
  'test/e2e/sql.int.test.ts',
  'test/e2e/status.int.test.ts',
  'test/e2e/token-names.int.test.ts',
  'test/e2e/unreachable.int.test.ts',
  'test/e2e/unserved.int.test.ts',
  'test/e2e/usd.int.test.ts',
  'test/e2e/venues.int.test.ts',
  'test/e2e/verify.int.test.ts',
  'test/infra/bin/mcp.int.test.ts',
  'test/infra/clickhouse/backups.int.test.ts',
  'test/infra/clickhouse/cluster.int.test.ts',
  'test/infra/devnet/devnet-restarts.int.test.ts',
  'test/infra/kafka/kafka.int.test.ts',
  'test/infra/kafka/security.int.test.ts',
  'test/infra/package/package.int.test.ts',
  'test/infra/process/api-processes.int.test.ts',
  'test/infra/process/help.int.test.ts',
  'test/infra/process/npm-signals.int.test.ts',
  'test/infra/process/schema-registry.int.test.ts',
  'test/ingest/follow/listener-finality.int.test.ts',
]

const IN_CHECK = 4
const OPTIONS_WITH_VALUES = ['--config', '--project', '--reporter', '-t', '--testNamePattern']

/** Files that this run leaves out. `args`: of vitest. */
export function leftOut(args: readonly string[]): readonly string[] {
  const isPath = (arg: string, index: number) =>
    arg !== 'run' && !arg.startsWith('-') && !OPTIONS_WITH_VALUES.includes(args[index - 1] ?? '')
  const isQuick = args[args.indexOf('--project') + 1] === 'quick'
  if (isQuick || args.some(isPath) || process.env['SUITES'] === 'all') return []
  const chosen = drawn('long suites', LONG_SUITES, IN_CHECK)
  if (chosen.length < LONG_SUITES.length) console.log(chosen.map((file) => `  ${file}`).join('\n'))
  return LONG_SUITES.filter((file) => !chosen.includes(file))
}
