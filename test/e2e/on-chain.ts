/** A pool's state from Uniswap's contracts. */
import { type Address, createPublicClient, erc20Abi, http, parseAbi } from 'viem'
import { sqrtPriceAtTick } from '../../api/market/pools/tick-math.ts'
import type { DevToken } from '../../infra/devnet/contracts/token.ts'
import type { DevMarket } from '../../infra/devnet/market/market.ts'
import { NATIVE_CURRENCY, type Network } from '../../ingest/model/network.ts'

export type OnChain = {
  sqrtPriceX96: bigint
  liquidity: bigint
  /** Hundredths of a bip: what the next swap pays. */
  fee: number
  /** Swaps, mints and burns. */
  transactions: number
  /** Raw units of token0 and token1: of v3 all that the contract holds, of v4 what its liquidity comes to. */
  held: readonly [bigint, bigint]
}

const v3Abi = parseAbi([
  'event Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick)',
  'event Mint(address sender, address indexed owner, int24 indexed tickLower, int24 indexed tickUpper, uint128 amount, uint256 amount0, uint256 amount1)',
  'event Burn(address indexed owner, int24 indexed tickLower, int24 indexed tickUpper, uint128 amount, uint256 amount0, uint256 amount1)',
  'function slot0() view returns (uint160 sqrtPriceX96, int24 tick, uint16, uint16, uint16, uint8, bool)',
  'function liquidity() view returns (uint128)',
  'function fee() view returns (uint24)',
])
const v4Abi = parseAbi([
  'event Swap(bytes32 indexed id, address indexed sender, int128 amount0, int128 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick, uint24 fee)',
  'event ModifyLiquidity(bytes32 indexed id, address indexed sender, int24 tickLower, int24 tickUpper, int256 liquidityDelta, bytes32 salt)',
])
const stateViewAbi = parseAbi([
  'function getSlot0(bytes32) view returns (uint160 sqrtPriceX96, int24 tick, uint24 protocolFee, uint24 lpFee)',
  'function getLiquidity(bytes32) view returns (uint128)',
  'function getTickBitmap(bytes32, int16) view returns (uint256)',
  'function getTickLiquidity(bytes32, int24) view returns (uint128 gross, int128 net)',
])
const MULTICALL3: Address = '0xcA11bde05977b3631167028862bE2a173976CA11'
const Q96 = 2n ** 96n
const MAX_TICK = 887_272

export type ChainReader = ReturnType<typeof openChainReader>

export function openChainReader(url: string, network: Network) {
  const client = createPublicClient({ transport: http(url, { batch: true }), batch: { multicall: false } })
  const { poolManager, stateView } = network.v4

  /** At a block, or at the head. */
  async function balanceOf(owner: Address, { address }: DevToken, block?: number): Promise<bigint> {
    const at = block === undefined ? {} : { blockNumber: BigInt(block) }
    if (address === NATIVE_CURRENCY) return client.getBalance({ address: owner, ...at })
    return client.readContract({ address, abi: erc20Abi, functionName: 'balanceOf', args: [owner], ...at })
  }

  async function readV3({ token0, token1 }: DevMarket, pool: Address): Promise<OnChain> {
    const contract = { address: pool, abi: v3Abi } as const
    const [[sqrtPriceX96], liquidity, fee, logs, ...held] = await Promise.all([
      client.readContract({ ...contract, functionName: 'slot0' }),
      client.readContract({ ...contract, functionName: 'liquidity' }),
      client.readContract({ ...contract, functionName: 'fee' }),
      client.getLogs({ address: pool, events: v3Abi.filter((it) => it.type === 'event'), fromBlock: 0n }),
      balanceOf(pool, token0),
      balanceOf(pool, token1),
    ])
    return { sqrtPriceX96, liquidity, fee, transactions: logs.length, held }
  }

  async function readV4({ id, tickSpacing }: DevMarket): Promise<OnChain> {
    const contract = { address: stateView, abi: stateViewAbi } as const
    const [[sqrtPriceX96, tick, , fee], liquidity, logs] = await Promise.all([
      client.readContract({ ...contract, functionName: 'getSlot0', args: [id] }),
      client.readContract({ ...contract, functionName: 'getLiquidity', args: [id] }),
      client.getLogs({ address: poolManager, events: v4Abi, fromBlock: 0n }),
    ])
    const many = { multicallAddress: MULTICALL3, batchSize: 0, allowFailure: false } as const
    const words = wordsOf(tickSpacing)
    const bitmaps = await client.multicall({
      ...many,
      contracts: words.map((word) => ({ ...contract, functionName: 'getTickBitmap', args: [id, word] }) as const),
    })
    const ticks = bitmaps.flatMap((bitmap, index) =>
      bitsOf(bitmap).map((bit) => ((words[index] ?? 0) * 256 + bit) * tickSpacing),
    )
    const nets = await client.multicall({
      ...many,
      contracts: ticks.map((it) => ({ ...contract, functionName: 'getTickLiquidity', args: [id, it] }) as const),
    })
    const segments = segmentsOf(ticks.map((start, index) => ({ start, net: nets[index]?.[1] ?? 0n })))
    const inRange = segments.find(({ lower, upper }) => lower <= tick && tick < upper)?.liquidity ?? 0n
    if (inRange !== liquidity) throw new Error(`The ticks of ${id} come to ${inRange} in range, not ${liquidity}.`)
    const transactions = logs.filter((log) => log.args.id === id).length
    return { sqrtPriceX96, liquidity, fee, transactions, held: amountsOf(segments, sqrtPriceX96) }
  }

  return {
    balanceOf,
    read: (market: DevMarket) => (market.place.kind === 'v3' ? readV3(market, market.place.pool.pool) : readV4(market)),
  }
}

/** All words of a pool's bitmap of ticks. */
function wordsOf(tickSpacing: number): number[] {
  const last = Math.floor(MAX_TICK / tickSpacing / 256) + 1
  return Array.from({ length: 2 * last + 1 }, (_, index) => index - last)
}

function bitsOf(bitmap: bigint): number[] {
  return Array.from({ length: 256 }, (_, bit) => bit).filter((bit) => (bitmap >> BigInt(bit)) & 1n)
}

type Segment = { lower: number; upper: number; liquidity: bigint }

/** From tick to tick, which are in order: how much liquidity there is in between. */
function segmentsOf(ticks: readonly { start: number; net: bigint }[]): Segment[] {
  let liquidity = 0n
  return ticks.map(({ start, net }, index) => {
    liquidity += net
    return { lower: start, upper: ticks[index + 1]?.start ?? MAX_TICK, liquidity }
  })
}

/** The sums of the contracts: token0 above the price, token1 below it. */
function amountsOf(segments: readonly Segment[], sqrtPriceX96: bigint): [bigint, bigint] {
  let [amount0, amount1] = [0n, 0n]
  for (const { lower, upper, liquidity } of segments) {
    const [low, high] = [sqrtPriceAtTick(lower), sqrtPriceAtTick(upper)]
    const root = [low, sqrtPriceX96, high].sort((a, b) => Number(a - b))[1] ?? low
    amount0 += (liquidity * Q96 * (high - root)) / (root * high)
    amount1 += (liquidity * (root - low)) / Q96
  }
  return [amount0, amount1]
}
