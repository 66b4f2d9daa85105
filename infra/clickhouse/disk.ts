/** The disk under a folder. */
import { open } from 'node:fs/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import type { Disk } from '../../aggregator/ledger/checkpoint.ts'
import { applyDurability } from '../../aggregator/store/durability.ts'

/** How much of the chain is read again after a power cut. */
const CHECKPOINT_MS = 1_000

/** A call that syncs the file system of an embedded engine's folder to the disk; undefined where the system has no such call. */
export async function syncOf(folder: string): Promise<(() => Promise<void>) | undefined> {
  // Other systems have no such call, or it returns before all is written.
  if (process.platform !== 'linux') return undefined
  // It comes with the embedded engine only.
  const { DataType, load, open: openLibrary } = await import('ffi-rs')
  // The libraries that this process has loaded: libc is among them. A program would have to be started each time, which takes longer than the call itself.
  openLibrary({ library: 'self', path: '' })

  async function sync(): Promise<void> {
    const handle = await open(folder)
    try {
      const { value, errnoMessage } = await load({
        library: 'self',
        funcName: 'syncfs',
        retType: DataType.I32,
        paramsType: [DataType.I32],
        paramsValue: [handle.fd],
        errno: true as const,
        runInNewThread: true,
      })
      if (value !== 0) throw new Error(`What was written to ${folder} could not be put on the disk: ${errnoMessage}.`)
    } finally {
      await handle.close()
    }
  }

  return sync().then(
    () => sync,
    () => undefined,
  )
}

export type SyncedServers = {
  servers: readonly ClickHouseClient[]
  /** See `syncOf`. */
  sync?: (() => Promise<void>) | undefined
}

/**
 * Sets which writes ClickHouse syncs. Returns the disk of the checkpoints where the aggregator syncs instead, in groups: that needs a
 * stream that resumes at the stored tip, since a restart truncates the tables to the last checkpoint.
 */
export async function prepareDisk(
  { sync, servers }: SyncedServers,
  fsync: boolean,
  resumesAtStoredTip: boolean,
): Promise<Disk | undefined> {
  const disk = sync && fsync && resumesAtStoredTip ? { sync, everyMs: CHECKPOINT_MS } : undefined
  const synced = disk ? 'metadata' : fsync ? 'every write' : 'none'
  for (const server of servers) await applyDurability(server, synced)
  return disk
}
