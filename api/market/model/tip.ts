/** The tip of a network's ledger: the newest block whose ticks and candles are all in the tables. */
import type { ClickHouseClient } from '@clickhouse/client'
import { newestBlock } from '../../../aggregator/ledger/stored-blocks.ts'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import { networkPlaces, orUnavailable, queryRows, readSql } from '../../lib/store.ts'

/** `finalized`: the newest block that was final when the tip was read; 0 where that is not known. */
export type Tip = { number: number; hash: string; timestamp: UnixSeconds; finalized: number }

export type Tips = ReadonlyMap<NetworkName, Tip>

type KnownTips = ReadonlyMap<NetworkName, { tip: Tip | undefined }>

const TIP_SINCE = readSql(new URL('./tip-since.sql', import.meta.url))

type TipRow = { network: NetworkName; number: string; hash: string; time: number; finalized: number }

/** A network without a tip has no ledger yet. `known`: the last tips, from which the newest blocks are found without a scan. */
export async function readTips(
  client: ClickHouseClient,
  networks: readonly NetworkName[],
  known: KnownTips = new Map(),
): Promise<Tips> {
  const tips = await readSince(client, networks, known)
  // The others had no tip, or their ledger was rolled back below it.
  await Promise.all(
    networks
      .filter((network) => !tips.has(network))
      .map(async (network) => {
        const tip = await orUnavailable(() => newestBlock(client, network))
        if (tip) tips.set(network, tip)
      }),
  )
  return tips
}

async function readSince(client: ClickHouseClient, networks: readonly NetworkName[], known: KnownTips) {
  const numbers = networks.flatMap((network) => {
    const tip = known.get(network)?.tip
    // A bound that all blocks are above is no condition for the engine. One without a row is asked for once more.
    return tip ? [{ network, number: Math.max(1, tip.number) }] : []
  })
  const read = await Promise.all(
    networkPlaces(numbers).map((places) =>
      queryRows<TipRow>(client, TIP_SINCE, {
        networks: places.map(({ network }) => network),
        known: places.map(({ number }) => number),
      }),
    ),
  )
  return new Map(read.flat().map((row) => [row.network, tipOf(row)]))
}

function tipOf({ number, hash, time, finalized }: TipRow): Tip {
  return { number: Number(number), hash: `0x${hash}`, timestamp: time, finalized }
}

/** Seconds that the ledger is behind the clock; 0 where block times are ahead of the local clock. */
export function lagSeconds(tip: Tip, now: UnixSeconds): number {
  return Math.max(0, now - tip.timestamp)
}

/** With a smaller lag, no stored trade since the tip means no trade. */
const FRESH_SECONDS = 60

export function isFresh(tip: Tip, now: UnixSeconds): boolean {
  return lagSeconds(tip, now) < FRESH_SECONDS
}
