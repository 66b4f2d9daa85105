/** The market of the simulated chain: its tokens and pools, and the logs that real contracts would write. */
import { type Address, encodeAbiParameters, type Hex, keccak256, pad, parseAbiParameters, toHex } from 'viem'
import { V3_TOPICS } from '../../ingest/decode/decode-v3.ts'
import { V4_TOPICS } from '../../ingest/decode/decode-v4.ts'
import { NATIVE_CURRENCY, type Network } from '../../ingest/model/network.ts'
import { NETWORKS } from '../../ingest/model/networks.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import type { Random } from './random.ts'

const { ethereum } = NETWORKS
/** Ethereum's contracts on a chain that begins where the simulation does. */
export const NETWORK: Network = {
  ...ethereum,
  v3: { ...ethereum.v3, fromBlock: 0 },
  v4: { ...ethereum.v4, fromBlock: 0 },
}

export type TokenContract = { symbol: string; name: string; decimals: number | undefined }

const USDC: Address = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'
const WETH: Address = '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2'
const USDT: Address = '0xdac17f958d2ee523a2206206994597c13d831ec7'
const CAT: Address = '0xcacacacacacacacacacacacacacacacacacacaca'
const DOG: Address = '0x0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d'
const MUTE: Address = '0x00000000000000000000000000000000000000ff'

export const TOKENS: Readonly<Record<string, TokenContract>> = {
  [USDC]: { symbol: 'USDC', name: 'USD Coin', decimals: 6 },
  [WETH]: { symbol: 'WETH', name: 'Wrapped Ether', decimals: 18 },
  [USDT]: { symbol: 'USDT', name: 'Tether USD', decimals: 6 },
  [CAT]: { symbol: 'CAT', name: 'Cat', decimals: 9 },
  [DOG]: { symbol: 'DOG', name: 'Dog', decimals: 18 },
  [MUTE]: { symbol: 'MUTE', name: 'States no decimals', decimals: undefined },
}

export type PoolContract = {
  id: PoolId
  protocol: 'v3' | 'v4'
  currency0: Address
  currency1: Address
  fee: number
  /** v3: who made it. */
  factory: Address
  /** `before`: older than the first block that is read, `stream`: made in a block that is read. */
  born: 'before' | 'stream'
  /** v4: minted through the PositionManager, which then knows the key; the others are found by their Initialize log. */
  isInPositionManager: boolean
}

const OFFICIAL = ethereum.v3.factory
const OTHER_DEX: Address = '0xbaceb8ec6b9355dfc0269c18bac9d6e2bdc29c4f'

function v3(id: Address, [currency0, currency1]: [Address, Address], more: Partial<PoolContract> = {}): PoolContract {
  const rest = { factory: OFFICIAL, born: 'before', isInPositionManager: false } as const
  return { id, protocol: 'v3', currency0, currency1, fee: 500, ...rest, ...more }
}

function v4(name: string, [currency0, currency1]: [Address, Address], more: Partial<PoolContract>): PoolContract {
  return { ...v3(USDC, [currency0, currency1], { fee: 3_000, ...more }), id: keccak256(toHex(name)), protocol: 'v4' }
}

export const REFERENCE_POOL: PoolId = '0x88e6a0c2ddd26feeb64f039a2c41296fcb3f5640'

export const POOLS: readonly PoolContract[] = [
  v3(REFERENCE_POOL, [USDC, WETH]),
  v3('0x11b815efb8f581194ae79006d24e0d814b7697f6', [WETH, USDT]),
  v3('0x1111111111111111111111111111111111111111', [WETH, CAT], { fee: 3_000, born: 'stream' }),
  v3('0x2222222222222222222222222222222222222222', [DOG, USDC], { fee: 10_000, born: 'stream' }),
  v3('0x3333333333333333333333333333333333333333', [USDC, WETH], { factory: OTHER_DEX }),
  v3('0x4444444444444444444444444444444444444444', [WETH, CAT], { factory: OTHER_DEX, born: 'stream' }),
  v3('0x5555555555555555555555555555555555555555', [MUTE, USDC]),
  v4('old, minted', [NATIVE_CURRENCY, USDC], { born: 'before', isInPositionManager: true }),
  v4('old, only initialised', [CAT, WETH], { born: 'before' }),
  v4('new, minted', [NATIVE_CURRENCY, DOG], { born: 'stream', isInPositionManager: true }),
  v4('new, only initialised', [USDC, CAT], { born: 'stream' }),
]

