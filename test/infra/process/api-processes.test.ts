/** The first of several API processes, beside started ones that end at the worst moment. */
import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startApiProcesses } from '../../../infra/process/api-processes.ts'
import type { Fact } from '../../../infra/telemetry/fact.ts'
import { temporaryFolder } from '../../support/candlepool.ts'

test('one that has ended unnoticed is asked for metrics and told to stop, and the others are stopped all the same', async () => {
  const folder = await temporaryFolder()
  onTestFinished(folder.remove)
  const exec = join(folder.path, 'started.mjs')
  await writeFile(exec, `process.on('message', () => process.exit()); setInterval(() => {}, 60_000)`)
  cluster.setupPrimary({ exec, execArgv: [] })
  const stop = new AbortController()
  const errors: unknown[] = []
  const processes = startApiProcesses(2, { report() {}, signal: stop.signal, fail: (error) => errors.push(error) })
  const [ended] = (await once(cluster, 'online')) as [Worker]
  await once(cluster, 'online')
  ended.process.kill('SIGKILL')
  blockThisProcess(500)
  processes.metrics().catch(() => undefined)
  stop.abort()
  await processes.closed
  expect(errors).toEqual([])
})

test('one that cannot be started fails the first start, and is tried again', async () => {
  cluster.setupPrimary({ cwd: join(tmpdir(), 'candlepool-nowhere') })
  const stop = new AbortController()
  const errors: unknown[] = []
  let ended = 0
  const report = ({ kind }: Fact) => {
    if (kind === 'api-process-ended' && ++ended === 2) stop.abort()
  }
  await startApiProcesses(1, { report, signal: stop.signal, fail: (error) => errors.push(error) }).closed
  expect(errors).toEqual([new Error('An API process ended before it listened: its message is above.')])
  expect(ended).toBe(2)
})

/** Nothing that happens meanwhile is noticed. */
function blockThisProcess(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
}
