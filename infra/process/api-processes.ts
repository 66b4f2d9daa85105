/**
 * Several API processes behind one port. The first process opens no port of the API: it starts the others with `node:cluster`, which passes each
 * connection to the next of them, starts one again that has ended, and stops all in order.
 */
import cluster, { type Worker } from 'node:cluster'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { AggregatorRegistry, collectDefaultMetrics, type Registry } from 'prom-client'
import type { Report } from '../../ingest/model/report.ts'
import type { Fact } from '../telemetry/fact.ts'

/** The message by which the first process stops the others. A signal would reach them twice at Ctrl-C, and the second one ends a process at once. */
export const STOP_MESSAGE = 'stop'

/** A process asks the first one with it, and is answered with it. */
const TURN_MESSAGE = 'turn'

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
    worker.on('message', (message) => {
      if (message === TURN_MESSAGE) void passOn(worker)
    })
    let hasListened = false
    worker.once('listening', () => {
      hasListened = true
      listening.add(worker)
      report({ kind: 'api-process-listening', process: id })
    })
    return new Promise((resolve) => {
      const ended = (reason: string) => {
        signal.removeEventListener('abort', stop)
        listening.delete(worker)
        if (!signal.aborted) report({ kind: 'api-process-ended', process: id, reason })
        resolve(hasListened)
      }
      worker.once('exit', (code, killedBy) => ended(killedBy || `exit code ${code}`))
      // Also emitted for a message to a process that has just ended. Only a process that could not be started has no id, and emits no `exit`.
      worker.on('error', (error) => {
        if (id === 0) ended(error.message)
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

/** Two turns: with two processes left, each of them is passed a connection where any waits. */
async function passOn(worker: Worker): Promise<void> {
  await nextTurn()
  await nextTurn()
  if (worker.isConnected()) worker.send(TURN_MESSAGE)
}

/**
 * In a started process: resolves once the first process has accepted and passed on the connections that waited, in two turns of its loop. Messages
 * and connections between two processes keep their order, so that a connection of these turns has arrived.
 */
export function turnOfFirstProcess(): Promise<void> {
  return new Promise((resolve) => {
    const done = (message?: unknown) => {
      if (message !== undefined && message !== TURN_MESSAGE) return
      process.off('message', done)
      process.off('disconnect', done)
      resolve()
    }
    process.on('message', done)
    process.on('disconnect', done)
    if (!process.connected) return done()
    process.send?.(TURN_MESSAGE, undefined, undefined, (error) => {
      if (error) done()
    })
  })
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
