/** The tip of a network's ledger: the newest block whose ticks and candles are all in the tables. */
import type { ClickHouseClient } from '@clickhouse/client'
import { newestBlock } from '../../../aggregator/ledger/stored-blocks.ts'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import { orUnavailable, queryRows, readSql } from '../../lib/store.ts'

/** `finalized`: the newest block that was final when the tip was read; 0 where that is not known. */
export type Tip = { number: number; hash: string; timestamp: UnixSeconds; finalized: number }

export type Tips = ReadonlyMap<NetworkName, Tip>

type KnownTips = ReadonlyMap<NetworkName, { tip: Tip | undefined }>

const TIP_SINCE = readSql(new URL('./tip-since.sql', import.meta.url))

type TipRow = { number: string; hash: string; time: number; finalized: number }

/** A network without a tip has no ledger yet. `known`: the last tips, from which the newest block is found without a scan. */
export async function readTips(
  client: ClickHouseClient,
  networks: readonly NetworkName[],
  known: KnownTips = new Map(),
): Promise<Tips> {
  const tips = new Map<NetworkName, Tip>()
  await Promise.all(
    networks.map(async (network) => {
      const since = await readSince(client, network, known.get(network)?.tip)
      const tip = since ?? (await orUnavailable(() => newestBlock(client, network)))
      if (tip) tips.set(network, tip)
    }),
  )
  return tips
}

/** Undefined where the ledger was rolled back below the known tip. */
async function readSince(client: ClickHouseClient, network: NetworkName, known: Tip | undefined) {
  if (!known) return undefined
  const [row] = await queryRows<TipRow>(client, TIP_SINCE, { network, known: known.number })
  return row && tipOf(row)
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
