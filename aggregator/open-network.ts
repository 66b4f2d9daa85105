/**
 * The start of a network's writer. The order matters: the epoch is acquired first, so that no earlier owner's candles count, and a
 * crash's remains are removed before anything is read into memory.
 */

import type { ClickHouseClient } from '@clickhouse/client'
import { OpenCandles } from './candles/open-candles.ts'
import { readHorizon } from './candles/retention.ts'
import { acquireEpoch } from './candles/writer-epoch.ts'
import { readStoredOverwrites, type StoredOverwrites } from './history/coverage.ts'
import { checkpointing, readCheckpoint, readCompleteVersion } from './ledger/checkpoint.ts'
import { Ledger } from './ledger/ledger.ts'
import { inOrder, type LedgerObserver, type OpenObserver } from './ledger/observer.ts'
import { recover } from './ledger/recover.ts'
import { BEFORE_ALL, newestTick } from './ledger/stored-blocks.ts'
import { untilStored } from './ledger/until-stored.ts'
import { tombstoneVersion } from './store/version.ts'
import type { AggregateOptions } from './write/aggregate-options.ts'
import type { OpenNetwork, WriterState } from './write/writer-state.ts'

/** Each step is retried until the tables answer. */
export async function openNetwork(
  client: ClickHouseClient,
  options: AggregateOptions,
): Promise<OpenNetwork & { overwrites: StoredOverwrites }> {
  const { network, log, position, disk, observers = [], report, signal } = options
  const { generation, offset } = position
  const persist = <T>(task: () => Promise<T>) => untilStored(options, task)
  const versions = await persist(() => acquireEpoch(client, network))
  // A log without `confirm` has one process, and that one holds the lock on the data folder.
  await log.confirm?.()
  const recomputeContext = { versions, horizon: await persist(() => readHorizon(client)) }
  const overwrites = await persist(() => readStoredOverwrites(client, network))
  const ledger = await persist(() => Ledger.load(client, network))
  const checkpoint = await persist(() => readCheckpoint(client, network))
  const completeVersion = await persist(() => readCompleteVersion(client, network))
  const { tip } = ledger
  const opened: Partial<LedgerObserver>[] = []
  const open = (one: OpenObserver) => persist(() => one(client, { network, ledger, versions, report, signal }))
  for (const one of observers) opened.push(await open(one))
  const observer = inOrder(opened)
  // A power cut may have taken published blocks off the ledger.
  await persist(() => observer.retract(tip ?? BEFORE_ALL, tombstoneVersion(position)))
  await persist(() =>
    recover(client, { network, position, tip, checkpoint, completeVersion, recomputeContext, observer }),
  )
  // Its first record holds only now.
  const checkpointer = await open(checkpointing(disk))
  const since = await persist(() => newestTick(client, network, tip))
  const isFenced = log.confirm !== undefined
  const state: WriterState = { ...recomputeContext, isFenced, open: new OpenCandles(since), history: undefined }
  report({ kind: 'aggregator-started', network, tip, epoch: versions.epoch, generation, offset })
  return { state, ledger, overwrites, observer: inOrder([checkpointer, ...opened]) }
}
