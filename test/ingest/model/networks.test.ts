/** The networks are those of Uniswap's own records: facts checked in deployments, SDKs, subgraphs and token lists, written here once more. */
import { encodeAbiParameters, getCreate2Address, isAddress, keccak256, parseAbiParameters } from 'viem'
import { describe, expect, test } from 'vitest'
import { NATIVE_CURRENCY, NETWORK_NAMES, type NetworkName, type TrustedToken } from '../../../ingest/model/network.ts'
import { NETWORKS } from '../../../ingest/model/networks.ts'
import { UsdPrices } from '../../../ingest/pricing/usd.ts'

const V3_FACTORY = '0x1F98431c8aD98523631AE4a59f267346ea31F984'
/** Hash of the creation code of every v3 factory, Base's included. */
const V3_POOL_CODE_HASH = '0xe34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54'

/** Chain id; v3 factory and its block; v4 PoolManager and its block, StateView, PositionManager. */
const DEPLOYMENTS = {
  ethereum: [
    1,
    V3_FACTORY,
    12369621,
    '0x000000000004444c5dc75cB358380D2e3dE08A90',
    21688329,
    '0x7fFE42C4a5DEeA5b0feC41C94C136Cf115597227',
    '0xbD216513d74C8cf14cf4747E6AaA6420FF64ee9e',
  ],
  arbitrum: [
    42161,
    V3_FACTORY,
    175,
    '0x360E68faCcca8cA495c1B759Fd9EEe466db9FB32',
    297842872,
    '0x76Fd297e2D437cd7f76d50F01AfE6160f86e9990',
    '0xd88F38F930b7952f2DB2432Cb002E7abbF3dD869',
  ],
  polygon: [
    137,
    V3_FACTORY,
    22757547,
    '0x67366782805870060151383F4BbFF9daB53e5cD6',
    66980384,
    '0x5eA1bD7974c8A611cBAB0bDCAFcB1D9CC9b3BA5a',
    '0x1Ec2eBf4F37E7363FDfe3551602425af0B3ceef9',
  ],
  base: [
    8453,
    '0x33128a8fC17869897dcE68Ed026d694621f6FDfD',
    1371680,
    '0x498581fF718922c3f8e6A244956aF099B2652b2b',
    25350988,
    '0xA3c0c9b65baD0b08107Aa264b0f3dB444b867A71',
    '0x7C5f5A4bBd8fD63184577525326123B519429bDc',
  ],
  optimism: [
    10,
    V3_FACTORY,
    0,
    '0x9a13F98Cb987694C9F086b1F5eB990EeA8264Ec3',
    130947675,
    '0xc18a3169788F4F75A170290584ECA6395C75Ecdb',
    '0x3C3Ea4B57a46241e54610e5f022E5c45859A1017',
  ],
} as const

/** Symbol, address, decimals, what it is to pricing; the wrapped native token first. */
const TOKENS: Record<NetworkName, readonly (readonly [string, string, number, TrustedToken['role']])[]> = {
  ethereum: [
    ['WETH', '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2', 18, 'priced'],
    ['USDC', '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48', 6, 'stablecoin'],
    ['USDT', '0xdAC17F958D2ee523a2206206994597C13D831ec7', 6, 'stablecoin'],
    ['DAI', '0x6B175474E89094C44Da98b954EedeAC495271d0F', 18, 'stablecoin'],
    ['WBTC', '0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599', 8, 'listed'],
  ],
  arbitrum: [
    ['WETH', '0x82aF49447D8a07e3bd95BD0d56f35241523fBab1', 18, 'priced'],
    ['USDC', '0xaf88d065e77c8cC2239327C5EDb3A432268e5831', 6, 'stablecoin'],
    ['USDC.e', '0xFF970A61A04b1cA14834A43f5dE4533eBDDB5CC8', 6, 'stablecoin'],
    ['USDT', '0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9', 6, 'stablecoin'],
    ['DAI', '0xDA10009cBd5D07dd0CeCc66161FC93D7c9000da1', 18, 'stablecoin'],
    ['WBTC', '0x2f2a2543B76A4166549F7aaB2e75Bef0aefC5B0f', 8, 'listed'],
  ],
  polygon: [
    ['WMATIC', '0x0d500B1d8E8eF31E21C99d1Db9A6444d3ADf1270', 18, 'priced'],
    ['WETH', '0x7ceB23fD6bC0adD59E62ac25578270cFf1b9f619', 18, 'priced'],
    ['USDC', '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359', 6, 'stablecoin'],
    ['USDC.e', '0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174', 6, 'stablecoin'],
    ['USDT', '0xc2132D05D31c914a87C6611C10748AEb04B58e8F', 6, 'stablecoin'],
    ['DAI', '0x8f3Cf7ad23Cd3CaDbD9735AFf958023239c6A063', 18, 'stablecoin'],
    ['WBTC', '0x1BFD67037B42Cf73acF2047067bd4F2C47D9BfD6', 8, 'listed'],
  ],
  base: [
    ['WETH', '0x4200000000000000000000000000000000000006', 18, 'priced'],
    ['USDC', '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913', 6, 'stablecoin'],
    ['USDbC', '0xd9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA', 6, 'stablecoin'],
    ['USDT', '0xfde4C96c8593536E31F229EA8f37b2ADa2699bb2', 6, 'stablecoin'],
    ['DAI', '0x50c5725949A6F0c72E6C4a641F24049A917DB0Cb', 18, 'stablecoin'],
    ['cbBTC', '0xcbB7C0000aB88B473b1f5aFd9ef808440eed33Bf', 8, 'listed'],
  ],
  optimism: [
    ['WETH', '0x4200000000000000000000000000000000000006', 18, 'priced'],
    ['USDC', '0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85', 6, 'stablecoin'],
    ['USDC.e', '0x7F5c764cBc14f9669B88837ca1490cCa17c31607', 6, 'stablecoin'],
    ['USDT', '0x94b008aA00579c1307B0EF2c499aD98a8ce58e58', 6, 'stablecoin'],
    ['USDT0', '0x01bFF41798a0BcF287b996046Ca68b395DbC1071', 6, 'stablecoin'],
    ['DAI', '0xDA10009cBd5D07dd0CeCc66161FC93D7c9000da1', 18, 'stablecoin'],
    ['WBTC', '0x68f180fcCe6836688e9084f035309E29Bf0A2095', 8, 'listed'],
  ],
}

