import {
  createPublicClient,
  decodeEventLog,
  encodeDeployData,
  type Hash,
  type Hex,
  http,
  keccak256,
  parseAbi,
  parseEther,
  webSocket,
} from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { poolManagerAbi, uniswapBytecode } from '../../../../infra/devnet/contracts/contracts.ts'
import { ticksAround } from '../../../../infra/devnet/market/sqrt-price.ts'
import { deployMarkets, startAnvil, type TestAnvil, type TestMarkets } from '../../../support/anvil.ts'

const V3_SWAP: Hash = '0xc42079f94a6350d7e6235f29174924f928cc2ac818eb64fed8004e115fbcca67'
const V4_SWAP: Hash = '0x40e9cecb9f5f1f1c5b9c97dec2917b7ee92e57ba5563708daca94dd84ad7112f'
const POOL_CREATED: Hash = '0x783cca1c0412dd0d695e784568c96da2e9c22ff989357a2e8b1d9b2b4e6b7118'
const V4_INITIALIZE: Hash = '0xdd466e674ea557f56295e2d0218a125ea4b4f0f6f3307b95f85e6110838d6438'
const MULTICALL3 = '0xcA11bde05977b3631167028862bE2a173976CA11'

const swapAbi = parseAbi([
  'event Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick)',
])
const v4SwapAbi = parseAbi([
  'event Swap(bytes32 indexed id, address indexed sender, int128 amount0, int128 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick, uint24 fee)',
])

let anvil: TestAnvil
let markets: TestMarkets

beforeAll(async () => {
  anvil = await startAnvil()
  markets = await deployMarkets(anvil)
})
afterAll(() => anvil.stop())

describe('the contracts', () => {
  test('are Uniswap’s own, deployed with the bytecode of its npm packages', async () => {
    const block = await anvil.block(1)
    const [first, second] = (await anvil.rpc(
      block.transactions.slice(0, 2).map((hash) => ({ method: 'eth_getTransactionByHash', params: [hash] })),
    )) as [{ input: Hex }, { input: Hex }]
    const { deployer } = markets.deployment
    const poolManager = encodeDeployData({
      abi: poolManagerAbi,
      bytecode: uniswapBytecode('poolManager'),
      args: [deployer],
    })
    expect(keccak256(first.input)).toBe(keccak256(uniswapBytecode('v3Factory')))
    expect(keccak256(second.input)).toBe(keccak256(poolManager))
  })

  test('announce every pool', async () => {
    const { factory, poolManager } = markets.deployment
    const created = await logs({ address: factory, topics: [POOL_CREATED] })
    const initialised = await logs({ address: poolManager, topics: [V4_INITIALIZE] })
    const announced = [
      ...created.map(({ data }) => `0x${data.slice(-40)}`),
      ...initialised.map(({ topics }) => topics[1]),
    ]
    expect(announced.sort()).toEqual(markets.markets.map(({ id }) => id).sort())
  })

  test('answer Multicall3 at its one address, a bytes32 symbol and missing decimals too', async () => {
    const client = createPublicClient({ transport: http(anvil.httpUrl) })
    const address = (symbol: string) =>
      markets.deployment.tokens.find((token) => token.symbol === symbol)?.address ?? '0x'
    const strings = parseAbi(['function symbol() view returns (string)', 'function decimals() view returns (uint8)'])
    const words = parseAbi(['function symbol() view returns (bytes32)'])
    const answers = await client.multicall({
      multicallAddress: MULTICALL3,
      contracts: [
        { address: address('USDC'), abi: strings, functionName: 'symbol' },
        { address: address('USDC'), abi: strings, functionName: 'decimals' },
        { address: address('MKR'), abi: words, functionName: 'symbol' },
        { address: address('MKR'), abi: strings, functionName: 'decimals' },
        { address: address('NODEC'), abi: strings, functionName: 'decimals' },
      ],
    })
    expect(answers.map(({ result }) => result)).toEqual(['USDC', 6, `0x4d4b52${'0'.repeat(58)}`, 18, undefined])
  })

  test('know the keys of v4 pools where their liquidity came through the PositionManager, and only there', async () => {
    const client = createPublicClient({ transport: http(anvil.httpUrl) })
    const abi = parseAbi(['function poolKeys(bytes25 id) view returns (address, address, uint24, int24, address)'])
    const spacingOf = async (name: string) => {
      const args = [markets.market(name).id.slice(0, 52) as Hex] as const
      const address = markets.deployment.positionManager
      return (await client.readContract({ address, abi, functionName: 'poolKeys', args }))[3]
    }
    expect(await spacingOf('v4 ETH/USDC 500')).toBe(10)
    expect(await spacingOf('v4 ETH/DAI 3000')).toBe(0)
  })
})

