/** The price of a reference pool before the first block that a listener reads: looked up backwards, so that the first swaps have a value too. */
import { decodeV3, V3_TOPICS } from '../decode/decode-v3.ts'
import type { Network } from '../model/network.ts'
import { Registry } from '../pools/registry.ts'
import type { UsdPrices } from '../pricing/usd.ts'
import type { Endpoints } from '../rpc/endpoints.ts'
import { lastLog } from './last-log.ts'

const WINDOW_BLOCKS = { first: 500, most: 1_000_000 }

/**
 * Shows `usd` the last swap below `block` of every reference pool that has shown it nothing yet, however long ago that was: a listener
 * that has seen the swap keeps its price as long, and one that starts again must price as it does.
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
    const last = await lastLog(endpoints, filter, { from: network.v3.fromBlock, to: block - 1 }, WINDOW_BLOCKS)
    if (!last) continue
    const event = decodeV3(last, network.v3.factory)
    if (event?.kind !== 'swap') continue
    await registry.resolvePools([event], { number: Number(last.blockNumber), hash: last.blockHash })
    const known = registry.get(event.pool)
    if (known?.kind === 'pool') usd.observe(known.pool, event.sqrtPriceX96, Number(last.blockNumber))
  }
}