/** A log before it has its place in a block. */
export type BareLog = { address: Address; topics: readonly Hex[]; data: Hex }

const SENDER = pad('0x5e4de7', { size: 32 })
const words = {
  v3Swap: parseAbiParameters('int256, int256, uint160, uint128, int24'),
  poolCreated: parseAbiParameters('int24, address'),
  v3Initialize: parseAbiParameters('uint160, int24'),
  mint: parseAbiParameters('address, uint128, uint256, uint256'),
  burn: parseAbiParameters('uint128, uint256, uint256'),
  v4Swap: parseAbiParameters('int128, int128, uint160, uint128, int24, uint24'),
  v4Initialize: parseAbiParameters('uint24, int24, address, uint160, int24'),
  modifyLiquidity: parseAbiParameters('int24, int24, int256, bytes32'),
  int24: parseAbiParameters('int24'),
}
const inManager = (pool: PoolContract, topics: readonly Hex[], data: Hex): BareLog => ({
  address: NETWORK.v4.poolManager,
  topics: [topics[0] as Hex, pool.id, ...topics.slice(1)],
  data,
})

/** USDC per WETH moves, and with it the dollar price of all that is paid in WETH. */
function sqrtPriceOf(pool: PoolContract, random: Random): bigint {
  if (pool.id !== REFERENCE_POOL) return (1n << 95n) + random.bits(100)
  return 1_350_000_000_000_000_000_000_000_000_000_000n + random.bits(104)
}

export function swapLog(pool: PoolContract, random: Random): BareLog {
  const [size0, size1] = [1n + random.bits(60), 1n + random.bits(60)]
  const [amount0, amount1] = random.chance(0.5) ? [size0, -size1] : [-size0, size1]
  const price = sqrtPriceOf(pool, random)
  const tick = random.between(-887_272, 887_272)
  if (pool.protocol === 'v3') {
    const data = encodeAbiParameters(words.v3Swap, [amount0, amount1, price, random.bits(100), tick])
    return { address: pool.id, topics: [V3_TOPICS.swap, SENDER, SENDER], data }
  }
  const data = encodeAbiParameters(words.v4Swap, [amount0, amount1, price, random.bits(100), tick, pool.fee + 1])
  return inManager(pool, [V4_TOPICS.swap, SENDER], data)
}

/** Logs that announce the pool: v3 has two, v4 one. */
export function birthLogs(pool: PoolContract, random: Random): BareLog[] {
  const price = sqrtPriceOf(pool, random)
  const [currency0, currency1] = [pad(pool.currency0), pad(pool.currency1)]
  if (pool.protocol === 'v4') {
    const data = encodeAbiParameters(words.v4Initialize, [pool.fee, 60, NATIVE_CURRENCY, price, 0])
    return [inManager(pool, [V4_TOPICS.initialize, currency0, currency1], data)]
  }
  return [
    {
      address: pool.factory,
      topics: [V3_TOPICS.poolCreated, currency0, currency1, pad(toHex(pool.fee))],
      data: encodeAbiParameters(words.poolCreated, [10, pool.id]),
    },
    {
      address: pool.id,
      topics: [V3_TOPICS.initialize],
      data: encodeAbiParameters(words.v3Initialize, [price, 0]),
    },
  ]
}

export function liquidityLog(pool: PoolContract, random: Random): BareLog {
  const isMint = random.chance(0.6)
  const [lower, upper] = [-60 * random.between(1, 100), 60 * random.between(1, 100)]
  const size = 1n + random.bits(90)
  if (pool.protocol === 'v4') {
    const salt = pad('0x00', { size: 32 })
    const data = encodeAbiParameters(words.modifyLiquidity, [lower, upper, isMint ? size : -size, salt])
    return inManager(pool, [V4_TOPICS.modifyLiquidity, SENDER], data)
  }
  const [tickLower, tickUpper] = [lower, upper].map((tick) => encodeAbiParameters(words.int24, [tick])) as [Hex, Hex]
  return {
    address: pool.id,
    topics: [isMint ? V3_TOPICS.mint : V3_TOPICS.burn, SENDER, tickLower, tickUpper],
    data: isMint
      ? encodeAbiParameters(words.mint, [USDC, size, 1n, 1n])
      : encodeAbiParameters(words.burn, [size, 1n, 1n]),
  }
}
