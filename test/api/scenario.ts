/** A small market on two networks in which every rule of the API has something to say. Ether is at $2,000. */
import type { ClickHouseClient } from '@clickhouse/client'
import { NATIVE_CURRENCY, type Network } from '../../ingest/model/network.ts'
import { NETWORKS } from '../../ingest/model/networks.ts'
import { DYNAMIC_FEE, type Pool } from '../../ingest/model/pool.ts'
import { addressOf, balance, block, liquidity, openStore, poolOf, tick } from '../support/store.ts'

export const NETWORKS_SERVED: readonly Network[] = [NETWORKS.ethereum, NETWORKS.arbitrum, NETWORKS.polygon]

const WETH = {
  address: '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2',
  symbol: 'WETH',
  name: 'Wrapped Ether',
  decimals: 18,
} as const
const USDC = {
  address: '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48',
  symbol: 'USDC',
  name: 'USD Coin',
  decimals: 6,
} as const
const WBTC = {
  address: '0x2260fac5e5542a773aa44fbcfedf7c193bc2c599',
  symbol: 'WBTC',
  name: 'Wrapped BTC',
  decimals: 8,
} as const
const DAI = {
  address: '0x6b175474e89094c44da98b954eedeac495271d0f',
  symbol: 'DAI',
  name: 'Dai Stablecoin',
  decimals: 18,
} as const
const ETH = { address: NATIVE_CURRENCY, symbol: 'ETH', name: 'Ether', decimals: 18 }
const PEPE = { address: addressOf('9e'), symbol: 'PEPE', name: 'Pepe', decimals: 18 }
const DUST = { address: addressOf('d0'), symbol: 'DÜST', name: 'Dust', decimals: 18 }
const ARBITRUM_WETH = { ...WETH, address: '0x82af49447d8a07e3bd95bd0d56f35241523fbab1' } as const
const ARBITRUM_USDC = { ...USDC, address: '0xaf88d065e77c8cc2239327c5edb3a432268e5831' } as const
const ARBITRUM_DAI = { ...DAI, address: '0xda10009cbd5d07dd0cecc66161fc93d7c9000da1' } as const

/** √(numerator/denominator) · 2^96 of raw units of token1 per token0. */
export function sqrtPrice(numerator: bigint, denominator: bigint): bigint {
  const square = (numerator << 192n) / denominator
  let root = 1n << 160n
  for (let next = (root + square / root) / 2n; next < root; next = (root + square / root) / 2n) root = next
  return root
}

/** 2,000 USDC for one ether, in a pool whose token0 is USDC. */
const USDC_PER_ETHER = sqrtPrice(10n ** 18n, 2_000_000_000n)
/** The same in a pool whose token0 is ether. */
const ETHER_IN_USDC = sqrtPrice(2_000_000_000n, 10n ** 18n)

export const POOLS = {
  /** The network's reference pool: token0 USDC, token1 WETH. */
  main: poolOf('0x88e6a0c2ddd26feeb64f039a2c41296fcb3f5640', USDC, WETH, { initialSqrtPriceX96: USDC_PER_ETHER }),
  /** Same pair, less volume. */
  side: poolOf('0x8ad599c3a0ff1de082011efddc58f1908eb6e6d8', USDC, WETH, { fee: 3_000 }),
  /** Same pair, most volume, nearly empty. */
  small: poolOf(addressOf('5a'), USDC, WETH, { fee: 10_000 }),
  /** v4, native, dynamic fee. */
  v4: poolOf(`0x${'4a'.repeat(32)}`, ETH, USDC, {
    protocol: 'dex-v4',
    fee: DYNAMIC_FEE,
    initialSqrtPriceX96: ETHER_IN_USDC,
  }),
  /** v4, never swapped. */
  unswapped: poolOf(`0x${'4b'.repeat(32)}`, ETH, DAI, {
    protocol: 'dex-v4',
    fee: DYNAMIC_FEE,
    initialSqrtPriceX96: sqrtPrice(2_000n, 1n),
  }),
  /** Known, with no trade at all. */
  silent: poolOf(addressOf('51'), WBTC, WETH, { fee: 3_000 }),
  pepe: poolOf(addressOf('9a'), PEPE, WETH, { fee: 3_000 }),
  dust: poolOf(addressOf('9b'), WETH, DUST, { fee: 3_000 }),
} as const

