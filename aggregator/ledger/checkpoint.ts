/**
 * Group fsync: where writes are not synced one by one, all are synced every `everyMs`, and the ledger's tip is recorded as a checkpoint
 * (table `settled`). A power cut loses any later writes, in no order, so a start truncates to the checkpoint and reads the chain again.
 */
import type { ClickHouseClient } from '@clickhouse/client'
import { serial } from '../../ingest/lib/serial.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import { ask, insertRows } from '../store/store.ts'
import { tombstoneVersion } from '../store/version.ts'
import type { LedgerObserver, ObserverContext, OpenObserver } from './observer.ts'
import { positionAbove } from './resume.ts'
import { shrinkLedger } from './shrink-ledger.ts'
import { storedChain } from './stored-blocks.ts'

/** Where the tables are. */
export type Disk = {
  /** Every write that was acknowledged before the call is on the disk when it resolves. */
  sync(): Promise<void>
  /** A write stays unsynced for about this long. */
  everyMs: number
}

/** Everything up to a block is on the disk, with candles up to a version. Number −1: nothing. */
export type Checkpoint = { number: number; version: bigint }

/** In place of a block number: all of the ledger is on the disk. */
const EVERYTHING = (1n << 63n) - 1n

/** Undefined where every acknowledged write is on the disk. */
export async function readCheckpoint(client: ClickHouseClient, network: NetworkName): Promise<Checkpoint | undefined> {
  const [row] = await ask<{ number: string; version: string }>(
    client,
    `SELECT toString(number) AS number, toString(version) AS version
     FROM settled FINAL WHERE network = {network:String}`,
    { network },
  )
  if (!row || BigInt(row.number) === EVERYTHING) return undefined
  return { number: Number(row.number), version: BigInt(row.version) }
}

/** Candles up to this version have all their ticks; a crash can leave only later ones without. 0 where none was recorded. */
export async function readCompleteVersion(client: ClickHouseClient, network: NetworkName): Promise<bigint> {
  const [row] = await ask<{ version: string }>(
    client,
    'SELECT toString(version) AS version FROM settled FINAL WHERE network = {network:String}',
    { network },
  )
  return BigInt(row?.version ?? 0)
}

/** Takes blocks off the ledger that a power cut may have left incomplete. Call it before any other process opens the tables; `recover` removes their rows. */
export async function truncateToCheckpoints(client: ClickHouseClient): Promise<void> {
  const networks = await ask<{ network: NetworkName }>(client, 'SELECT DISTINCT network FROM settled', {})
  for (const { network } of networks) await truncateToCheckpoint(client, network)
}

export async function truncateToCheckpoint(client: ClickHouseClient, network: NetworkName): Promise<void> {
  const checkpoint = await readCheckpoint(client, network)
  if (!checkpoint) return
  const tip = await storedChain(client, network).tip()
  if (!tip || tip.number <= checkpoint.number) return
  const version = tombstoneVersion(await positionAbove(client, network, checkpoint.number))
  await shrinkLedger(client, { network, block: checkpoint.number, version })
}

/** Records the first checkpoint. Without a disk, every acknowledged write is on it, or none has to be: only which candles have all their ticks is recorded. */
export function checkpointing(disk: Disk | undefined): OpenObserver {
  return (client, context) => (disk ? openCheckpointer(client, disk, context) : openEverything(client, context))
}

async function openEverything(
  client: ClickHouseClient,
  { network, versions }: ObserverContext,
): Promise<Partial<LedgerObserver>> {
  const overwritten = () => writeCheckpoint(client, network, EVERYTHING, versions.next())
  await overwritten()
  return { overwritten }
}

async function openCheckpointer(
  client: ClickHouseClient,
  disk: Disk,
  { network, ledger, versions, report }: ObserverContext,
): Promise<Partial<LedgerObserver>> {
  const pointAt = (number = -1): Checkpoint => ({ number, version: versions.next() })
  let newest = pointAt(ledger.tip?.number)
  let saved: Checkpoint | undefined
  let timer: NodeJS.Timeout | undefined
  let isEnding = false
  const inOrder = serial()

  async function saveAt(point: Checkpoint): Promise<void> {
    await disk.sync()
    if (point === saved) return
    await writeCheckpoint(client, network, BigInt(point.number), point.version)
    saved = point
  }

  const sync = () => inOrder(() => saveAt(newest))

  async function trySync(): Promise<void> {
    timer = undefined
    try {
      await sync()
    } catch (error) {
      report({ kind: 'store-failed', network, error, retryMs: disk.everyMs })
      schedule()
    }
  }

  function schedule(): void {
    if (!isEnding) timer ??= setTimeout(trySync, disk.everyMs)
  }

  function advance(point: Checkpoint): void {
    newest = point
    schedule()
  }

  await sync()
  return {
    sync,
    recorded: ({ event }) => advance({ number: event.tip.number, version: event.sequence }),
    overwritten: async () => advance(pointAt(ledger.tip?.number)),
    /** A start must not expect blocks that are taken back. */
    retract(to) {
      const point = pointAt(to.number)
      newest = point
      return inOrder(async () => {
        if (!saved || saved.number > to.number) await saveAt(point)
      })
    },
    async close() {
      isEnding = true
      clearTimeout(timer)
      await trySync()
    },
  }
}

function writeCheckpoint(
  client: ClickHouseClient,
  network: NetworkName,
  number: bigint,
  version: bigint,
): Promise<void> {
  return insertRows(client, 'settled', (out) =>
    out.string(network).uint64(BigInt.asUintN(64, number)).integer(version, 128),
  )
}
