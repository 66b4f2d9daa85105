/** Metrics of a process and its jobs: stages that begin again or halt, jobs under way and done. */
import { Counter, Gauge, type Registry } from 'prom-client'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { FactHandlers } from './fact.ts'

export function processMetrics(registry: Registry, networks: readonly NetworkName[]): FactHandlers {
  const registers = [registry]
  const ofStage = ['stage', 'network'] as const
  const restarts = new Counter({
    name: 'candlepool_stage_restarts_total',
    help: 'Restarts of a stage from the stored state.',
    labelNames: ofStage,
    registers,
  })
  const halted = new Gauge({
    name: 'candlepool_stage_halted',
    help: '1 where a stage of a network has halted; all others of its process continue.',
    labelNames: ofStage,
    registers,
  })
  const running = new Gauge({
    name: 'candlepool_jobs_running',
    help: 'Backfills under way.',
    labelNames: ['network'] as const,
    registers,
  })
  const jobs = new Counter({
    name: 'candlepool_jobs_total',
    help: 'Jobs that have ended, by their kind and how.',
    // `job` is Prometheus's own word for what it scrapes.
    labelNames: ['network', 'task', 'outcome'] as const,
    registers,
  })
  const waits = new Counter({
    name: 'candlepool_backfill_waits_total',
    help: 'Times that a backfill failed and resumed after a wait.',
    labelNames: ['network'] as const,
    registers,
  })
  for (const network of networks) {
    for (const task of ['backfill', 'rebuild', 'rewind']) {
      for (const outcome of ['done', 'failed']) jobs.inc({ network, task, outcome }, 0)
    }
  }

  function endBackfill(network: NetworkName, outcome: 'done' | 'failed'): void {
    running.dec({ network })
    jobs.inc({ network, task: 'backfill', outcome })
  }

  return {
    'stage-started': ({ stage, network }) => {
      halted.set({ stage, network }, 0)
      restarts.inc({ stage, network }, 0)
    },
    'stage-restarted': ({ stage, network }) => restarts.inc({ stage, network }),
    'stage-halted': ({ stage, network }) => halted.set({ stage, network }, 1),
    'stage-resumed': ({ stage, network }) => halted.set({ stage, network }, 0),
    'job-started': ({ network }) => running.inc({ network }),
    'job-done': ({ network }) => endBackfill(network, 'done'),
    'job-failed': ({ network }) => endBackfill(network, 'failed'),
    rebuilt: ({ network }) => jobs.inc({ network, task: 'rebuild', outcome: 'done' }),
    rewound: ({ network }) => jobs.inc({ network, task: 'rewind', outcome: 'done' }),
    'rewind-failed': ({ network }) => jobs.inc({ network, task: 'rewind', outcome: 'failed' }),
    'rebuild-failed': ({ network }) => jobs.inc({ network, task: 'rebuild', outcome: 'failed' }),
    'backfill-waiting': ({ network }) => waits.inc({ network }),
  }
}
