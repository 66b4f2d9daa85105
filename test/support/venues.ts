/** Pools of every venue on a node of a test: the real contracts where a package has them, else others with the same events and questions. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import {
  type Abi,
  type Address,
  decodeFunctionResult,
  encodeDeployData,
  encodeFunctionData,
  getContractAddress,
  type Hex,
  parseAbi,
  toHex,
} from 'viem'
import { type CompiledContract, compileSolidity } from '../../infra/devnet/contracts/compile.ts'
import { tokenAbi, uniswapBytecode } from '../../infra/devnet/contracts/contracts.ts'
import { tokenNamed } from '../../infra/devnet/contracts/deploy.ts'
import type { VenueFactories } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import type { VenueName } from '../../ingest/model/venue.ts'
import type { TestAnvil, TestMarkets } from './anvil.ts'

const ARTIFACTS = {
  pancakeFactory: '@pancakeswap/v3-core/artifacts/contracts/PancakeV3Factory.sol/PancakeV3Factory.json',
  pancakePool: '@pancakeswap/v3-core/artifacts/contracts/PancakeV3Pool.sol/PancakeV3Pool.json',
  algebraV1Deployer: '@cryptoalgebra/v1-core/artifacts/contracts/AlgebraPoolDeployer.sol/AlgebraPoolDeployer.json',
  algebraV1Factory: '@cryptoalgebra/v1-core/artifacts/contracts/AlgebraFactory.sol/AlgebraFactory.json',
  algebraV1Pool: '@cryptoalgebra/v1-core/artifacts/contracts/AlgebraPool.sol/AlgebraPool.json',
  integralDeployer: '@cryptoalgebra/integral-core/artifacts/contracts/AlgebraPoolDeployer.sol/AlgebraPoolDeployer.json',
  integralFactory: '@cryptoalgebra/integral-core/artifacts/contracts/AlgebraFactory.sol/AlgebraFactory.json',
} as const

export function artifact(name: keyof typeof ARTIFACTS): CompiledContract {
  return JSON.parse(readFileSync(createRequire(import.meta.url).resolve(ARTIFACTS[name]), 'utf8')) as CompiledContract
}

const SOURCE = new URL('../fixtures/contracts/Venues.sol', import.meta.url)

type Compiled = Record<'VenueTrader' | 'PoolMaker' | 'TickSpacingFactory' | 'Impostor', CompiledContract>

export type VenuePool = { venue: VenueName; kind: string; id: PoolId; fee: number | undefined }

export type VenueMarkets = {
  venues: readonly VenueFactories[]
  pools: readonly VenuePool[]
  impostors: readonly Address[]
  /** Sends the orders in one transaction; the next mined block has it. Amounts as in v3: positive is exact input. */
  swap(orders: readonly { pool: PoolId; zeroForOne: boolean; amount: bigint }[]): Promise<void>
  pretend(): Promise<void>
  /** Sets the fee of the Integral pool. */
  setFee(fee: number): Promise<void>
  /** The words of a pool's `globalState` after a block. */
  stateAt(pool: PoolId, block: number): Promise<readonly bigint[]>
}

const poolAbi = parseAbi([
  'function initialize(uint160 sqrtPriceX96)',
  'function slot0() view returns (uint160 sqrtPriceX96, int24, uint16, uint16, uint16, uint8, bool)',
  'function setFee(uint16 fee)',
])
const factoryAbi = parseAbi([
  'function createPool(address, address, uint24) returns (address)',
  'function getPool(address, address, uint24) view returns (address)',
])
const RANGE = { tickLower: -887_100, tickUpper: 887_100 }
const DEEP = 10n ** 18n

