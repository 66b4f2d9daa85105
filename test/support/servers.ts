/** Starts the servers that the int suites share, before the first of them and once for all. */
import { mkdtemp, readdir, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { isAlive } from '../../infra/lib/folder-lock.ts'
import { startClickHouse } from './clickhouse-server.ts'
import { buildEntries } from './entries.ts'
import { startKafka } from './kafka.ts'

// Vitest asks for a default export here.
export default async function startServers(project: TestProject): Promise<() => Promise<void>> {
  const removeTemporary = await useMemory()
  const entries = await buildEntries()
  const starting = [startClickHouse(), startKafka()] as const
  const [clickhouse, kafka] = await Promise.all(starting).catch(async (error: unknown) => {
    // What did start must not stay behind.
    await entries.remove()
    for (const started of await Promise.allSettled(starting)) if ('value' in started) await stop(started.value)
    await removeTemporary()
    throw error
  })
  project.provide('clickhouse', 'unavailable' in clickhouse ? clickhouse : withoutStop(clickhouse))
  project.provide('kafka', 'unavailable' in kafka ? kafka : withoutStop(kafka))
  // The tests' processes inherit it.
  process.env['TEST_ENTRIES'] = entries.folder
  return async () => {
    await Promise.all([stop(clickhouse), stop(kafka), entries.remove()])
    await removeTemporary()
  }
}

const MEMORY = '/dev/shm'
/** A run of all suites has less than 2 GiB of temporary files at once. */
const ROOM_BYTES = 4 * 2 ** 30

/** Puts temporary files into memory where there is room: with tables on a disk, half of what an insert takes is the file system. */
async function useMemory(): Promise<() => Promise<void>> {
  const { bavail, bsize } = await statfs(MEMORY).catch(() => ({ bavail: 0, bsize: 0 }))
  if (process.env['TMPDIR'] !== undefined || bavail * bsize < ROOM_BYTES) return async () => {}
  await removeAbandoned()
  const folder = await mkdtemp(join(MEMORY, `${PREFIX}${process.pid}-`))
  // The tests' processes inherit it.
  process.env['TMPDIR'] = folder
  return () => rm(folder, { recursive: true, force: true })
}

const PREFIX = 'candlepool-test-'

/** A killed run has left its folder in memory. */
async function removeAbandoned(): Promise<void> {
  for (const name of await readdir(MEMORY)) {
    const pid = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1]
    if (pid === undefined || isAlive(Number(pid))) continue
    // One of another user stays.
    await rm(join(MEMORY, name), { recursive: true, force: true }).catch(() => undefined)
  }
}

type Stoppable = { stop(): Promise<void> }

async function stop(server: Stoppable | { unavailable: string }): Promise<void> {
  if ('stop' in server) await server.stop()
}

/** Provided values are sent to other processes, so functions are not possible. */
function withoutStop<T extends Stoppable>({ stop: _, ...rest }: T): Omit<T, 'stop'> {
  return rest
}
