/** Processor time and memory of a process, from Linux; NaN elsewhere. */
import { readFile } from 'node:fs/promises'
import { readRunning } from '../../infra/clickhouse/engine/engine-access.ts'
import { enginePaths } from '../../infra/clickhouse/engine/engine-config.ts'

const TICKS_A_SECOND = 100

/** Resident. */
export async function megabytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? Number.NaN) / 1_024
}

/** Process id of the embedded engine with the tables of `folder`; NaN where none runs. */
export async function enginePid(folder: string): Promise<number> {
  return (await readRunning(enginePaths(folder)))?.pid ?? Number.NaN
}

/** Processor time: unlike wall time, other load on the machine takes none of it. */
export async function cpuMs(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  const [user = Number.NaN, system = Number.NaN] = status
    .slice(status.lastIndexOf(')'))
    .split(' ')
    .slice(12, 14)
    .map(Number)
  return ((user + system) / TICKS_A_SECOND) * 1_000
}
