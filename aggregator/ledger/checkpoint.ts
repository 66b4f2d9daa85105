/**
 * Settling: where writes are not synced one by one, all of them are synced now and then, and what was on the ledger then is noted.
 * A power cut takes any of what was written later, in no order. So a start goes back to what is noted, and the chain is read again.
 */
import type { ClickHouseClient } from '@clickhouse/client'
import { whenIdle } from '../../ingest/lib/live-priority.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { Report } from '../../ingest/model/report.ts'
import type { CandleVersions } from '../candles/writer-epoch.ts'
import { ask, insertRows, loadSql, run } from '../store/store.ts'
import { tombstoneVersion } from '../store/version.ts'
import type { AggregatorFact } from './fact.ts'
import { positionAbove } from './resume.ts'
import { storedChain } from './stored-blocks.ts'

const tombstoneBlocks = loadSql(import.meta.url, './tombstone_blocks.sql')

/** Where the tables are. */
export type Disk = {
  /** All that was answered before it was called is on the disk when it resolves. */
  sync(): Promise<void>
  /** How long something may stay unsynced, about. */
  everyMs: number
}

/** All up to a block, with candles of no higher version than this; −1: nothing. */
export type Checkpoint = { number: number; version: bigint }

export type Checkpointer = {
  /** A flush is on the ledger. */
  advance(point: Checkpoint): void
  /** Syncs what is stored now, and notes what is on the ledger. */
  save(): Promise<void>
  /** Before anything above a block is taken back: a start must not look for it any more. */
  lowerTo(to: Checkpoint): Promise<void>
  /** Settles what is left. */
  close(): Promise<void>
}

/** In place of a block: whatever is on the ledger is on the disk. */
const EVERYTHING = (1n << 63n) - 1n

/** Where a start has to go back to; undefined where all is on the disk that was answered. */
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

/** Candles of no higher version have all their ticks: what a crash can leave of them is later. 0 where that was never noted. */
export async function readCompleteVersion(client: ClickHouseClient, network: NetworkName): Promise<bigint> {
  const [row] = await ask<{ version: string }>(
    client,
    'SELECT toString(version) AS version FROM settled FINAL WHERE network = {network:String}',
    { network },
  )
  return BigInt(row?.version ?? 0)
}

/** Takes off the ledger what may not be whole: the first thing that is done to tables which nobody has open. What is left above it goes as after any crash. */
export async function truncateToCheckpoints(client: ClickHouseClient): Promise<void> {
  const networks = await ask<{ network: NetworkName }>(client, 'SELECT DISTINCT network FROM settled', {})
  for (const { network } of networks) await truncateToCheckpoint(client, network)
}

/** Of one network. */
export async function truncateToCheckpoint(client: ClickHouseClient, network: NetworkName): Promise<void> {
  const settled = await readCheckpoint(client, network)
  if (!settled) return
  const tip = await storedChain(client, network).tip()
  if (!tip || tip.number <= settled.number) return
  const version = tombstoneVersion(await positionAbove(client, network, settled.number)).toString()
  await run(client, tombstoneBlocks, { network, block: settled.number, version })
}

/** Where every write is synced, or none has to be, nothing is gone back to: noted is only which candles have all their ticks. */
export function checkpointEverything(
  client: ClickHouseClient,
  network: NetworkName,
  versions: CandleVersions,
): Promise<void> {
  return writeCheckpoint(client, network, EVERYTHING, versions.next())
}

/** Nothing is settled before its first `settle`, which comes before the first write. */
export function createCheckpointer(
  client: ClickHouseClient,
  network: NetworkName,
  disk: Disk,
  standing: Checkpoint,
  report: Report<AggregatorFact>,
): Checkpointer {
  let newest = standing
  let settled: Checkpoint | undefined
  let timer: NodeJS.Timeout | undefined
  let isEnding = false
  let turn: Promise<void> = Promise.resolve()

  /** One after the other. */
  function inOrder(task: () => Promise<void>): Promise<void> {
    turn = turn.catch(() => undefined).then(task)
    return turn
  }

  async function saveAt(point: Checkpoint): Promise<void> {
    await disk.sync()
    if (point === settled) return
    await writeCheckpoint(client, network, BigInt(point.number), point.version)
    settled = point
  }

  const save = () => inOrder(() => saveAt(newest))

  async function trySave(): Promise<void> {
    timer = undefined
    try {
      await save()
    } catch (error) {
      report({ kind: 'store-failed', network, error, retryMs: disk.everyMs })
      schedule()
    }
  }

  async function saveInCalm(): Promise<void> {
    await whenIdle()
    if (!isEnding) await trySave()
  }

  function schedule(): void {
    if (!isEnding) timer ??= setTimeout(saveInCalm, disk.everyMs)
  }

  return {
    save,
    advance(point) {
      newest = point
      schedule()
    },
    lowerTo(to) {
      newest = to
      return inOrder(async () => {
        if (!settled || settled.number > to.number) await saveAt(to)
      })
    },
    async close() {
      isEnding = true
      clearTimeout(timer)
      await trySave()
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
