/** Price of each reference pool before the first block, searched backwards, so that the first swaps have a dollar value. */
import type { Client } from 'viem'
import { decodeV3, V3_TOPICS } from '../decode/decode-v3.ts'
import type { Network } from '../model/network.ts'
import { Registry } from '../pools/registry.ts'
import type { UsdPrices } from '../pricing/usd.ts'
import type { Endpoints } from '../rpc/endpoints.ts'
import { readInPieces, readLogs } from '../rpc/log-range.ts'
import type { LogFilter, RpcLog } from '../rpc/rpc.ts'

const WINDOW_BLOCKS = { first: 500, most: 1_000_000 }

/**
 * Passes to `usd` the last swap below `block` of every reference pool without a price, however old: a restarted listener must price like
 * one that has read that swap.
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

/** The newest log that matches a filter, searched backwards in growing windows. Undefined where the range has none. */
async function lastLog(
  endpoints: Endpoints,
  filter: LogFilter,
  { from, to }: { from: number; to: number },
): Promise<RpcLog | undefined> {
  const read = (client: Client, low: number, high: number) => readLogs(client, filter, low, high)
  let width = WINDOW_BLOCKS.first
  for (let last = to; last >= from; ) {
    const first = Math.max(from, last - Math.min(width, endpoints.maxBlocks()) + 1)
    const { pieces, narrowedTo } = await readInPieces(endpoints, first, last, read)
    const found = pieces.findLast(({ logs }) => logs.length > 0)?.logs.at(-1)
    if (found) return found
    last = first - 1
    width = narrowedTo ?? Math.min(WINDOW_BLOCKS.most, width * 2)
  }
  return undefined
}
