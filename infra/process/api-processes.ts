/**
 * Several API processes behind one port. The first process opens no port of the API: it starts the others with `node:cluster`, which passes each
 * connection to the next of them, starts one again that has ended, and stops all in order.
 */
import cluster, { type Worker } from 'node:cluster'
import { setTimeout as sleep } from 'node:timers/promises'
import { AggregatorRegistry, collectDefaultMetrics, type Registry } from 'prom-client'
import type { Report } from '../../ingest/model/report.ts'
import type { Fact } from '../telemetry/fact.ts'

/** The message by which the first process stops the others. A signal would reach them twice at Ctrl-C, and the second one ends a process at once. */
export const STOP_MESSAGE = 'stop'

const RESTART_PROCESS_MS = 1_000

export type ApiProcesses = {
  /** Why not all of them answer. */
  reasons(): string[]
  /** The sums over all of them, in Prometheus' format. */
  metrics(): Promise<string>
  /** Resolves once all have stopped after the signal. */
  closed: Promise<void>
}

/** Fails the run where a process ends before it listens for the first time: the port or the configuration is wrong. */
export function startApiProcesses(
  count: number,
  { report, signal, fail }: { report: Report<Fact>; signal: AbortSignal; fail(error: unknown): void },
): ApiProcesses {
  const listening = new Set<Worker>()
  const registry = new AggregatorRegistry()

  /** Resolves with true where the process has listened. */
  function runOne(): Promise<boolean> {
    const worker = cluster.fork()
    const id = worker.process.pid ?? 0
    const stop = () => void (worker.isConnected() && worker.send(STOP_MESSAGE))
    signal.addEventListener('abort', stop, { once: true })
    let hasListened = false
    worker.once('listening', () => {
      hasListened = true
      listening.add(worker)
      report({ kind: 'api-process-listening', process: id })
    })
    return new Promise((resolve) => {
      worker.once('exit', (code, killedBy) => {
        signal.removeEventListener('abort', stop)
        listening.delete(worker)
        if (!signal.aborted) report({ kind: 'api-process-ended', process: id, reason: killedBy || `exit code ${code}` })
        resolve(hasListened)
      })
    })
  }

  async function keepRunning(): Promise<void> {
    for (let hasRun = false; !signal.aborted; hasRun = true) {
      const hasListened = await runOne()
      if (signal.aborted) return
      if (!hasListened && !hasRun) fail(new Error('An API process ended before it listened: its message is above.'))
      await sleep(RESTART_PROCESS_MS, undefined, { signal }).catch(() => undefined)
    }
  }

  return {
    reasons: () =>
      listening.size === count ? [] : [`${listening.size} of ${count} API processes answer: the others are started.`],
    metrics: () => registry.clusterMetrics(),
    closed: Promise.all(Array.from({ length: count }, keepRunning)).then(() => undefined),
  }
}

/** True in a process that `startApiProcesses` has started. */
export function isApiProcess(): boolean {
  return cluster.isWorker
}

/** Sends the metrics of this process to the first one whenever that asks for them. */
export function shareMetrics(metrics: Registry): void {
  collectDefaultMetrics({ register: metrics })
  AggregatorRegistry.setRegistries(metrics)
  // Its constructor adds the listener.
  new AggregatorRegistry()
}
