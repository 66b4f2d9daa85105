/** The disk under a folder. */
import { open } from 'node:fs/promises'
import type { Disk } from '../../aggregator/ledger/checkpoint.ts'
import { applyDurability } from '../../aggregator/store/durability.ts'
import type { Config } from '../config/config.ts'
import type { Store } from './store.ts'

/** How much of the chain is read again after a power cut. */
const CHECKPOINT_MS = 1_000

/** Puts on the disk what was written to the file system of an embedded engine's folder; undefined where no call does. */
export async function syncOf(folder: string): Promise<(() => Promise<void>) | undefined> {
  // Elsewhere there is no such call, or it comes back before all is written.
  if (process.platform !== 'linux') return undefined
  // It comes with the embedded engine only.
  const { DataType, load, open: openLibrary } = await import('ffi-rs')
  // What this process has loaded: libc is among it. A program would have to be started each time, which takes longer than the call itself.
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

/** Tells the tables which writes they sync; returns what the aggregator settles on where that is not all of them. */
export async function prepareDisk(
  { sync, servers }: Store,
  { fsync, log }: Pick<Config, 'fsync' | 'log'>,
): Promise<Disk | undefined> {
  // Kafka is read on from the ledger's versions, not from a block.
  const disk = sync && fsync && log.kind === 'in-process' ? { sync, everyMs: CHECKPOINT_MS } : undefined
  const synced = disk ? 'what is not settled' : fsync ? 'every write' : 'none'
  for (const server of servers) await applyDurability(server, synced)
  return disk
}
