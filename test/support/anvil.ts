/** A small chain under a test's control: real contracts, and just those blocks and trades that the test asks for. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Address, encodeFunctionData, getContractAddress, type Hash, type Hex, parseAbi } from 'viem'
import { startAnvil as startNode } from '../../infra/devnet/chain/anvil.ts'
import { type Chain, openChain, requireSuccess, type Transaction } from '../../infra/devnet/chain/chain.ts'
import type { Rpc } from '../../infra/devnet/chain/rpc.ts'
import { uniswapBytecode } from '../../infra/devnet/contracts/contracts.ts'
import { type DevContracts, deployContracts, deploymentOf } from '../../infra/devnet/contracts/deploy.ts'
import type { TokenPlan } from '../../infra/devnet/contracts/token.ts'
import {
  burnCall,
  type DevMarket,
  type LiquidityPosition,
  mintCall,
  type SwapOrder,
  swapCall,
} from '../../infra/devnet/market/market.ts'
import { openMarkets } from '../../infra/devnet/market/open-markets.ts'
import { FIRST_PRICES, MARKET_PLANS, type MarketPlan } from '../../infra/devnet/market/plan.ts'
import { devnetNetwork } from '../../infra/devnet/network.ts'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { Network } from '../../ingest/model/network.ts'
import { DYNAMIC_FEE } from '../../ingest/model/pool.ts'

export type MinedBlock = { number: number; hash: Hash; parentHash: Hash; timestamp: UnixSeconds; transactions: Hash[] }

export type TestAnvil = {
  httpUrl: string
  wsUrl: string
  chain: Chain
  rpc: Rpc
  /** Puts all that was sent since into the first of these blocks; the others are empty. Twelve seconds apart unless said. */
  mine(blocks?: number, timestamps?: readonly UnixSeconds[]): Promise<[MinedBlock, ...MinedBlock[]]>
  block(tag: number | 'latest' | 'finalized'): Promise<MinedBlock>
  /** Each snapshot can be gone back to once. Blocks mined again after that have other hashes: a reorg. */
  snapshot(): Promise<Hex>
  revert(snapshot: Hex): Promise<void>
  stop(): Promise<void>
}

const GENESIS_SECONDS = 1_700_000_000
const BLOCK_SECONDS = 12

export async function startAnvil(
  options: { genesisSeconds?: UnixSeconds; slotsInAnEpoch?: number } = {},
): Promise<TestAnvil> {
  const node = await startNode({ genesisSeconds: GENESIS_SECONDS, ...options })
  return testNode(node, await openChain(node))
}

/** A node that mines on request, as anvil does. */
export function testNode(node: Pick<TestAnvil, 'httpUrl' | 'wsUrl' | 'rpc' | 'stop'>, chain: Chain): TestAnvil {
  const { rpc, httpUrl, wsUrl, stop } = node
  async function block(tag: number | 'latest' | 'finalized'): Promise<MinedBlock> {
    const [answer] = await rpc([
      { method: 'eth_getBlockByNumber', params: [typeof tag === 'number' ? hex(tag) : tag, false] },
    ])
    const { number, timestamp, ...rest } = answer as Omit<MinedBlock, 'number' | 'timestamp'> & {
      number: Hex
      timestamp: Hex
    }
    const { hash, parentHash, transactions } = rest
    return { number: Number(number), hash, parentHash, timestamp: Number(timestamp), transactions }
  }
  async function mineOne(timestamp: UnixSeconds): Promise<MinedBlock> {
    await chain.mineBlock([], timestamp)
    const mined = await block('latest')
    await requireSuccess(chain, mined.transactions, 'a transaction of the test')
    return mined
  }
  return {
    httpUrl,
    wsUrl,
    chain,
    rpc,
    block,
    async mine(blocks = 1, timestamps = []) {
      const { timestamp } = await block('latest')
      const first = await mineOne(timestamps[0] ?? timestamp + BLOCK_SECONDS)
      const mined: [MinedBlock, ...MinedBlock[]] = [first]
      let previous = first
      while (mined.length < blocks) {
        previous = await mineOne(timestamps[mined.length] ?? previous.timestamp + BLOCK_SECONDS)
        mined.push(previous)
      }
      return mined
    },
    snapshot: async () => (await rpc([{ method: 'evm_snapshot', params: [] }]))[0] as Hex,
    async revert(snapshot) {
      const [reverted] = await rpc([{ method: 'evm_revert', params: [snapshot] }])
      if (reverted !== true) throw new Error(`the node has no snapshot ${snapshot}: each can be used once`)
      await chain.readNonces()
    },
    stop,
  }
}

export type TestMarkets = {
  network: Network
  deployment: DevContracts
  /**
   * The devnet's pools, then one whose token0 or token1 has no decimals (NODEC/WETH), then two of v4: one with a dynamic fee (ETH/USDC),
   * one without native currency (USDC/WETH).
   */
  markets: readonly DevMarket[]
  /** A USDC/WETH 0.05 % pool of another factory with the same code, as other DEXes have. */
  foreignMarket: DevMarket
  /** 'v3 USDC/WETH 500'; the dynamic one is 'v4 ETH/USDC 8388608'. */
  market(name: string): DevMarket
  /** These four answer the hash of a transaction that the next mined block holds. */
  swap(market: DevMarket, swap: SwapOrder): Promise<Hash>
  mint(market: DevMarket, position: LiquidityPosition): Promise<Hash>
  burn(market: DevMarket, position: LiquidityPosition): Promise<Hash>
  /** In hundredths of a bip, for the market with a dynamic fee. */
  setDynamicFee(fee: number): Promise<Hash>
}

