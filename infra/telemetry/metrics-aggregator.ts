/** Metrics of the aggregators: the stored tip and how late it is, flushes, rollbacks, and failed writes. */
import { Gauge, type Registry } from 'prom-client'
import { PHASES } from '../../aggregator/extras/verify/position.ts'
import type { AuditCounts } from '../../aggregator/ledger/fact.ts'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { FactHandlers } from './fact.ts'
import { DEPTH_BLOCKS, instrumentsIn, ROWS, SECONDS } from './instruments.ts'

export function aggregatorMetrics(registry: Registry, networks: readonly NetworkName[]): FactHandlers {
  const { counter, gauge, histogram } = instrumentsIn(registry)
  /** Stored tips of the networks that this process writes now. */
  const tips = new Map<NetworkName, UnixSeconds>()
  const storedBlock = gauge(
    'candlepool_stored_block',
    'Newest stored block; only of a network that this process writes.',
  )
  lagGauge(registry, tips)
  const blocks = counter('candlepool_stored_blocks_total', 'Blocks stored from the stream.')
  const ticks = counter('candlepool_stored_ticks_total', 'Ticks stored from the stream.')
  const flushSeconds = histogram(
    'candlepool_flush_seconds',
    'How long it takes until ticks, candles and ledger are stored.',
    SECONDS,
  )
  const flushTicks = histogram('candlepool_flush_ticks', 'Ticks in a flush.', ROWS)
  const rollbacks = histogram(
    'candlepool_rollback_depth_blocks',
    'Stored blocks that were taken out again, for each rollback.',
    DEPTH_BLOCKS,
  )
  const restatedTicks = counter('candlepool_restated_ticks_total', 'Ticks stored of backfills and repairs.')
  const stalled = gauge('candlepool_stalled', '1 while what comes does not connect to the stored tip.')
  const failures = counter(
    'candlepool_store_failures_total',
    'Times that ClickHouse did not store what it was given; all are tried again.',
  )
  for (const network of networks) {
    failures.inc({ network }, 0)
    rollbacks.zero({ network })
  }

  function setTip(network: NetworkName, number: number, time: UnixSeconds): void {
    storedBlock.set({ network }, number)
    tips.set(network, time)
  }

  /** Another process may write the network now: stale gauges would hide its progress. */
  function forget(network: NetworkName): void {
    storedBlock.remove({ network })
    stalled.remove({ network })
    tips.delete(network)
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
  }
}

/** Computed at each scrape, so that it grows while nothing is stored. */
function lagGauge(registry: Registry, tips: ReadonlyMap<NetworkName, UnixSeconds>): void {
  new Gauge({
    name: 'candlepool_stored_lag_seconds',
    help: 'How long ago the newest stored block was made; only of a network that this process writes.',
    labelNames: ['network'],
    registers: [registry],
    collect() {
      this.reset()
      // A chain's clock may be ahead of this machine's.
      for (const [network, time] of tips) this.set({ network }, Math.max(0, Date.now() / 1000 - time))
    },
  })
}

/** The public topics: the newest published block, and failed writes. */
export function publishMetrics(registry: Registry, networks: readonly NetworkName[]): FactHandlers {
  const { counter, gauge } = instrumentsIn(registry)
  const block = gauge(
    'candlepool_published_block',
    'Newest block in the public topics; only of a network that this process publishes.',
  )
  const ticks = counter('candlepool_published_ticks_total', 'Ticks written to the public topics.')
  const failures = counter(
    'candlepool_publish_failures_total',
    'Times that the public topics did not take what was written to them; all are tried again.',
  )
  for (const network of networks) failures.inc({ network }, 0)
  return {
    published: ({ network, number, ticks: count }) => {
      block.set({ network }, number)
      ticks.inc({ network }, count)
    },
    'publish-failed': ({ network }) => failures.inc({ network }),
    // Another process may publish the network now.
    'stage-restarted': ({ stage, network }) => {
      if (stage === 'aggregator') block.remove({ network })
    },
  }
}

const FINDINGS = ['mismatched', 'omitted', 'invented', 'repriced', 'undecided'] as const

/** The position of the audit, and its findings. */
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

/** The permanent verification: its position, its cost, and its findings. */
export function verifyMetrics(registry: Registry, networks: readonly NetworkName[]): FactHandlers {
  const { counter, gauge } = instrumentsIn(registry)
  const position = gauge(
    'candlepool_verify_position_seconds',
    'Time up to which a pass has compared the candles or the blocks that are stored, in seconds since 1970.',
    ['network', 'phase'],
  )
  const passed = gauge(
    'candlepool_verify_passed_timestamp_seconds',
    'When the last whole pass of the verification ended.',
  )
  const rows = counter('candlepool_verify_rows_total', 'Rows of ticks and of the ledger that were compared.')
  const seconds = counter('candlepool_verify_seconds_total', 'Time that statements of the verification took.')
  const mismatches = counter(
    'candlepool_verify_mismatches_total',
    'Candles, blocks and ranges that are not what their ticks come to.',
    ['network', 'phase'],
  )
  const failures = counter(
    'candlepool_verify_failures_total',
    'Steps of the verification that failed and are tried again.',
  )
  for (const network of networks) {
    failures.inc({ network }, 0)
    for (const phase of PHASES) mismatches.inc({ network, phase }, 0)
  }
  return {
    verified({ network, phase, until, rows: count, mismatches: found, ms }) {
      if (until > 0) position.set({ network, phase }, until)
      rows.inc({ network }, count)
      seconds.inc({ network }, ms / 1000)
      mismatches.inc({ network, phase }, found)
    },
    'verify-passed': ({ network }) => passed.set({ network }, Math.floor(Date.now() / 1000)),
    'verify-failed': ({ network }) => failures.inc({ network }),
  }
}
