/** Starts the servers that the int suites share, before the first of them and once for all. */
import type { TestProject } from 'vitest/node'
import { startClickHouse } from './clickhouse-server.ts'
import { buildEntries } from './entries.ts'
import { startKafka } from './kafka.ts'

// Vitest asks for a default export here.
export default async function startServers(project: TestProject): Promise<() => Promise<void>> {
  const entries = await buildEntries()
  const starting = [startClickHouse(), startKafka()] as const
  const [clickhouse, kafka] = await Promise.all(starting).catch(async (error: unknown) => {
    // What did start must not stay behind.
    await entries.remove()
    for (const started of await Promise.allSettled(starting)) if ('value' in started) await stop(started.value)
    throw error
  })
  project.provide('clickhouse', 'unavailable' in clickhouse ? clickhouse : withoutStop(clickhouse))
  project.provide('kafka', 'unavailable' in kafka ? kafka : withoutStop(kafka))
  // The tests' processes inherit it.
  process.env['TEST_ENTRIES'] = entries.folder
  return async () => {
    await Promise.all([stop(clickhouse), stop(kafka), entries.remove()])
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
