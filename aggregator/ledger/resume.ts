/** The position in the log where an aggregator resumes, from the versions that are stored. */
import type { ClickHouseClient } from '@clickhouse/client'
import { tipOf } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { TickLog } from '../../ingest/model/tick-log.ts'
import { ask } from '../store/store.ts'
import { FINAL_HISTORY, type LogPosition, positionOf, type Version } from '../store/version.ts'
import { newestBlock, type StoredBlock } from './stored-blocks.ts'

/**
 * In a log that keeps its messages: at the message of the highest version in `blocks`, tombstones included, so that a flush or rollback
 * that was cut off is repeated. A log without the tip's message was recreated: it is read from its beginning,
 * in a generation above all that is stored, also above the remains of a flush beyond the tip, which no message will replace.
 */
export async function positionInLog(
  client: ClickHouseClient,
  network: NetworkName,
  log: TickLog,
): Promise<LogPosition> {
  const stored = await highestInLedger(client, network)
  const beyond = await highestBeyond(client, network, stored?.tip)
  const highest = highestOf([stored?.highest ?? 0n, beyond])
  if (highest === 0n) return { generation: 0, offset: 0 }
  const { generation } = positionOf(highest)
  if (stored) {
    const last = positionOf(stored.highest)
    const tip = stored.tip && { ...positionOf(stored.tip.version), hash: stored.tip.hash }
    const entry = await log.at(tip ? tip.offset : last.offset)
    const isSameLog = entry !== undefined && (!tip || tipOf(entry.message).hash === tip.hash)
    if (isSameLog && generation === last.generation) return last
  }
  return { generation: generation + 1, offset: 0 }
}

/** In a log that keeps nothing: above everything stored, in the ledger and beyond its tip. */
export function positionAfterStored(client: ClickHouseClient, network: NetworkName): Promise<LogPosition> {
  return positionAbove(client, network, Number.POSITIVE_INFINITY)
}

/** After a power cut, which may have lost any row of the ledger above the checkpoint: the tip may not be the newest row then. */
export async function positionAbove(
  client: ClickHouseClient,
  network: NetworkName,
  checkpoint: number,
): Promise<LogPosition> {
  const stored = await highestInLedger(client, network, checkpoint)
  const beyond = await highestBeyond(client, network, stored?.tip)
  const highest = highestOf([stored?.highest ?? 0n, beyond])
  if (highest === 0n) return { generation: 0, offset: 0 }
  const { generation, offset } = positionOf(highest)
  return { generation, offset: offset + 1 }
}

/** Above the tip, or above the checkpoint, only a tombstone can be later than the tip's row: a block that was appended later would be the tip. */
async function highestInLedger(client: ClickHouseClient, network: NetworkName, checkpoint = Number.POSITIVE_INFINITY) {
  const tip = await newestBlock(client, network)
  const number = tip ? Math.min(tip.number - 1, checkpoint) : -1
  const highest = await highestVersion(client, 'blocks', network, { number })
  return highest === 0n ? undefined : { highest, tip }
}

/**
 * The highest version of live rows and tombstones beyond the ledger's tip, 0 without any. An hour's balances are compared by version: a rollback
 * replaces them by an older reading, of a block up to the tip.
 */
async function highestBeyond(client: ClickHouseClient, network: NetworkName, tip?: StoredBlock): Promise<Version> {
  const above = tip?.number ?? -1
  return highestOf(
    await Promise.all([
      ...['ticks', 'pools', 'liquidity_changes'].map((table) =>
        highestVersion(client, table, network, { block: above }),
      ),
      highestVersion(client, 'pool_balance_hours', network, { version: tip?.version ?? 0n }),
    ]),
  )
}

function highestOf(versions: readonly Version[]): Version {
  let highest = 0n
  for (const version of versions) if (version > highest) highest = version
  return highest
}

/** The highest live version above a value of one column; 0 where there is none. */
async function highestVersion(
  client: ClickHouseClient,
  table: string,
  network: NetworkName,
  above: { block: number } | { number: number } | { version: Version },
): Promise<Version> {
  const [[column, value] = []] = Object.entries(above)
  const [row] = await ask<{ highest: string }>(
    client,
    `SELECT toString(max(version)) AS highest FROM ${table}
     WHERE network = {network:String} AND version < {final:UInt64} AND ${column} > {above:${column === 'version' ? 'UInt64' : 'Int64'}}`,
    { network, final: FINAL_HISTORY.toString(), above: String(value) },
  )
  return BigInt(row?.highest ?? 0)
}
