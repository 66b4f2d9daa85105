/** Price of each reference pool before the first block, searched backwards, so that the first swaps have a dollar value. */
import { decodeV3, V3_TOPICS } from '../decode/decode-v3.ts'
import type { Network } from '../model/network.ts'
import { lastLog } from '../pools/last-log.ts'
import { Registry } from '../pools/registry.ts'
import type { UsdPrices } from '../pricing/usd.ts'
import type { Endpoints } from '../rpc/endpoints/endpoints.ts'

/**
 * Passes to `usd` the last swap below `block` of every reference pool without a price, as old as endpoints have it: a restarted listener must
 * price like one that has read that swap. A price that is not found stays unknown until the pool's next swap.
 */
export async function bootstrapPrices(
  endpoints: Endpoints,
  network: Network,
  usd: UsdPrices,
  block: number,
): Promise<void> {
  const registry = new Registry(endpoints, network)
  for (const pool of usd.unknown()) {
    const filter = { address: [pool], topics: [[V3_TOPICS.swap]] }
    const last = await lastLog(endpoints, filter, { from: network.v3.fromBlock, to: block - 1 })
    if (!last) continue
    const event = decodeV3(last, network.v3.factory)
    if (event?.kind !== 'swap') continue
    await registry.resolvePools([event], { number: Number(last.blockNumber), hash: last.blockHash })
    const known = registry.get(event.pool)
    if (known?.kind === 'pool') usd.observe(known.pool, event.sqrtPriceX96, Number(last.blockNumber))
  }
}
