/** Metrics of the aggregators: the stored tip and how late it is, flushes, rollbacks, audits, and what could not be stored. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { AuditCounts } from '../../aggregator/ledger/fact.ts'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { FactHandlers } from './fact.ts'
import { DEPTH_BLOCKS, ROWS, SECONDS } from './metrics-buckets.ts'

const FINDINGS = ['mismatched', 'omitted', 'invented', 'repriced', 'undecided'] as const

export function aggregatorMetrics(registry: Registry, networks: readonly NetworkName[]): FactHandlers {
  const registers = [registry]
  const labelNames = ['network'] as const
  /** Of the networks that this process writes now. */
  const tips = new Map<NetworkName, UnixSeconds>()
  const storedBlock = new Gauge({
    name: 'candlepool_stored_block',
    help: 'Newest stored block; only of a network that this process writes.',
    labelNames,
    registers,
  })
  new Gauge({
    name: 'candlepool_stored_lag_seconds',
    help: 'How long ago the newest stored block was made; only of a network that this process writes.',
    labelNames,
    registers,
    collect() {
      this.reset()
      // A chain's clock may be ahead of ours.
      for (const [network, time] of tips) this.set({ network }, Math.max(0, Date.now() / 1000 - time))
    },
  })
  const blocks = new Counter({
    name: 'candlepool_stored_blocks_total',
    help: 'Blocks stored from the stream.',
    labelNames,
    registers,
  })
  const ticks = new Counter({
    name: 'candlepool_stored_ticks_total',
    help: 'Ticks stored from the stream.',
    labelNames,
    registers,
  })
  const flushSeconds = new Histogram({
    name: 'candlepool_flush_seconds',
    help: 'How long it takes until ticks, candles and ledger are stored.',
    labelNames,
    buckets: SECONDS,
    registers,
  })
  const flushTicks = new Histogram({
    name: 'candlepool_flush_ticks',
    help: 'Ticks in a flush.',
    labelNames,
    buckets: ROWS,
    registers,
  })
  const rollbacks = new Histogram({
    name: 'candlepool_rollback_depth_blocks',
    help: 'Stored blocks that were taken out again, for each rollback.',
    labelNames,
    buckets: DEPTH_BLOCKS,
    registers,
  })
  const restatedTicks = new Counter({
    name: 'candlepool_restated_ticks_total',
    help: 'Ticks stored of backfills and repairs.',
    labelNames,
    registers,
  })
  const stalled = new Gauge({
    name: 'candlepool_stalled',
    help: '1 while what comes does not connect to the stored tip.',
    labelNames,
    registers,
  })
  const failures = new Counter({
    name: 'candlepool_store_failures_total',
    help: 'Times that ClickHouse did not store what it was given; all are tried again.',
    labelNames,
    registers,
  })
  const auditedBlock = new Gauge({
    name: 'candlepool_audited_block',
    help: 'Newest block of the stream that the audit has looked at.',
    labelNames,
    registers,
  })
  const auditedRanges = new Counter({
    name: 'candlepool_audited_ranges_total',
    help: 'Ranges of stored blocks that were compared with another endpoint.',
    labelNames,
    registers,
  })
  const auditedLogs = new Counter({
    name: 'candlepool_audited_logs_total',
    help: 'Logs in ranges that were audited.',
    labelNames,
    registers,
  })
  const found = new Counter({
    name: 'candlepool_audit_found_total',
    help: 'Blocks of which two answers told different logs (mismatched), of these logs added (omitted) and removed (invented) by repairs, blocks priced anew (repriced), blocks that nobody can prove (undecided).',
    labelNames: ['network', 'finding'] as const,
    registers,
  })
  const auditFailures = new Counter({
    name: 'candlepool_audit_failures_total',
    help: 'Steps of the audit that failed and are tried again.',
    labelNames,
    registers,
  })
  for (const network of networks) {
    for (const counter of [failures, auditFailures]) counter.inc({ network }, 0)
    for (const finding of FINDINGS) found.inc({ network, finding }, 0)
    rollbacks.zero({ network })
  }

  function setTip(network: NetworkName, number: number, time: UnixSeconds): void {
    storedBlock.set({ network }, number)
    tips.set(network, time)
  }

  /** Another process may write the network from now on, and what we knew of it grows old. */
  function forget(network: NetworkName): void {
    storedBlock.remove({ network })
    stalled.remove({ network })
    tips.delete(network)
  }

  function audited({ network, job, to, ...counts }: AuditCounts & { network: NetworkName; job: number; to: number }) {
    if (job === 0) auditedBlock.set({ network }, to)
    auditedRanges.inc({ network })
    auditedLogs.inc({ network }, counts.logs)
    for (const finding of FINDINGS) found.inc({ network, finding }, counts[finding])
  }

  return {
    'aggregator-started': ({ network, tip }) => {
      stalled.set({ network }, 0)
      if (tip) setTip(network, tip.number, tip.timestamp)
    },
    'stage-restarted': ({ stage, network }) => {
      if (stage === 'aggregator') forget(network)
    },
    flushed: ({ network, from, to, ticks: count, tipTimestamp, ms }) => {
      setTip(network, to, tipTimestamp)
      blocks.inc({ network }, to - from + 1)
      ticks.inc({ network }, count)
      flushTicks.observe({ network }, count)
      flushSeconds.observe({ network }, ms / 1000)
    },
    'rolled-back': ({ network, to, depth }) => {
      storedBlock.set({ network }, to)
      rollbacks.observe({ network }, depth)
    },
    restated: ({ network, ticks }) => restatedTicks.inc({ network }, ticks),
    stalled: ({ network }) => stalled.set({ network }, 1),
    connected: ({ network }) => stalled.set({ network }, 0),
    'store-failed': ({ network }) => failures.inc({ network }),
    audited,
    'audit-found': audited,
    'audit-waiting': ({ network }) => auditFailures.inc({ network }),
  }
}
