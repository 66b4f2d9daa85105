/** The disk under a folder. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { applyDurability } from '../aggregator/durability.ts'
import type { Disk } from '../aggregator/settling.ts'
import type { Config } from './config.ts'
import type { Store } from './store.ts'

const runFile = promisify(execFile)

/** How much of the chain is read again after a power cut. */
const SETTLE_MS = 1_000

/** Puts on the disk what was written to the folder's file system; undefined where no program does. */
export async function syncOf(folder: string): Promise<(() => Promise<void>) | undefined> {
  // Elsewhere `sync` takes no folder, or comes back before all is written.
  if (process.platform !== 'linux') return undefined
  const sync = async () => void (await runFile('sync', ['-f', folder]))
  return sync().then(
    () => sync,
    () => undefined,
  )
}

/** Tells the tables which writes they sync; returns what the aggregator settles on where that is not all of them. */
export async function prepareDisk(
  { sync, servers }: Store,
  { fsync, log }: Pick<Config, 'fsync' | 'log'>,
): Promise<Disk | undefined> {
  // Kafka is read on from the ledger's versions, not from a block.
  const disk = sync && fsync && log.kind === 'in-process' ? { sync, everyMs: SETTLE_MS } : undefined
  const synced = disk ? 'what is not settled' : fsync ? 'every write' : 'none'
  for (const server of servers) await applyDurability(server, synced)
  return disk
}