const NO_DECIMALS: TokenPlan = { symbol: 'NODEC', name: 'No Decimals', decimals: 0, shape: 'no-decimals' }
const PRICES = { ...FIRST_PRICES, NODEC: 1e-18 }
const HOOK_ARTIFACT = '@uniswap/v4-core/out/DynamicFeesTestHook.sol/DynamicFeesTestHook.json'
/** The lowest bits of a hook's address say when it is called: after initialize and before each swap. */
export const HOOK: Address = '0xd000000000000000000000000000000000001080'
const hookAbi = parseAbi(['function setManager(address manager)', 'function setFee(uint24 fee)'])
const DEPTH: MarketPlan['depth'] = [{ usd: 10_000_000 }]

/** Five blocks. `more` are pools beside the usual ones. */
export async function deployMarkets(
  { chain, rpc, block }: TestAnvil,
  more: readonly MarketPlan[] = [],
): Promise<TestMarkets> {
  const deployment = deploymentOf(chain.accounts[0], [NO_DECIMALS])
  const { deployer, poolManager, router, tokens } = deployment
  const { timestamp } = await block('latest')
  await deployContracts(chain, deployment, timestamp + 1)
  const foreign = { ...deployment, factory: await deployForeignFactory(chain, deployer, timestamp + 2) }
  await rpc([{ method: 'anvil_setCode', params: [HOOK, hookCode()] }])
  const toHook = (data: Hex): Transaction => ({ from: deployer, to: HOOK, data })
  await chain.send([toHook(encodeFunctionData({ abi: hookAbi, functionName: 'setManager', args: [poolManager] }))])

  const plans: readonly MarketPlan[] = [
    ...MARKET_PLANS,
    { protocol: 'v3', pair: inOrder('NODEC', 'WETH', tokens), fee: 3000, tickSpacing: 60, depth: DEPTH },
    { protocol: 'v4', pair: ['ETH', 'USDC'], fee: DYNAMIC_FEE, tickSpacing: 60, depth: DEPTH, hooks: HOOK },
    { protocol: 'v4', pair: ['USDC', 'WETH'], fee: 3000, tickSpacing: 60, depth: DEPTH },
    ...more,
  ]
  const markets = await openMarkets(chain, deployment, { plans, prices: PRICES, timestamp: timestamp + 3 })
  const foreignPlan: MarketPlan = { protocol: 'v3', pair: ['USDC', 'WETH'], fee: 500, tickSpacing: 10, depth: DEPTH }
  const foreignPlans = { plans: [foreignPlan], prices: PRICES, timestamp: timestamp + 5 }
  const [foreignMarket] = await openMarkets(chain, foreign, foreignPlans)
  if (!foreignMarket) throw new Error('the foreign pool is missing')

  async function send(data: Hex, to: Address = router): Promise<Hash> {
    const [hash] = await chain.send([{ from: deployer, to, data }])
    if (!hash) throw new Error('the node answered no transaction hash')
    return hash
  }
  return {
    network: devnetNetwork(deployment, markets),
    deployment,
    markets,
    foreignMarket,
    market(name) {
      const market = markets.find((candidate) => nameOf(candidate) === name)
      if (!market) throw new Error(`there is no market ${name}; there are ${markets.map(nameOf).join(', ')}`)
      return market
    },
    swap: (market, swap) => send(swapCall(market, swap)),
    mint: (market, position) => send(mintCall(market, position)),
    burn: (market, position) => send(burnCall(market, position)),
    setDynamicFee: (fee) => send(encodeFunctionData({ abi: hookAbi, functionName: 'setFee', args: [fee] }), HOOK),
  }
}

export function hookCode(): Hex {
  const artifact = readFileSync(createRequire(import.meta.url).resolve(HOOK_ARTIFACT), 'utf8')
  return (JSON.parse(artifact) as { deployedBytecode: { object: Hex } }).deployedBytecode.object
}

function nameOf({ place, token0, token1, fee }: DevMarket): string {
  return `${place.kind} ${token0.symbol}/${token1.symbol} ${fee}`
}

function inOrder(symbolA: string, symbolB: string, tokens: DevContracts['tokens']): readonly [string, string] {
  const addressOf = (symbol: string) => BigInt(tokens.find((token) => token.symbol === symbol)?.address ?? '0x0')
  return addressOf(symbolA) < addressOf(symbolB) ? [symbolA, symbolB] : [symbolB, symbolA]
}

async function deployForeignFactory(chain: Chain, from: Address, timestamp: UnixSeconds): Promise<Address> {
  const [count] = await chain.rpc([{ method: 'eth_getTransactionCount', params: [from, 'latest'] }])
  await chain.mineBlock([{ from, data: uniswapBytecode('v3Factory') }], timestamp)
  return getContractAddress({ from, nonce: BigInt(count as Hex) }).toLowerCase() as Address
}

function hex(value: number): Hex {
  return `0x${value.toString(16)}`
}
