/** The list of trusted tokens for the page, from the networks' own table. */
import type { Network, NetworkName } from '../../../ingest/model/network.ts'

export type ListedToken = {
  symbol: string
  name: string
  role: 'stablecoin' | 'priced' | 'listed'
  networks: readonly NetworkName[]
}

export type TokenFile = {
  /** Networks that are served. */
  networks: readonly NetworkName[]
  tokens: readonly ListedToken[]
}

/** Tokens of one symbol are one suggestion, on all their networks. The native currency is trusted too. */
export function tokenFile(networks: readonly Network[]): TokenFile {
  const tokens = new Map<string, ListedToken>()
  for (const network of networks) {
    const native = { symbol: network.nativeSymbol, name: network.nativeSymbol === 'ETH' ? 'Ether' : 'POL' }
    const curated = network.trustedTokens.map(({ symbols: [symbol], name, role }) => ({ symbol, name, role }))
    for (const token of [{ ...native, role: 'priced' as const }, ...curated]) {
      const known = tokens.get(token.symbol)?.networks ?? []
      tokens.set(token.symbol, { ...token, ...tokens.get(token.symbol), networks: [...known, network.name] })
    }
  }
  return { networks: networks.map(({ name }) => name), tokens: [...tokens.values()] }
}

const RANKS = { stablecoin: 3, priced: 2, listed: 1 } as const

/** The usual direction: the more stable token is the quote. */
export function usualPair(one: string, other: string, tokens: readonly ListedToken[]): string {
  const rank = (symbol: string) => {
    const role = tokens.find((token) => token.symbol === symbol)?.role
    return role === undefined ? 0 : RANKS[role]
  }
  return rank(one) > rank(other) ? `${other}-${one}` : `${one}-${other}`
}
