/** How the product sees the devnet: as the network `ethereum`, with its own addresses. */
import type { Network, TrustedToken } from '../../ingest/model/network.ts'
import { DEVNET_CHAIN_ID } from './chain/anvil.ts'
import { type DevContracts, tokenNamed } from './contracts/deploy.ts'
import type { DevMarket } from './market/market.ts'

export function devnetNetwork(deployment: DevContracts, markets: readonly DevMarket[]): Network {
  const { factory, poolManager, stateView, positionManager, tokens } = deployment
  const weth = tokenNamed(tokens, 'WETH').address
  const reference = markets.find(({ token0, token1 }) => token0.symbol === 'USDC' && token1.symbol === 'WETH')
  return {
    name: 'ethereum',
    chainId: DEVNET_CHAIN_ID,
    devnet: true,
    v3: { factory, fromBlock: 0 },
    v4: { poolManager, stateView, positionManager, fromBlock: 0 },
    nativeSymbol: 'ETH',
    wrappedNative: weth,
    trustedTokens: tokens.flatMap(({ address, symbol, name, decimals, role }): TrustedToken[] =>
      role ? [{ address, symbols: [symbol], name, decimals, role }] : [],
    ),
    referencePools: reference ? [{ token: weth, pool: reference.id }] : [],
  }
}
