/**
 * The factories of the venues by network, as read in public repositories: DefiLlama's dimension-adapters (L) and Dune's spellbook (P). None was
 * checked on its chain; a pool counts only where its factory confirms it. Addresses of known pools were recomputed from Sushi's factory, and from
 * the first of Aerodrome and the second of Velodrome (test/ingest/venues).
 */
import type { Address } from 'viem'
import type { NetworkName, VenueFactories } from '../model/network.ts'
import type { VenueName } from '../model/venue.ts'

const PANCAKE: readonly Address[] = ['0x0BFbCF9fa4f9C56B0F40a671Ad40E0805A091865']

const FACTORIES: Readonly<
  Record<Exclude<VenueName, 'uniswap'>, Partial<Readonly<Record<NetworkName, readonly Address[]>>>>
> = {
  // L
  sushi: {
    ethereum: ['0xbACEB8eC6b9355Dfc0269C18bac9d6E2Bdc29C4F'],
    arbitrum: ['0x1af415a1EbA07a4986a52B6f2e7dE7003D82231e'],
    polygon: ['0x917933899c6a5F8E37F31E19f92CdBFF7e8FF0e2'],
    base: ['0xc35DADB65012eC5796536bD9864eD8773aBc74C4'],
    optimism: ['0x9c6522117e2ed1fE5bdb72bb0eD5E3f2bdE7DBe0'],
  },
  // L, P
  pancake: { ethereum: PANCAKE, arbitrum: PANCAKE, base: PANCAKE },
  slipstream: {
    // Aerodrome, L
    base: [
      '0x5e7BB104d84c7CB9B682AaC2F3d509f5F406809A',
      '0x9592CD9B267748cbfBDe90Ac9F7DF3c437A6d51B',
      '0xaDe65c38CD4849aDBA595a4323a8C7DdfE89716a',
      '0xf8f2eB4940CFE7D13603DdDd87f123820Fc061Ef',
    ],
    // Velodrome, P
    optimism: ['0x548118C7E0B865C2CfA94D15EC86B666468ac758', '0xCc0bDDB707055e04e497aB22a59c2aF4391cd12F'],
  },
  algebra: {
    // Camelot, L
    arbitrum: ['0x1a3c9B1d2F0529D97f2afC5136Cc23e58f1FD35B', '0xd490f2f6990c0291597fd1247651b4e0dcf684dd'],
    // QuickSwap, L
    polygon: ['0x411b0fAcC3489691f28ad58c47006AF5E3Ab3A28'],
    base: ['0xC5396866754799B9720125B104AE01d935Ab9C7b'],
  },
}

/** The factories of some venues on a network; a venue that is not there has none. */
export function factoriesOn(network: NetworkName, venues: readonly VenueName[]): readonly VenueFactories[] {
  return venues.flatMap((venue) => {
    const factories = venue === 'uniswap' ? undefined : FACTORIES[venue][network]
    return factories ? [{ venue, factories }] : []
  })
}
