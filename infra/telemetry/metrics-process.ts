/** Metrics of a process and its jobs: stages that begin again or halt, jobs under way and done. */
import type { Registry } from 'prom-client'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { FactHandlers } from './fact.ts'
import { instrumentsIn } from './instruments.ts'

export function processMetrics(registry: Registry, networks: readonly NetworkName[]): FactHandlers {
  const { counter, gauge } = instrumentsIn(registry)
  const ofStage = ['stage', 'network'] as const
  const restarts = counter('candlepool_stage_restarts_total', 'Restarts of a stage from the stored state.', ofStage)
  const halted = gauge(
    'candlepool_stage_halted',
    '1 where a stage of a network has halted; all others of its process continue.',
    ofStage,
  )
  const running = gauge('candlepool_jobs_running', 'Backfills under way.')
  const jobs = counter('candlepool_jobs_total', 'Jobs that have ended, by their kind and how.', [
    'network',
    'task',
    'outcome',
  ])
  const waits = counter('candlepool_backfill_waits_total', 'Times that a backfill failed and resumed after a wait.')
  for (const network of networks) {
    for (const task of ['backfill', 'rebuild', 'rewind']) {
      for (const outcome of ['done', 'failed']) jobs.inc({ network, task, outcome }, 0)
    }
  }

  function endBackfill(network: NetworkName, outcome: 'done' | 'failed' | 'refused' | 'stopped'): void {
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
    'job-stopped': ({ network }) => endBackfill(network, 'stopped'),
    'job-failed': ({ network }) => endBackfill(network, 'failed'),
    'job-refused': ({ network }) => endBackfill(network, 'refused'),
    rebuilt: ({ network }) => jobs.inc({ network, task: 'rebuild', outcome: 'done' }),
    rewound: ({ network }) => jobs.inc({ network, task: 'rewind', outcome: 'done' }),
    'rewind-failed': ({ network }) => jobs.inc({ network, task: 'rewind', outcome: 'failed' }),
    'rebuild-failed': ({ network }) => jobs.inc({ network, task: 'rebuild', outcome: 'failed' }),
    'backfill-waiting': ({ network }) => waits.inc({ network }),
  }
}
