/** The listener of a test: tells an aggregator a chain by the rules of ingest/follow/listener.ts, from what it finds when it starts. */
import type { ClickHouseClient } from '@clickhouse/client'
import { storedChain } from '../../aggregator/ledger/stored-blocks.ts'
import { type BlockMessage, tipOf } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { ArrayLog } from '../support/array-log.ts'
import { asBlocks, type Chain } from '../support/chain.ts'
import type { Running } from './running.ts'

export type Told = { network: NetworkName; chain: Chain; log?: ArrayLog | undefined }

/** Blocks that follow the newest one that the tables or the log know and the chain has. */
async function untold(client: ClickHouseClient, { network, chain, log }: Told): Promise<BlockMessage[]> {
  const stored = storedChain(client, network)
  const tip = await stored.tip()
  const known = tip ? [tip, ...(await stored.below(tip.number, 1_024))] : []
  const last = await log?.last()
  const logged = last && tipOf(last.message)
  if (logged && !known.some((ref) => ref.number >= logged.number)) known.push(logged)
  const hashes = new Set(known.map(({ hash }) => hash))
  return asBlocks(network, chain.slice(chain.findLastIndex(({ hash }) => hashes.has(hash)) + 1))
}

export async function tell(client: ClickHouseClient, aggregator: Running, told: Told): Promise<void> {
  await aggregator.append(await untold(client, told))
  const kinds = aggregator.facts.map(({ kind }) => kind)
  const isStalled = kinds.lastIndexOf('stalled') > kinds.lastIndexOf('connected')
  if (!isStalled && !(await isLeft(client, told))) return
  // The log held a branch that was not stored yet, and the chain left it meanwhile: once the stored tip has stood still for a minute,
  // the listener starts again from there.
  await aggregator.append(await untold(client, { ...told, log: undefined }))
}

/** Whether the tables follow a log into a branch that the chain has left: its next block will not connect. */
async function isLeft(client: ClickHouseClient, { network, chain, log }: Told): Promise<boolean> {
  if (!log) return false
  const tip = await storedChain(client, network).tip()
  return tip !== undefined && chain.every(({ hash }) => hash !== tip.hash)
}
