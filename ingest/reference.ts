/** The price of a reference pool before the first block that a listener reads: looked up backwards, so that the first swaps have a value too. */
import type { Client } from 'viem'
import { decodeV3, V3_TOPICS } from './decode-v3.ts'
import type { Network } from './network.ts'
import type { PoolId } from './pool.ts'
import { Registry } from './registry.ts'
import { getLogs } from './rpc.ts'
import { isTooLarge } from './too-large.ts'
import type { UsdPrices } from './usd.ts'

const FIRST_WINDOW_BLOCKS = 500
const MAX_WINDOW_BLOCKS = 10_000
/** A pool that nobody has used for this long prices nothing. */
const MAX_LOOKBACK_BLOCKS = 100_000

/** Shows `usd` the last swap below `block` of every reference pool that has shown it nothing yet. */
export async function bootstrapPrices(client: Client, network: Network, usd: UsdPrices, block: number): Promise<void> {
  const registry = new Registry(client, network)
  for (const pool of usd.unknown()) {
    const oldest = Math.max(network.v3.fromBlock, block - MAX_LOOKBACK_BLOCKS)
    let window = FIRST_WINDOW_BLOCKS
    for (let to = block - 1; to >= oldest; ) {
      const from = Math.max(oldest, to - window + 1)
      const logs = await logsUnlessTooMany(client, pool, { from, to })
      if (!logs) {
        window = Math.max(1, Math.floor((to - from + 1) / 2))
        continue
      }
      const last = logs.at(-1)
      const event = last && decodeV3(last, network.v3.factory)
      if (last && event?.kind === 'swap') {
        await registry.learn([event])
        const known = registry.get(event.pool)
        if (known?.kind === 'pool') usd.observe(known.pool, event.sqrtPriceX96, Number(last.blockNumber))
        break
      }
      to = from - 1
      window = Math.min(MAX_WINDOW_BLOCKS, window * 2)
    }
  }
}

/** Undefined where the node wants a smaller range. */
async function logsUnlessTooMany(client: Client, pool: PoolId, where: { from: number; to: number }) {
  try {
    return await getLogs(client, { address: [pool], topics: [[V3_TOPICS.swap]] }, where)
  } catch (error) {
    if (where.from === where.to || !isTooLarge(error)) throw error
    return undefined
  }
}
