/** Metrics of ClickHouse as this process sees it: whether it answers, and the room on its disks. */
import { type ClickHouseClient, ClickHouseError } from '@clickhouse/client'
import { Gauge, type Registry } from 'prom-client'
import { ask } from '../../aggregator/store.ts'
import { inTime } from '../in-time.ts'

/** Shorter than anybody's patience with a scrape. */
const PATIENCE_MS = 2_000

type Disk = { name: string; free: number; total: number }

/** Returns how to look again: to be called before each scrape. */
export function storeMetrics(registry: Registry): (client: ClickHouseClient | undefined) => Promise<void> {
  const registers = [registry]
  const up = new Gauge({
    name: 'candlepool_store_up',
    help: '1 where ClickHouse answers this process.',
    registers,
  })
  const free = new Gauge({
    name: 'candlepool_store_disk_free_bytes',
    help: 'Room that is left on a disk of ClickHouse.',
    labelNames: ['disk'] as const,
    registers,
  })
  const total = new Gauge({
    name: 'candlepool_store_disk_bytes',
    help: 'Size of a disk of ClickHouse.',
    labelNames: ['disk'] as const,
    registers,
  })

  return async function look(client) {
    const disks = client && (await readDisks(client))
    up.set(disks ? 1 : 0)
    free.reset()
    total.reset()
    for (const disk of disks ?? []) {
      free.set({ disk: disk.name }, disk.free)
      total.set({ disk: disk.name }, disk.total)
    }
  }
}

/** Undefined where nobody answers; none where the user may not see them. */
async function readDisks(client: ClickHouseClient): Promise<readonly Disk[] | undefined> {
  const query = 'SELECT name, toFloat64(free_space) AS free, toFloat64(total_space) AS total FROM system.disks'
  try {
    return await inTime(ask<Disk>(client, query, {}), PATIENCE_MS)
  } catch (error) {
    return error instanceof ClickHouseError ? [] : undefined
  }
}