/** Priced tokens, each with its stablecoin and its 0.05 % pool. */
const REFERENCE_POOLS: Record<NetworkName, readonly (readonly [string, string, string])[]> = {
  ethereum: [['WETH', 'USDC', '0x88e6A0c2dDD26FEEb64F039a2c41296FcB3f5640']],
  arbitrum: [['WETH', 'USDC', '0xC6962004f452bE9203591991D15f6b388e09E8D0']],
  polygon: [
    ['WMATIC', 'USDC.e', '0xA374094527e1673A86dE625aa59517c5dE346d32'],
    ['WETH', 'USDC.e', '0x45dDa9cb7c25131DF268515131f647d726f50608'],
  ],
  base: [['WETH', 'USDC', '0xd0b53D9277642d899DF5C87A3966A349A798F224']],
  optimism: [['WETH', 'USDC.e', '0x85149247691df622eaF1a8Bd0CaFd40BC45154a9']],
}

const lower = (text: string) => text.toLowerCase()

function addressOf(network: NetworkName, symbol: string) {
  const token = TOKENS[network].find(([name]) => name === symbol)
  if (!token) throw new Error(`${network} has no ${symbol} in this test`)
  return lower(token[1]) as `0x${string}`
}

describe.each(NETWORK_NAMES)('%s', (name) => {
  const network = NETWORKS[name]

  test('has Uniswap’s deployments', () => {
    const { chainId, v3, v4 } = network
    expect([chainId, v3.factory, v3.fromBlock, v4.poolManager, v4.fromBlock, v4.stateView, v4.positionManager]).toEqual(
      DEPLOYMENTS[name],
    )
  })

  test('trusts the tokens of the list, each for what it is', () => {
    const trusted = network.trustedTokens.map(({ symbols, address, decimals, role }) => [
      symbols[0],
      address,
      decimals,
      role,
    ])
    expect(trusted).toEqual(TOKENS[name])
    // Mixed case is a checksum: a wrong digit shows.
    for (const { address } of network.trustedTokens) expect(isAddress(address)).toBe(true)
    expect(network.wrappedNative).toBe(TOKENS[name][0]?.[1])
  })

  test('prices every volatile token by one official pool with a stablecoin', () => {
    const pools = REFERENCE_POOLS[name]
    expect(network.referencePools.map(({ token, pool }) => [lower(token), pool])).toEqual(
      pools.map(([priced, , pool]) => [addressOf(name, priced), lower(pool)]),
    )
    expect(pools.map(([priced]) => priced)).toEqual(
      TOKENS[name].flatMap(([symbol, , , role]) => (role === 'priced' ? [symbol] : [])),
    )
    for (const [priced, stablecoin, pool] of pools) {
      const [token0, token1] = [addressOf(name, priced), addressOf(name, stablecoin)].sort()
      if (!token0 || !token1) throw new Error('There are two.')
      const key = encodeAbiParameters(parseAbiParameters('address, address, uint24'), [token0, token1, 500])
      const from = network.v3.factory
      expect(getCreate2Address({ from, salt: keccak256(key), bytecodeHash: V3_POOL_CODE_HASH })).toBe(pool)
    }
  })
})

test('Polygon prices its own currency, wrapped and native, and bridged WETH, each by its own pool', () => {
  const usd = new UsdPrices(NETWORKS.polygon)
  const [pol, weth, usdc] = ['WMATIC', 'WETH', 'USDC.e'].map((symbol) => {
    return { address: addressOf('polygon', symbol) }
  }) as [Token, Token, Token]
  const dog = { address: `0x${'d0'.repeat(20)}` } as const
  const worth = (token: Token) =>
    usd.amountUsdMicros({ id: dog.address, token0: token, token1: dog }, { amount0: 10n ** 18n, amount1: -1n })
  const native = { address: NATIVE_CURRENCY }
  const [polPool, wethPool] = NETWORKS.polygon.referencePools.map(({ pool }) => pool) as [`0x${string}`, `0x${string}`]

  // 0.25 USDC for one POL: √(0.25 · 10^6 / 10^18) = 0.5 / 10^6.
  usd.observe({ id: polPool, token0: pol, token1: usdc }, 2n ** 96n / 2_000_000n + 1n, 1)
  expect([pol, native, weth].map(worth)).toEqual([250_000n, 250_000n, 0n])
  // 2,500 USDC for one WETH, which is token1 here: √(10^18 / (2,500 · 10^6)) = 20,000.
  usd.observe({ id: wethPool, token0: usdc, token1: weth }, 20_000n * 2n ** 96n, 2)
  expect([pol, native, weth].map(worth)).toEqual([250_000n, 250_000n, 2_500_000_000n])
})

type Token = { address: `0x${string}` }
