/** Compares the stored final blocks with the chain that became final. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Network } from '../../../ingest/model/network.ts'
import type { Endpoints } from '../../../ingest/rpc/endpoints/endpoints.ts'
import { getHeader } from '../../../ingest/rpc/rpc.ts'
import { newestBlock, readBlocks } from '../../ledger/stored-blocks.ts'

/** The aggregator has not yet followed the chain to its final block. */
export class LedgerBehind extends Error {
  override readonly name = 'LedgerBehind'
}

/**
 * Throws where the ledger up to block `to` is not the final chain, as a long outage of the aggregator leaves it: its blocks of the branch that
 * lost differ from the chain's without being wrong, and the rollback that is to come replaces them. Once it is the final chain it stays so.
 */
export async function requireFinalLedger(
  client: ClickHouseClient,
  endpoints: Endpoints,
  { name }: Network,
  to: number,
): Promise<void> {
  const [tip, [newest]] = await Promise.all([newestBlock(client, name), readBlocks(client, name, to + 1, 1)])
  const later = 'its blocks are audited once it has followed the chain.'
  if (!newest || !tip || tip.number < to)
    throw new LedgerBehind(`The ledger of ${name} ends at block ${tip?.number ?? -1}, below block ${to}: ${later}`)
  const { number, hash } = newest
  const header = await endpoints.run((endpoint) => getHeader(endpoint, number), { atLeast: number })
  if (header?.hash === hash) return
  throw new LedgerBehind(
    `The ledger of ${name} has block ${number} ${hash}, and the final chain ${header?.hash ?? 'none'}: ${later}`,
  )
}
