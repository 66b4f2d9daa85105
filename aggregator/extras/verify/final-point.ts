/** The bounds of a verification: the oldest second that is kept, and the final point, below which the stream writes nothing any more. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import { readHorizon } from '../../candles/retention.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { ledgerStart, readBlocks, storedBlock } from '../../ledger/stored-blocks.ts'
import { ask } from '../../store/store.ts'

const DAY = 86_400

export type FinalPoint = {
  /** Absent where no listener has stored anything, and jobs alone write. */
  block: { number: number; hash: string } | undefined
  /** Whatever is of an earlier second is final and stored. Later blocks may share this second. */
  before: UnixSeconds
}

/**
 * The newest final block that is on the stored ledger: memory knows a block before its rows are stored. What a job has stated beyond it
 * counts once the stream is there. Undefined where nothing is final.
 */
export async function readFinalPoint(
  client: ClickHouseClient,
  network: NetworkName,
  ledger: Ledger,
): Promise<FinalPoint | undefined> {
  if (ledger.tip) {
    const [block] = await readBlocks(client, network, ledger.finalized + 1, 1)
    return block && { block, before: block.timestamp }
  }
  const [covered] = await ask<{ last: UnixSeconds }>(
    client,
    'SELECT toUnixTimestamp(max(last_time)) AS last FROM coverage WHERE network = {network:String}',
    { network },
  )
  return covered?.last ? { block: undefined, before: covered.last } : undefined
}

/** Whether the ledger still holds it: a rewind that began meanwhile has shortened the ledger first. */
export async function isStillFinal(
  client: ClickHouseClient,
  network: NetworkName,
  ledger: Ledger,
  { block }: FinalPoint,
): Promise<boolean> {
  if (!block) return ledger.tip === undefined
  return (await storedBlock(client, network, block.number))?.hash === block.hash
}

/** Where stored history begins, or the first day of which no tick expires soon. Undefined where nothing is stored. */
export async function readOldestSecond(
  client: ClickHouseClient,
  network: NetworkName,
): Promise<UnixSeconds | undefined> {
  const [start, [covered], horizon] = await Promise.all([
    ledgerStart(client, network),
    ask<{ first: UnixSeconds; ranges: number }>(
      client,
      'SELECT toUnixTimestamp(min(first_time)) AS first, toFloat64(count()) AS ranges FROM coverage WHERE network = {network:String}',
      { network },
    ),
    readHorizon(client),
  ])
  const begins = [...(start ? [start.time] : []), ...(covered && covered.ranges > 0 ? [covered.first] : [])]
  if (begins.length === 0) return undefined
  const kept = horizon()
  return Math.max(Math.min(...begins), kept === 0 ? 0 : (Math.ceil(kept / DAY) + 1) * DAY)
}
