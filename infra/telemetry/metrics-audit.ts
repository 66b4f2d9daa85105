/** Metrics of the audit: how far it is, and what it found. */
import type { Registry } from 'prom-client'
import type { AuditCounts } from '../../aggregator/ledger/fact.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { FactHandlers } from './fact.ts'
import { instrumentsIn } from './instruments.ts'

const FINDINGS = ['mismatched', 'omitted', 'invented', 'repriced', 'undecided'] as const

export function auditMetrics(registry: Registry, networks: readonly NetworkName[]): FactHandlers {
  const { counter, gauge } = instrumentsIn(registry)
  const auditedBlock = gauge('candlepool_audited_block', 'Newest block of the stream that the audit has looked at.')
  const auditedRanges = counter(
    'candlepool_audited_ranges_total',
    'Ranges of stored blocks that were compared with another endpoint.',
  )
  const auditedLogs = counter('candlepool_audited_logs_total', 'Logs in ranges that were audited.')
  const found = counter(
    'candlepool_audit_found_total',
    'Blocks for which two answers had different logs (mismatched), logs of these added (omitted) and removed (invented) by repairs, blocks with new prices (repriced), blocks without proof (undecided).',
    ['network', 'finding'],
  )
  const auditFailures = counter(
    'candlepool_audit_failures_total',
    'Steps of the audit that failed and are tried again.',
  )
  for (const network of networks) {
    auditFailures.inc({ network }, 0)
    for (const finding of FINDINGS) found.inc({ network, finding }, 0)
  }

  function audited({ network, job, to, ...counts }: AuditCounts & { network: NetworkName; job: number; to: number }) {
    if (job === 0) auditedBlock.set({ network }, to)
    auditedRanges.inc({ network })
    auditedLogs.inc({ network }, counts.logs)
    for (const finding of FINDINGS) found.inc({ network, finding }, counts[finding])
  }

  return {
    audited,
    'audit-found': audited,
    'audit-waiting': ({ network }) => auditFailures.inc({ network }),
  }
}
