/**
 * The five networks: Uniswap's official deployments, the curated tokens, and the pools that price the volatile ones.
 * Addresses are those of Uniswap's own deployment records, SDK and token list; pools are recomputed by CREATE2 from the factory.
 */
import type { Address } from 'viem'
import type { Network, NetworkName, TrustedToken } from './network.ts'

function token(
  address: Address,
  decimals: number,
  role: TrustedToken['role'],
  name: string,
  ...symbols: readonly [string, ...string[]]
): TrustedToken {
  return { address, decimals, role, name, symbols }
}

export const NETWORKS: Readonly<Record<NetworkName, Network>> = {
  ethereum: {
    name: 'ethereum',
    chainId: 1,
    devnet: false,
    v3: { factory: '0x1F98431c8aD98523631AE4a59f267346ea31F984', fromBlock: 12369621 },
    v4: {
      poolManager: '0x000000000004444c5dc75cB358380D2e3dE08A90',
      stateView: '0x7fFE42C4a5DEeA5b0feC41C94C136Cf115597227',
      positionManager: '0xbD216513d74C8cf14cf4747E6AaA6420FF64ee9e',
      fromBlock: 21688329,
    },
    nativeSymbol: 'ETH',
    wrappedNative: '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2',
    trustedTokens: [
      token('0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2', 18, 'priced', 'Wrapped Ether', 'WETH'),
      token('0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48', 6, 'stablecoin', 'USD Coin', 'USDC'),
      token('0xdAC17F958D2ee523a2206206994597C13D831ec7', 6, 'stablecoin', 'Tether USD', 'USDT'),
      token('0x6B175474E89094C44Da98b954EedeAC495271d0F', 18, 'stablecoin', 'Dai Stablecoin', 'DAI'),
      token('0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599', 8, 'listed', 'Wrapped BTC', 'WBTC'),
    ],
    referencePools: [
      // USDC/WETH 0.05 %
      { token: '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2', pool: '0x88e6a0c2ddd26feeb64f039a2c41296fcb3f5640' },
    ],
  },
  arbitrum: {
    name: 'arbitrum',
    chainId: 42161,
    devnet: false,
    // The first block of Nitro.
    provenFrom: 22_207_817,
    v3: { factory: '0x1F98431c8aD98523631AE4a59f267346ea31F984', fromBlock: 175 },
    v4: {
      poolManager: '0x360E68faCcca8cA495c1B759Fd9EEe466db9FB32',
      stateView: '0x76Fd297e2D437cd7f76d50F01AfE6160f86e9990',
      positionManager: '0xd88F38F930b7952f2DB2432Cb002E7abbF3dD869',
      fromBlock: 297842872,
    },
    nativeSymbol: 'ETH',
    wrappedNative: '0x82aF49447D8a07e3bd95BD0d56f35241523fBab1',
    trustedTokens: [
      token('0x82aF49447D8a07e3bd95BD0d56f35241523fBab1', 18, 'priced', 'Wrapped Ether', 'WETH'),
      token('0xaf88d065e77c8cC2239327C5EDb3A432268e5831', 6, 'stablecoin', 'USD Coin', 'USDC'),
      token('0xFF970A61A04b1cA14834A43f5dE4533eBDDB5CC8', 6, 'stablecoin', 'Bridged USDC', 'USDC.e'),
      token('0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9', 6, 'stablecoin', 'Tether USD', 'USDT', 'USDT0'),
      token('0xDA10009cBd5D07dd0CeCc66161FC93D7c9000da1', 18, 'stablecoin', 'Dai Stablecoin', 'DAI'),
      token('0x2f2a2543B76A4166549F7aaB2e75Bef0aefC5B0f', 8, 'listed', 'Wrapped BTC', 'WBTC'),
    ],
    referencePools: [
      // WETH/USDC 0.05 %
      { token: '0x82aF49447D8a07e3bd95BD0d56f35241523fBab1', pool: '0xc6962004f452be9203591991d15f6b388e09e8d0' },
    ],
  },
  polygon: {
    name: 'polygon',
    chainId: 137,
    devnet: false,
    v3: { factory: '0x1F98431c8aD98523631AE4a59f267346ea31F984', fromBlock: 22757547 },
    v4: {
      poolManager: '0x67366782805870060151383F4BbFF9daB53e5cD6',
      stateView: '0x5eA1bD7974c8A611cBAB0bDCAFcB1D9CC9b3BA5a',
      positionManager: '0x1Ec2eBf4F37E7363FDfe3551602425af0B3ceef9',
      fromBlock: 66980384,
    },
    nativeSymbol: 'POL',
    wrappedNative: '0x0d500B1d8E8eF31E21C99d1Db9A6444d3ADf1270',
    trustedTokens: [
      token(
        '0x0d500B1d8E8eF31E21C99d1Db9A6444d3ADf1270',
        18,
        'priced',
        'Wrapped Polygon Ecosystem Token',
        'WMATIC',
        'WPOL',
      ),
      token('0x7ceB23fD6bC0adD59E62ac25578270cFf1b9f619', 18, 'priced', 'Wrapped Ether', 'WETH'),
      token('0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359', 6, 'stablecoin', 'USD Coin', 'USDC'),
      token('0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174', 6, 'stablecoin', 'Bridged USDC', 'USDC.e'),
      token('0xc2132D05D31c914a87C6611C10748AEb04B58e8F', 6, 'stablecoin', 'Tether USD', 'USDT'),
      token('0x8f3Cf7ad23Cd3CaDbD9735AFf958023239c6A063', 18, 'stablecoin', 'Dai Stablecoin', 'DAI'),
      token('0x1BFD67037B42Cf73acF2047067bd4F2C47D9BfD6', 8, 'listed', 'Wrapped BTC', 'WBTC'),
    ],
    referencePools: [
      // WMATIC/USDC.e 0.05 %
      { token: '0x0d500B1d8E8eF31E21C99d1Db9A6444d3ADf1270', pool: '0xa374094527e1673a86de625aa59517c5de346d32' },
      // USDC.e/WETH 0.05 %
      { token: '0x7ceB23fD6bC0adD59E62ac25578270cFf1b9f619', pool: '0x45dda9cb7c25131df268515131f647d726f50608' },
    ],
  },
  base: {
    name: 'base',
    chainId: 8453,
    devnet: false,
    v3: { factory: '0x33128a8fC17869897dcE68Ed026d694621f6FDfD', fromBlock: 1371680 },
    v4: {
      poolManager: '0x498581fF718922c3f8e6A244956aF099B2652b2b',
      stateView: '0xA3c0c9b65baD0b08107Aa264b0f3dB444b867A71',
      positionManager: '0x7C5f5A4bBd8fD63184577525326123B519429bDc',
      fromBlock: 25350988,
    },
    nativeSymbol: 'ETH',
    wrappedNative: '0x4200000000000000000000000000000000000006',
    trustedTokens: [
      token('0x4200000000000000000000000000000000000006', 18, 'priced', 'Wrapped Ether', 'WETH'),
      token('0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913', 6, 'stablecoin', 'USD Coin', 'USDC'),
      token('0xd9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA', 6, 'stablecoin', 'USD Base Coin', 'USDbC'),
      token('0xfde4C96c8593536E31F229EA8f37b2ADa2699bb2', 6, 'stablecoin', 'Tether USD', 'USDT'),
      token('0x50c5725949A6F0c72E6C4a641F24049A917DB0Cb', 18, 'stablecoin', 'Dai Stablecoin', 'DAI'),
      token('0xcbB7C0000aB88B473b1f5aFd9ef808440eed33Bf', 8, 'listed', 'Coinbase Wrapped BTC', 'cbBTC'),
    ],
    referencePools: [
      // WETH/USDC 0.05 %
      { token: '0x4200000000000000000000000000000000000006', pool: '0xd0b53d9277642d899df5c87a3966a349a798f224' },
    ],
  },
  optimism: {
    name: 'optimism',
    chainId: 10,
    devnet: false,
    v3: { factory: '0x1F98431c8aD98523631AE4a59f267346ea31F984', fromBlock: 0 },
    v4: {
      poolManager: '0x9a13F98Cb987694C9F086b1F5eB990EeA8264Ec3',
      stateView: '0xc18a3169788F4F75A170290584ECA6395C75Ecdb',
      positionManager: '0x3C3Ea4B57a46241e54610e5f022E5c45859A1017',
      fromBlock: 130947675,
    },
    nativeSymbol: 'ETH',
    wrappedNative: '0x4200000000000000000000000000000000000006',
    trustedTokens: [
      token('0x4200000000000000000000000000000000000006', 18, 'priced', 'Wrapped Ether', 'WETH'),
      token('0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85', 6, 'stablecoin', 'USD Coin', 'USDC'),
      token('0x7F5c764cBc14f9669B88837ca1490cCa17c31607', 6, 'stablecoin', 'Bridged USDC', 'USDC.e'),
      token('0x94b008aA00579c1307B0EF2c499aD98a8ce58e58', 6, 'stablecoin', 'Tether USD', 'USDT'),
      token('0x01bFF41798a0BcF287b996046Ca68b395DbC1071', 6, 'stablecoin', 'USDT0', 'USDT0'),
      token('0xDA10009cBd5D07dd0CeCc66161FC93D7c9000da1', 18, 'stablecoin', 'Dai Stablecoin', 'DAI'),
      token('0x68f180fcCe6836688e9084f035309E29Bf0A2095', 8, 'listed', 'Wrapped BTC', 'WBTC'),
    ],
    referencePools: [
      // WETH/USDC.e 0.05 %
      { token: '0x4200000000000000000000000000000000000006', pool: '0x85149247691df622eaf1a8bd0cafd40bc45154a9' },
    ],
  },
}
