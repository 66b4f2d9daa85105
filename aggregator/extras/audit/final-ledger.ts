/** Compares the stored final blocks with the chain that became final. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Network } from '../../../ingest/model/network.ts'
import type { Endpoints } from '../../../ingest/rpc/endpoints/endpoints.ts'
import { getHeader } from '../../../ingest/rpc/rpc.ts'
import { newestBlock, readBlocks, type StoredBlock } from '../../ledger/stored-blocks.ts'

/** The aggregator has not yet followed the chain to its final block. */
export class LedgerBehind extends Error {
  override readonly name = 'LedgerBehind'
}

/**
 * Reads while the ledger up to block `to` is the final chain. A long outage of the aggregator leaves it on a branch that lost, or on the final one
 * with older branches before it: a chain that left a branch and came back to it is in the log twice, and the ledger goes the same way. Its blocks
 * differ from the chain's meanwhile without being wrong. When they are stored again, they have other versions.
 */
export async function inFinalLedger<T>(
  client: ClickHouseClient,
  endpoints: Endpoints,
  network: Network,
  to: number,
  read: () => Promise<T>,
): Promise<T> {
  const before = await finalBlock(client, endpoints, network, to)
  const result = await read()
  const after = await finalBlock(client, endpoints, network, to)
  if (after.version !== before.version)
    throw new LedgerBehind(`The ledger of ${network.name} has changed below block ${to}: ${LATER}`)
  return result
}

const LATER = 'its blocks are audited once it has followed the chain.'

/** The newest block of the ledger up to `to`. Throws where it is not of the final chain. */
async function finalBlock(
  client: ClickHouseClient,
  endpoints: Endpoints,
  { name }: Network,
  to: number,
): Promise<StoredBlock> {
  const [tip, [newest]] = await Promise.all([newestBlock(client, name), readBlocks(client, name, to + 1, 1)])
  if (!newest || !tip || tip.number < to)
    throw new LedgerBehind(`The ledger of ${name} ends at block ${tip?.number ?? -1}, below block ${to}: ${LATER}`)
  const { number, hash } = newest
  const header = await endpoints.run((endpoint) => getHeader(endpoint, number), { atLeast: number })
  if (header?.hash === hash) return newest
  throw new LedgerBehind(
    `The ledger of ${name} has block ${number} ${hash}, and the final chain ${header?.hash ?? 'none'}: ${LATER}`,
  )
}
