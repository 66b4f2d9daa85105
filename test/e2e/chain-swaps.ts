/** Swaps as a node tells them, decoded by viem, and as the tables have them. */
import { type Hex, numberToHex, parseAbi, parseEventLogs, type RpcLog } from 'viem'
import { rpcOver } from '../../infra/devnet/chain/rpc.ts'
import type { TestDatabase } from '../support/clickhouse.ts'

type Blocks = { from: number; to: number }
/** Numbers as texts; amounts as the taker sees them. */
export type SwapOfChain = Record<'block' | 'index' | 'amount0' | 'amount1' | 'sqrt' | 'liquidity' | 'tick', string>

const swapAbi = parseAbi([
  'event Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick)',
  'event Swap(bytes32 indexed id, address indexed sender, int128 amount0, int128 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick, uint24 fee)',
])

/** By `eth_getLogs`. */
export async function swapsInLogs(url: string, { from, to }: Blocks, address?: Hex): Promise<SwapOfChain[]> {
  const filter = { fromBlock: numberToHex(from), toBlock: numberToHex(to), ...(address && { address }) }
  const [logs] = await rpcOver(url)([{ method: 'eth_getLogs', params: [filter] }])
  return swapsOf(logs as RpcLog[])
}

/** By the receipts of each block, which do not come from an index of logs. */
export async function swapsInReceipts(url: string, { from, to }: Blocks): Promise<SwapOfChain[]> {
  const rpc = rpcOver(url)
  const swaps: SwapOfChain[] = []
  for (let block = from; block <= to; block++) {
    const [receipts] = await rpc([{ method: 'eth_getBlockReceipts', params: [numberToHex(block)] }])
    swaps.push(...swapsOf((receipts as { logs: RpcLog[] }[]).flatMap(({ logs }) => logs)))
  }
  return swaps
}

function swapsOf(logs: RpcLog[]): SwapOfChain[] {
  return parseEventLogs({ abi: swapAbi, logs }).map(({ blockNumber, logIndex, args }) => {
    const { amount0, amount1, sqrtPriceX96, liquidity, tick } = args
    // A v3 pool tells what it receives, a v4 pool what the taker does.
    const sign = 'id' in args ? 1n : -1n
    return {
      block: String(Number(blockNumber)),
      index: String(Number(logIndex)),
      amount0: String(sign * amount0),
      amount1: String(sign * amount1),
      sqrt: String(sqrtPriceX96),
      liquidity: String(liquidity),
      tick: String(tick),
    }
  })
}

export async function swapsInTables({ client }: TestDatabase, range: Blocks): Promise<SwapOfChain[]> {
  const answer = await client.query({
    query: `SELECT block, log_index AS index, amount0, amount1, sqrt_price AS sqrt, liquidity, pool_tick AS tick
      FROM ticks FINAL WHERE block BETWEEN {from:UInt64} AND {to:UInt64} ORDER BY block, log_index`,
    query_params: range,
    format: 'JSONStringsEachRow',
  })
  return answer.json<SwapOfChain>()
}
