/**
 * Endpoints that are used where none is configured: free, shared and slow. Each network has several, of different operators: one that
 * fails is replaced by the next, and one confirms another. From ethereum-lists/chains and DefiLlama/chainlist. The first one is viem's default,
 * copied because viem's module of all chains takes half a second to load. No endpoint needs a key.
 */
import type { NetworkName } from '../../ingest/model/network.ts'

export const PUBLIC_URLS: Readonly<Record<NetworkName, readonly string[]>> = {
  ethereum: ['https://ethereum.reth.rs/rpc', 'https://ethereum-rpc.publicnode.com', 'https://eth.drpc.org'],
  arbitrum: ['https://arb1.arbitrum.io/rpc', 'https://arbitrum-one-rpc.publicnode.com', 'https://arbitrum.drpc.org'],
  polygon: [
    'https://polygon.drpc.org',
    'https://polygon-bor-rpc.publicnode.com',
    'https://polygon.gateway.tenderly.co',
  ],
  base: ['https://mainnet.base.org', 'https://base-rpc.publicnode.com', 'https://base.drpc.org'],
  optimism: ['https://mainnet.optimism.io', 'https://optimism-rpc.publicnode.com', 'https://optimism.drpc.org'],
}
