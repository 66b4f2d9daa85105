/** The contracts of the devnet: Uniswap's own bytecode from its npm packages, ours from `contracts/`. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Hex, parseAbi } from 'viem'

export const UNISWAP = {
  v3Factory: '@uniswap/v3-core/artifacts/contracts/UniswapV3Factory.sol/UniswapV3Factory.json',
  v3Pool: '@uniswap/v3-core/artifacts/contracts/UniswapV3Pool.sol/UniswapV3Pool.json',
  poolManager: '@uniswap/v4-core/out/PoolManager.sol/PoolManager.json',
  positionManager: '@uniswap/v4-periphery/foundry-out/PositionManager.sol/PositionManager.json',
  stateView: '@uniswap/v4-periphery/foundry-out/StateView.sol/StateView.json',
} as const

/** The creation code that Uniswap published. */
export function uniswapBytecode(contract: keyof typeof UNISWAP): Hex {
  const { resolve } = createRequire(import.meta.url)
  const artifact = JSON.parse(readFileSync(resolve(UNISWAP[contract]), 'utf8')) as { bytecode: Hex | { object: Hex } }
  // Hardhat writes the code itself, Foundry an object around it.
  return typeof artifact.bytecode === 'string' ? artifact.bytecode : artifact.bytecode.object
}

const POOL_KEY =
  'struct PoolKey { address currency0; address currency1; uint24 fee; int24 tickSpacing; address hooks; }'

export const factoryAbi = parseAbi([
  'function enableFeeAmount(uint24 fee, int24 tickSpacing)',
  'function createPool(address tokenA, address tokenB, uint24 fee) returns (address pool)',
])

export const v3PoolAbi = parseAbi([
  'function initialize(uint160 sqrtPriceX96)',
  'function slot0() view returns (uint160 sqrtPriceX96, int24 tick, uint16 observationIndex, uint16 observationCardinality, uint16 observationCardinalityNext, uint8 feeProtocol, bool unlocked)',
])

export const poolManagerAbi = parseAbi([
  POOL_KEY,
  'constructor(address initialOwner)',
  'function initialize(PoolKey key, uint160 sqrtPriceX96) returns (int24 tick)',
])

export const positionManagerAbi = parseAbi([
  'constructor(address poolManager, address permit2, uint256 unsubscribeGasLimit, address tokenDescriptor, address weth9)',
  'function modifyLiquidities(bytes unlockData, uint256 deadline) payable',
])

export const stateViewAbi = parseAbi([
  'constructor(address poolManager)',
  'function getSlot0(bytes32 poolId) view returns (uint160 sqrtPriceX96, int24 tick, uint24 protocolFee, uint24 lpFee)',
])

export const tokenAbi = parseAbi([
  'constructor(string name, string symbol, uint8 decimals)',
  'function mint(address to, uint256 amount)',
])
export const bytes32TokenAbi = parseAbi(['constructor(bytes32 name, bytes32 symbol)'])
export const noDecimalsTokenAbi = parseAbi(['constructor(string name, string symbol)'])

/** Our own trader and liquidity provider; amounts are positive for exact input, on v3 and v4 alike. */
export const routerAbi = parseAbi([
  POOL_KEY,
  'struct PoolV3 { address pool; address token0; address token1; }',
  'struct LevelV3 { PoolV3 pool; uint160 low; uint160 high; }',
  'struct LevelV4 { PoolKey key; uint160 low; uint160 high; }',
  'constructor(address poolManager)',
  'function level(LevelV3[] v3, LevelV4[] v4)',
  'function swapV3(PoolV3 pool, bool zeroForOne, int256 amount, uint160 limit)',
  'function mintV3(PoolV3 pool, int24 tickLower, int24 tickUpper, uint128 liquidity)',
  'function burnV3(PoolV3 pool, int24 tickLower, int24 tickUpper, uint128 liquidity)',
  'function swapV4(PoolKey key, bool zeroForOne, int256 amount, uint160 limit)',
  'function changeV4(PoolKey key, int24 tickLower, int24 tickUpper, int256 liquidityDelta)',
])