export const ARBITRUM_POOLS = {
  main: poolOf('0xc6962004f452be9203591991d15f6b388e09e8d0', ARBITRUM_WETH, ARBITRUM_USDC, {
    initialSqrtPriceX96: ETHER_IN_USDC,
  }),
  dai: poolOf(addressOf('ad'), ARBITRUM_WETH, ARBITRUM_DAI, { fee: 3_000 }),
  /** Has the id that `POOLS.silent` has on Ethereum. */
  twin: poolOf(POOLS.silent.id, ARBITRUM_WETH, ARBITRUM_DAI, { fee: 100 }),
} as const

export const START = Date.UTC(2024, 0, 5) / 1000
export const minute = (count: number) => START + count * 60
/** Ethereum's ledger ends here. */
export const TIP = minute(120) + 30

const DOLLAR = 10n ** 6n
const ETHER = 10n ** 18n
export const ROUTER = `0x${'5e'.repeat(20)}` as const
let log = 0

/** The taker buys `ether` for USDC in a pool of the two. */
export function buyEther(pool: Pool, ether: bigint, usd: bigint) {
  const usdcFirst = pool.token0.symbol === 'USDC'
  const [amount0, amount1] = usdcFirst ? [-usd * DOLLAR, ether] : [ether, -usd * DOLLAR]
  log += 1
  return tick({
    pool,
    logIndex: log,
    amount0,
    amount1,
    sqrtPriceX96: usdcFirst ? USDC_PER_ETHER : ETHER_IN_USDC,
    liquidity: 777n,
    poolTick: usdcFirst ? 200_311 : -200_312,
    fee: pool.fee === DYNAMIC_FEE ? 2_345 : pool.fee,
    sender: ROUTER,
    usdMicros: usd * DOLLAR,
  })
}

/** Trades of `main`: minute 10 (two in one block), 12, 61, 119. */
export async function storeScenario(client: ClickHouseClient): Promise<void> {
  log = 0
  const { main, side, small, v4, unswapped, silent, pepe, dust } = POOLS
  await openStore(
    client,
    'ethereum',
  )([
    block(100, START, {
      pools: Object.values(POOLS),
      liquidity: [liquidity(main, 900, -10, 10, 5n), liquidity(unswapped, 901, 76_000, 76_020, 10n ** 21n)],
    }),
    block(101, minute(1), { ticks: [buyEther(small, 50n * ETHER, 100_000n), buyEther(side, ETHER, 2_100n)] }),
    block(110, minute(10), { ticks: [buyEther(main, ETHER, 2_000n), buyEther(main, ETHER, 2_200n)] }),
    block(111, minute(12), {
      ticks: [buyEther(main, ETHER, 1_900n), buyEther(v4, ETHER, 2_000n)],
      liquidity: [
        // In the range of the price, after the last swap and before it, and out of range.
        liquidity(v4, 1_000, -200_400, -200_300, 10n ** 17n),
        liquidity(v4, 0, -887_220, 887_220, 10n ** 16n),
        liquidity(v4, 1_001, -200_100, -200_000, 5n),
      ],
    }),
    block(112, minute(61), { ticks: [buyEther(main, ETHER, 2_050n)] }),
    block(113, minute(119), { ticks: [buyEther(main, 2n * ETHER, 4_000n)] }),
    block(120, TIP, {
      balances: [
        balance(main, 1_000_000n * DOLLAR, 500n * ETHER),
        balance(side, 50_000n * DOLLAR, 25n * ETHER),
        balance(small, 100n * DOLLAR, ETHER / 10n),
        balance(silent, 10n ** 8n, 10n * ETHER),
        balance(pepe, 10n ** 30n, 6n * ETHER),
        balance(dust, ETHER, 10n ** 30n),
      ],
    }),
  ])
  await openStore(
    client,
    'arbitrum',
  )([
    block(5_000, minute(0), { pools: Object.values(ARBITRUM_POOLS) }),
    block(5_001, minute(30), { ticks: [buyEther(ARBITRUM_POOLS.main, ETHER, 1_990n)] }),
    block(5_002, minute(31), { ticks: [buyEther(ARBITRUM_POOLS.dai, ETHER, 1_980n)] }),
    block(5_009, TIP),
  ])
}
