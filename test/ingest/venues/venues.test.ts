/** Venues: topics equal their signatures, events that no package emits are decoded, and addresses are what they claim to be. */
import {
  type Address,
  encodeAbiParameters,
  getAddress,
  getCreate2Address,
  type Hex,
  isAddress,
  keccak256,
  parseAbiItem,
  parseAbiParameters,
  toEventSelector,
} from 'viem'
import { describe, expect, test } from 'vitest'
import { uniswapBytecode } from '../../../infra/devnet/contracts/contracts.ts'
import { NETWORK_NAMES, type NetworkName } from '../../../ingest/model/network.ts'
import { NETWORKS } from '../../../ingest/model/networks.ts'
import { VENUE_NAMES } from '../../../ingest/model/venue.ts'
import type { RpcLog } from '../../../ingest/rpc/rpc.ts'
import { ALGEBRA_TOPICS, algebra } from '../../../ingest/venues/algebra.ts'
import { factoriesOn } from '../../../ingest/venues/factories.ts'
import { pancake } from '../../../ingest/venues/pancake.ts'
import { deploymentsOf, isRead } from '../../../ingest/venues/venues.ts'
import { artifact } from '../../support/venues.ts'

const SWAP =
  'event Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick'
const POOL = '0x00000000000000000000000000000000000000aa'
const SENDER = `0x${'0'.repeat(24)}${'5e'.repeat(20)}` as const

function logOf(topics: RpcLog['topics'], data: RpcLog['data'] = '0x'): RpcLog {
  return {
    address: POOL.toUpperCase().replace('0X', '0x'),
    topics,
    data,
    logIndex: '0x7',
    transactionHash: '0x01',
  } as unknown as RpcLog
}

/** Seven words, the last two as given. */
function swapData(first: bigint, second: bigint) {
  const types = parseAbiParameters('int256, int256, uint160, uint128, int24, uint256, uint256')
  return encodeAbiParameters(types, [5n, -7n, 1n << 96n, 9n, -3, first, second])
}

test.each([
  [pancake.topics[0], `${SWAP}, uint128 protocolFeesToken0, uint128 protocolFeesToken1)`],
  [ALGEBRA_TOPICS.swap, `${SWAP}, uint24 overrideFee, uint24 pluginFee)`],
  [ALGEBRA_TOPICS.fee, 'event Fee(uint16 fee)'],
  [ALGEBRA_TOPICS.feeByDirection, 'event Fee(uint16 feeZtO, uint16 feeOtZ)'],
  [ALGEBRA_TOPICS.swapFee, 'event SwapFee(address indexed sender, uint24 overrideFee, uint24 pluginFee)'],
])('%s is the topic of %s', (topic, signature) => {
  expect(topic).toBe(toEventSelector(parseAbiItem(signature) as never))
})

describe('an event', () => {
  const word = (value: number) => value.toString(16).padStart(64, '0')

  test('a fee event of V1.9 has a fee for each direction', () => {
    const decoded = algebra.decode?.(logOf([ALGEBRA_TOPICS.feeByDirection], `0x${word(100)}${word(2_500)}`))
    expect(decoded).toEqual({ kind: 'fee', pool: POOL, fees: [100, 2_500] })
  })

  test('a swap with a plugin has its two fees', () => {
    const decoded = algebra.decode?.(logOf([ALGEBRA_TOPICS.swap, SENDER, SENDER], swapData(3_000n, 50n)))
    expect(decoded).toMatchObject({ kind: 'swap', pool: POOL, amount0: -5n, amount1: 7n, poolTick: -3 })
    expect(decoded).toMatchObject({ plugin: { override: 3_000, added: 50 }, fee: undefined })
  })

  test.each([
    ['a Fee without a word', algebra, [ALGEBRA_TOPICS.fee], '0x'],
    ['a Fee of letters', algebra, [ALGEBRA_TOPICS.fee], `0x${'zz'.repeat(32)}`],
    ['a Fee with a topic too many', algebra, [ALGEBRA_TOPICS.fee, SENDER], `0x${word(1)}`],
    ['a SwapFee without a sender', algebra, [ALGEBRA_TOPICS.swapFee], `0x${word(1)}${word(1)}`],
    [
      'a Swap of five words',
      pancake,
      [pancake.topics[0] ?? '0x', SENDER, SENDER],
      swapData(0n, 0n).slice(0, 2 + 5 * 64),
    ],
    ['a Swap that is cut', algebra, [ALGEBRA_TOPICS.swap, SENDER, SENDER], swapData(0n, 0n).slice(0, -2)],
  ] as const)('%s is broken', (_, venue, topics, data) => {
    expect(venue.decode?.(logOf([...topics] as RpcLog['topics'], data as RpcLog['data'])).kind).toBe('broken')
  })
})

