/** The endpoint of a network where none is configured: free, shared and slow. */
import { arbitrum, base, mainnet, optimism, polygon } from 'viem/chains'
import type { NetworkName } from '../../ingest/model/network.ts'

const chains = { ethereum: mainnet, arbitrum, polygon, base, optimism }

export function publicEndpoint(name: NetworkName): string {
  return chains[name].rpcUrls.default.http[0]
}