/** Pools of USDC and WETH at the price of Uniswap's, each of the liquidity `DEEP`, PancakeSwap's a hundred times deeper. */
export async function deployVenues(anvil: TestAnvil, markets: TestMarkets): Promise<VenueMarkets> {
  const { chain } = anvil
  const [from] = chain.accounts
  const own = (await compileSolidity([SOURCE])) as Compiled
  const tokens = markets.deployment.tokens
  const reference = markets.market('v3 USDC/WETH 500')
  const { token0, token1 } = reference
  const pair = [token0.address, token1.address] as const

  async function nonce(): Promise<bigint> {
    const [count] = await chain.rpc([{ method: 'eth_getTransactionCount', params: [from, 'pending'] }])
    return BigInt(count as Hex)
  }
  async function deploy({ abi, bytecode }: CompiledContract, args: readonly unknown[] = []): Promise<Address> {
    const address = getContractAddress({ from, nonce: await nonce() }).toLowerCase() as Address
    const deployed = encodeDeployData({ abi, bytecode, args } as never)
    await chain.send([{ from, data: deployed }])
    await anvil.mine()
    return address
  }
  async function send(to: Address, abi: Abi, functionName: string, args: readonly unknown[]): Promise<void> {
    await chain.send([{ from, to, data: encodeFunctionData({ abi, functionName, args }) }])
  }
  async function ask(to: Address, abi: Abi, functionName: string, args: readonly unknown[], block?: number) {
    const call = { to, data: encodeFunctionData({ abi, functionName, args }) }
    const at = block === undefined ? 'latest' : toHex(block)
    const [data] = await chain.rpc([{ method: 'eth_call', params: [call, at] }])
    return decodeFunctionResult({ abi, functionName, data: data as Hex })
  }
  async function create(
    factory: Address,
    abi: Abi,
    args: readonly unknown[],
    find: readonly unknown[],
    getter: string,
  ) {
    await send(factory, abi, 'createPool', args)
    await anvil.mine()
    return ((await ask(factory, abi, getter, find)) as Address).toLowerCase() as Address
  }

  const trader = await deploy(own.VenueTrader)
  for (const { symbol } of [token0, token1]) {
    await send(tokenNamed(tokens, symbol).address, tokenAbi, 'mint', [trader, 1n << 120n])
  }

  const sushi = await deploy({ abi: factoryAbi, bytecode: uniswapBytecode('v3Factory') })
  const pancakeMaker = await deploy(own.PoolMaker, [artifact('pancakePool').bytecode])
  const pancake = await deploy(artifact('pancakeFactory'), [pancakeMaker])
  const slipstream = await deploy(own.TickSpacingFactory, [uniswapBytecode('v3Pool')])
  const v1Deployer = await deploy(artifact('algebraV1Deployer'))
  const algebraV1 = await deploy(artifact('algebraV1Factory'), [v1Deployer, from])
  await send(v1Deployer, artifact('algebraV1Deployer').abi, 'setFactory', [algebraV1])
  const integral = getContractAddress({ from, nonce: (await nonce()) + 1n }).toLowerCase() as Address
  const integralDeployer = await deploy(artifact('integralDeployer'), [integral])
  await deploy(artifact('integralFactory'), [integralDeployer])

  const v1Abi = artifact('algebraV1Factory').abi
  const integralAbi = artifact('integralFactory').abi
  const pools: VenuePool[] = [
    {
      venue: 'sushi',
      kind: 'sushi',
      fee: 3_000,
      id: await create(sushi, factoryAbi, [...pair, 3_000], [...pair, 3_000], 'getPool'),
    },
    {
      venue: 'pancake',
      kind: 'pancake',
      fee: 2_500,
      id: await create(pancake, artifact('pancakeFactory').abi, [...pair, 2_500], [...pair, 2_500], 'getPool'),
    },
    {
      venue: 'slipstream',
      kind: 'slipstream',
      fee: 400,
      id: await create(slipstream, own.TickSpacingFactory.abi, [...pair, 60, 400], [...pair, 60], 'getPool'),
    },
    { venue: 'algebra', kind: 'v1', fee: undefined, id: await create(algebraV1, v1Abi, pair, pair, 'poolByPair') },
    {
      venue: 'algebra',
      kind: 'integral',
      fee: undefined,
      id: await create(integral, integralAbi, [...pair, '0x'], pair, 'poolByPair'),
    },
  ]
  const slot0 = (await ask(reference.id as Address, poolAbi, 'slot0', [])) as readonly bigint[]
  const at = (pool: Address) => ({ pool, token0: pair[0], token1: pair[1], zeroForOne: true, amount: 0n })
  for (const { id, venue } of pools) {
    await send(id, poolAbi, 'initialize', [slot0[0]])
    const liquidity = venue === 'pancake' ? 100n * DEEP : DEEP
    const { tickLower, tickUpper } = RANGE
    await send(trader, own.VenueTrader.abi, 'mint', [at(id), venue === 'algebra', tickLower, tickUpper, liquidity])
    await anvil.mine()
  }
  const impostors = [
    await deploy(own.Impostor, [pancake, ...pair]),
    await deploy(own.Impostor, [algebraV1, ...pair]),
    await deploy(own.Impostor, [slipstream, ...pair]),
  ]
  const state = parseAbi(['function globalState() view returns (uint256, int256, uint256, uint256, uint256, uint256)'])
  return {
    venues: [
      { venue: 'sushi', factories: [sushi] },
      { venue: 'pancake', factories: [pancake] },
      { venue: 'slipstream', factories: [slipstream] },
      { venue: 'algebra', factories: [algebraV1, integral] },
    ],
    pools,
    impostors,
    swap: (orders) =>
      send(trader, own.VenueTrader.abi, 'swap', [orders.map((order) => ({ ...at(order.pool), ...order }))]),
    pretend: async () => {
      for (const impostor of impostors) await send(impostor, own.Impostor.abi, 'pretend', [])
    },
    setFee: (fee) => send((pools[4] as VenuePool).id, poolAbi, 'setFee', [fee]),
    stateAt: async (pool, block) => (await ask(pool, state, 'globalState', [], block)) as readonly bigint[],
  }
}