describe('a swap', () => {
  test('is logged by a v3 pool in the pool’s view', async () => {
    const market = markets.market('v3 USDC/WETH 500')
    await markets.swap(market, { zeroForOne: true, amount: 1_000_000_000n })
    const [block] = await anvil.mine()
    const [log] = await logs({ address: market.id, blockHash: block.hash, topics: [V3_SWAP] })
    const { args } = decodeEventLog({ abi: swapAbi, ...raw(log) })
    expect(args.amount0).toBe(1_000_000_000n)
    expect(Number(args.amount1) / 1e18).toBeCloseTo(-1000 / 3200, 3)
  })

  test('is logged by the v4 PoolManager in the swapper’s view', async () => {
    const market = markets.market('v4 ETH/USDC 500')
    await markets.swap(market, { zeroForOne: true, amount: parseEther('1') })
    const [block] = await anvil.mine()
    const [log] = await logs({
      address: markets.deployment.poolManager,
      blockHash: block.hash,
      topics: [V4_SWAP, market.id],
    })
    const { args } = decodeEventLog({ abi: v4SwapAbi, ...raw(log) })
    expect(args.amount0).toBe(-parseEther('1'))
    expect(Number(args.amount1) / 1e6).toBeCloseTo(3200 * 0.9995, -1)
    expect(args.fee).toBe(500)
  })

  test('pays the fee that a dynamic pool’s hook asks for', async () => {
    const market = markets.market('v4 ETH/USDC 8388608')
    await markets.setDynamicFee(1234)
    await markets.swap(market, { zeroForOne: false, amount: 1_000_000n })
    const [block] = await anvil.mine()
    const [log] = await logs({ blockHash: block.hash, topics: [V4_SWAP, market.id] })
    expect(decodeEventLog({ abi: v4SwapAbi, ...raw(log) }).args.fee).toBe(1234)
  })

  test('stops at its price limit', async () => {
    const market = markets.market('v3 DAI/WETH 3000')
    const sqrtPriceLimitX96 = BigInt(Math.floor(Math.sqrt(1 / 3100) * 2 ** 96))
    await markets.swap(market, { zeroForOne: false, amount: 10n ** 30n, sqrtPriceLimitX96 })
    const [block] = await anvil.mine()
    const [log] = await logs({ blockHash: block.hash, topics: [V3_SWAP] })
    expect(decodeEventLog({ abi: swapAbi, ...raw(log) }).args.sqrtPriceX96).toBe(sqrtPriceLimitX96)
  })

  test('happens in pools of other factories with the same event', async () => {
    await markets.swap(markets.foreignMarket, { zeroForOne: true, amount: 1_000_000n })
    const [block] = await anvil.mine()
    const [log] = await logs({ blockHash: block.hash, topics: [V3_SWAP] })
    expect(log?.address).toBe(markets.foreignMarket.id)
  })

  test('happens in a pool whose token has no decimals', async () => {
    const market = markets.markets.find(({ token0, token1 }) => [token0.symbol, token1.symbol].includes('NODEC'))
    if (!market) throw new Error('no such market')
    await markets.swap(market, { zeroForOne: true, amount: parseEther('1') })
    const [block] = await anvil.mine()
    expect(await logs({ address: market.id, blockHash: block.hash, topics: [V3_SWAP] })).toHaveLength(1)
  })
})

test.each(['v3 USDC/WETH 3000', 'v4 ETH/DAI 3000'])('liquidity comes to %s and goes', async (name) => {
  const market = markets.market(name)
  const decimals = { decimals0: market.token0.decimals, decimals1: market.token1.decimals }
  const price = name.startsWith('v3') ? 1 / 3200 : 3200
  const position = { ...ticksAround(price, 0.01, market.tickSpacing, decimals), liquidity: 10n ** 15n }
  await markets.mint(market, position)
  await markets.burn(market, position)
  const [block] = await anvil.mine()
  expect(block.transactions).toHaveLength(2)
})

test('mining again from a snapshot is a reorg', async () => {
  const market = markets.market('v3 WBTC/WETH 3000')
  const snapshot = await anvil.snapshot()
  await markets.swap(market, { zeroForOne: true, amount: 100_000n })
  const [first] = await anvil.mine(2)
  await anvil.revert(snapshot)
  await markets.swap(market, { zeroForOne: true, amount: 200_000n })
  const [again] = await anvil.mine(3)
  expect(again.number).toBe(first.number)
  expect(again.parentHash).toBe(first.parentHash)
  expect(again.hash).not.toBe(first.hash)
  const swaps = await logs({ fromBlock: `0x${first.number.toString(16)}`, topics: [V3_SWAP] })
  expect(swaps.map(({ blockHash }) => blockHash)).toEqual([again.hash])
})

test('new heads come over the WebSocket', async () => {
  const client = createPublicClient({ transport: webSocket(anvil.wsUrl) })
  const heads: (Hash | null)[] = []
  const unwatch = client.watchBlocks({ onBlock: ({ hash }) => heads.push(hash) })
  // The subscription has no answer that viem would show; the first head proves it.
  const mineAndCount = async () => {
    await anvil.mine()
    return heads.length
  }
  await expect.poll(mineAndCount).toBeGreaterThan(0)
  const [block] = await anvil.mine()
  // viem asks for each block that it hears of: two that come close together may be answered the other way round.
  await expect.poll(() => heads).toContain(block.hash)
  unwatch()
  const socket = await client.transport.getRpcClient()
  socket.close()
})

type Log = { address: Hex; topics: [Hex, ...Hex[]]; data: Hex; blockHash: Hash }

async function logs(filter: Record<string, unknown>): Promise<Log[]> {
  const range = 'blockHash' in filter ? {} : { fromBlock: '0x0', toBlock: 'latest' }
  const [answer] = await anvil.rpc([{ method: 'eth_getLogs', params: [{ ...range, ...filter }] }])
  return answer as Log[]
}

function raw(log: Log | undefined): Pick<Log, 'topics' | 'data'> {
  if (!log) throw new Error('the block has no such log')
  return { topics: log.topics, data: log.data }
}
