/** Metrics of ClickHouse as this process sees it: whether it answers, and the room on its disks. */
import { type ClickHouseClient, ClickHouseError } from '@clickhouse/client'
import type { Registry } from 'prom-client'
import { ask } from '../../aggregator/store/store.ts'
import { withTimeout } from '../lib/with-timeout.ts'
import { instrumentsIn } from './instruments.ts'

/** Below Prometheus' scrape timeout, 10 s by default. */
const TIMEOUT_MS = 2_000

type DiskSpace = { server: string; disk: string; free: number; total: number }

/** Returns how to look again: to be called before each scrape. */
export function storeMetrics(registry: Registry): (servers: readonly ClickHouseClient[]) => Promise<void> {
  const { gauge } = instrumentsIn(registry)
  const up = gauge('candlepool_store_up', '1 where ClickHouse answers this process, each server of it.', [])
  const free = gauge('candlepool_store_disk_free_bytes', 'Room that is left on a disk of ClickHouse.', [
    'server',
    'disk',
  ])
  const total = gauge('candlepool_store_disk_bytes', 'Size of a disk of ClickHouse.', ['server', 'disk'])

  return async function look(servers) {
    const answers = await Promise.all(servers.map(readDisks))
    up.set(servers.length > 0 && answers.every((disks) => disks !== undefined) ? 1 : 0)
    free.reset()
    total.reset()
    for (const { server, disk, ...bytes } of answers.flatMap((disks) => disks ?? [])) {
      free.set({ server, disk }, bytes.free)
      total.set({ server, disk }, bytes.total)
    }
  }
}

/** Undefined where the server does not answer; empty where the user may not read them. */
async function readDisks(client: ClickHouseClient): Promise<readonly DiskSpace[] | undefined> {
  const query =
    'SELECT hostName() AS server, name AS disk, toFloat64(free_space) AS free, toFloat64(total_space) AS total FROM system.disks'
  try {
    return await withTimeout(ask<DiskSpace>(client, query, {}), TIMEOUT_MS)
  } catch (error) {
    return error instanceof ClickHouseError ? [] : undefined
  }
}
