/** Dollar prices at the start of an audit, from the last stored swaps of the reference pools. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Address } from 'viem'
import { bootstrapPrices } from '../../../ingest/blocks/reference-price.ts'
import type { Network } from '../../../ingest/model/network.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import type { UsdPrices } from '../../../ingest/pricing/usd.ts'
import type { Endpoints } from '../../../ingest/rpc/endpoints/endpoints.ts'
import { pinToBlock } from '../../../ingest/rpc/endpoints/pin-to-block.ts'
import type { StoredRange } from '../../history/coverage.ts'
import { ask } from '../../store/store.ts'

/** Stored swaps are searched this far back; an older one is read from a node, as a listener does. */
const LOOKBACK_BLOCKS = 100_000

type LastSwap = { number: number; sqrtPrice: string; token0: Address; token1: Address }

/**
 * Passes the prices before block `from` to `usd`. Returns the reference pools without a stored swap: the stored dollars may have been computed
 * with another price, so a difference in dollars proves nothing until the pool's next swap. A pool that is not stored never gets one.
 */
export async function loadPrices(
  client: ClickHouseClient,
  endpoints: Endpoints,
  network: Network,
  usd: UsdPrices,
  { first, pools, from }: Pick<StoredRange, 'pools'> & { first: number; from: number },
): Promise<Set<PoolId>> {
  const unverified = new Set(network.referencePools.map(({ pool }) => pool))
  for (const id of unverified) {
    if (pools && !pools.includes(id)) continue
    const [last] = await ask<LastSwap>(
      client,
      `SELECT toFloat64(swap.block) AS number, toString(swap.sqrt_price) AS sqrtPrice, tokens.token0, tokens.token1
       FROM (
         SELECT pool, block, sqrt_price FROM ticks FINAL
         WHERE network = {network:String} AND pool = {pool:String} AND block >= {first:UInt64} AND block < {from:UInt64}
         ORDER BY time DESC, block DESC, log_index DESC LIMIT 1
       ) AS swap
       INNER JOIN (
         SELECT pool, any(token0_address) AS token0, any(token1_address) AS token1
         FROM pools WHERE network = {network:String} AND pool = {pool:String} GROUP BY pool
       ) AS tokens USING (pool)`,
      { network: network.name, pool: id, first: Math.max(first, from - LOOKBACK_BLOCKS), from },
    )
    if (!last) continue
    const pool = { id, token0: { address: last.token0 }, token1: { address: last.token1 } }
    usd.observe(pool, BigInt(last.sqrtPrice), last.number)
    unverified.delete(id)
  }
  // A node that has the final block and lacks an older one does not have its history any more: without the pin it counts as behind.
  const final = endpoints.finality.below(Number.POSITIVE_INFINITY)
  await bootstrapPrices(final ? pinToBlock(endpoints, final) : endpoints, network, usd, from)
  return unverified
}
