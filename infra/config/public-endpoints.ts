/** Endpoints that are used where none is configured: free, shared and slow. They are viem's, whose module of all chains takes half a second to load. */
import type { NetworkName } from '../../ingest/model/network.ts'

export const PUBLIC_URLS: Readonly<Record<NetworkName, string>> = {
  ethereum: 'https://ethereum.reth.rs/rpc',
  arbitrum: 'https://arb1.arbitrum.io/rpc',
  polygon: 'https://polygon.drpc.org',
  base: 'https://mainnet.base.org',
  optimism: 'https://mainnet.optimism.io',
}