describe.each(NETWORK_NAMES)('on %s', (name: NetworkName) => {
  const venues = factoriesOn(name, VENUE_NAMES)
  const all = venues.flatMap(({ factories }) => factories)

  test('no factory is of two venues, and none is Uniswap’s', () => {
    const lower = [...all, NETWORKS[name].v3.factory].map((it) => it.toLowerCase())
    expect(new Set(lower).size).toBe(lower.length)
    for (const factory of all) expect(isAddress(factory, { strict: false }), factory).toBe(true)
    expect(all.map((it) => getAddress(it.toLowerCase()))).toHaveLength(all.length)
  })

  test('each factory finds its venue in any spelling, and only enabled ones are read', () => {
    const network = { ...NETWORKS[name], venues }
    const deployments = deploymentsOf(network)
    expect(deployments.size).toBe(all.length + 1)
    for (const { venue, factories } of venues) {
      for (const factory of factories)
        expect(deployments.get(factory.toLowerCase() as typeof factory)?.name).toBe(venue)
      expect([isRead(network, venue), isRead(NETWORKS[name], venue)]).toEqual([true, false])
    }
    expect(isRead(NETWORKS[name], 'uniswap')).toBe(true)
  })
})

/** Pools of the most traded pair, as many public repositories name them. Their addresses follow from the code that made them. */
describe('the address of a known pool', () => {
  const tokensOf = (network: NetworkName, ...symbols: readonly string[]) =>
    symbols.map((symbol) => {
      const token = NETWORKS[network].trustedTokens.find((it) => it.symbols.includes(symbol))
      if (!token) throw new Error(`${network} lists no ${symbol}`)
      return token.address
    }) as [Address, Address]
  const factoryOf = (network: NetworkName, venue: (typeof VENUE_NAMES)[number], index = 0) =>
    factoriesOn(network, [venue])[0]?.factories[index] as Address
  const salt = (types: string, ...values: readonly unknown[]) =>
    keccak256(encodeAbiParameters(parseAbiParameters(types), values as never))

  test('the pool of SushiSwap is made by its factory, of the code of Uniswap', () => {
    const key = salt('address, address, uint24', ...tokensOf('ethereum', 'USDC', 'WETH'), 500)
    const made = getCreate2Address({
      from: factoryOf('ethereum', 'sushi'),
      salt: key,
      bytecode: uniswapBytecode('v3Pool'),
    })
    expect(made).toBe('0x35644Fb61aFBc458bf92B15AdD6ABc1996Be5014')
  })

  test('the pool of PancakeSwap is made by its deployer, of the code of the package', () => {
    const key = salt('address, address, uint24', ...tokensOf('ethereum', 'USDC', 'WETH'), 500)
    const from = '0x41ff9AA7e16B8B1a8a8dc4f0eFacd93D02d071c9'
    const made = getCreate2Address({ from, salt: key, bytecode: artifact('pancakePool').bytecode })
    expect(made).toBe('0x1ac1A8FEaAEa1900C4166dEeed0C11cC10669D36')
  })

  test('the pool of QuickSwap on Polygon is made by its deployer, of the code of Algebra’s package', () => {
    const key = salt('address, address', ...tokensOf('polygon', 'WMATIC', 'USDC.e'))
    const from = '0x2D98E2FA9da15aa6dC9581AB097Ced7af697CB92'
    const made = getCreate2Address({ from, salt: key, bytecode: artifact('algebraV1Pool').bytecode })
    expect(made).toBe('0xAE81FAc689A1b4b1e06e7ef4a2ab4CD8aC0A087D')
  })

  test('the pool of Camelot is made by its deployer, of a code whose hash alone is known', () => {
    const key = salt('address, address', ...tokensOf('arbitrum', 'WETH', 'USDC'))
    const from = '0x6Dd3FB9653B10e806650F107C3B5A0a6fF974F65'
    const bytecodeHash = '0x6c1bebd370ba84753516bc1393c0d0a6c645856da55f5393ac8ab3d6dbc861d3'
    expect(getCreate2Address({ from, salt: key, bytecodeHash })).toBe('0xB1026b8e7276e7AC75410F1fcbbe21796e8f7526')
  })

  test.each([
    [
      'base',
      0,
      ['WETH', 'USDC'],
      '0xeC8E5342B19977B4eF8892e02D8DAEcfa1315831',
      '0xb2cc224c1c9feE385f8ad6a55b4d94E92359DC59',
    ],
    [
      'optimism',
      1,
      ['USDC', 'WETH'],
      '0xc28aD28853A547556780BEBF7847628501A3bCbb',
      '0x478946BcD4a5a22b316470F5486fAfb928C0bA25',
    ],
  ] as const)(
    'the pool of Slipstream on %s is a clone that its factory made',
    (network, index, pair, implementation, pool) => {
      const key = salt('address, address, int24', ...tokensOf(network, ...pair), 100)
      const bytecode: Hex = `0x3d602d80600a3d3981f3363d3d373d3d3d363d73${implementation.slice(2)}5af43d82803e903d91602b57fd5bf3`
      expect(getCreate2Address({ from: factoryOf(network, 'slipstream', index), salt: key, bytecode })).toBe(pool)
    },
  )
})
