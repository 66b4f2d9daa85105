/** Writer epoch: a fencing token. Each aggregator that starts on a network writes candles of higher versions than all before it. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { NetworkName } from '../../ingest/model/network.ts'
import { ask, insertRows } from '../store/store.ts'

/** Versions of candles: the owner's epoch in the high half, a counter of its writes in the low one. */
export type CandleVersions = { epoch: bigint; next(): bigint }

/**
 * The epoch is valid once the log confirms that this process is still assigned: a later owner reads this epoch and takes a higher one, and an
 * earlier owner can no longer confirm.
 */
export async function acquireEpoch(client: ClickHouseClient, network: NetworkName): Promise<CandleVersions> {
  const [last] = await ask<{ epoch: string }>(
    client,
    'SELECT toString(max(epoch)) AS epoch FROM owners WHERE network = {network:String}',
    { network },
  )
  const epoch = BigInt(last?.epoch ?? 0) + 1n
  await insertRows(client, 'owners', (rows) =>
    rows
      .string(network)
      .uint64(epoch)
      .uint32(Math.floor(Date.now() / 1000)),
  )
  let writes = 0n
  return {
    epoch,
    next() {
      writes += 1n
      return (epoch << 64n) | writes
    },
  }
}
