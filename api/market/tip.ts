/** Where the ledger of a network stands: the last block whose ticks and candles are all in the tables. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../ingest/message.ts'
import type { NetworkName } from '../../ingest/network.ts'
import { ask, readSql } from '../store.ts'

export type Tip = { number: number; hash: string; timestamp: UnixSeconds }

const TIP = readSql(new URL('./tip.sql', import.meta.url))

/** A network without a tip has nothing stored yet. */
export async function readTips(
  client: ClickHouseClient,
  networks: readonly NetworkName[],
): Promise<ReadonlyMap<NetworkName, Tip>> {
  const tips = new Map<NetworkName, Tip>()
  await Promise.all(
    networks.map(async (network) => {
      const [row] = await ask<{ number: string; hash: string; time: number }>(client, TIP, { network })
      if (row !== undefined)
        tips.set(network, { number: Number(row.number), hash: `0x${row.hash}`, timestamp: row.time })
    }),
  )
  return tips
}

/** How far the ledger is behind the clock; never negative, since a chain's clock may be ahead of ours. */
export function lagSeconds(tip: Tip, now: UnixSeconds): number {
  return Math.max(0, now - tip.timestamp)
}
