/** Pairs to pick from: every two trusted tokens that share a network, the steadier one as what is paid with. */
import type { ListedToken, TokenFile } from '../tokens.ts'
import { usualPair } from './orientation.ts'

export type Suggestion = { pair: string; names: string }

/** What most people look for comes first: the chain's own currency in dollars. */
export function suggestionsOf({ tokens }: TokenFile): readonly Suggestion[] {
  const couples = tokens.flatMap((one, index) =>
    tokens
      .slice(index + 1)
      .filter((other) => share(one, other) && !areOneToken(one, other))
      .map((other): Couple => {
        const isFirst = usualPair(one.symbol, other.symbol, tokens).startsWith(`${one.symbol}-`)
        return isFirst ? [one, other] : [other, one]
      }),
  )
  return couples
    .toSorted((a, b) => weight(a) - weight(b))
    .map(([base, quote]) => ({ pair: `${base.symbol}-${quote.symbol}`, names: `${base.name} in ${quote.name}` }))
}

type Couple = readonly [ListedToken, ListedToken]

function weight([base, quote]: Couple): number {
  if (quote.role !== 'stablecoin') return 3
  if (base.role !== 'priced') return 2
  return quote.symbol === 'USDC' ? 0 : 1
}

function share(one: ListedToken, other: ListedToken): boolean {
  return one.networks.some((network) => other.networks.includes(network))
}

/** The chain's currency and its wrapped form. */
function areOneToken(one: ListedToken, other: ListedToken): boolean {
  const pairs = [`${one.symbol}-${other.symbol}`, `${other.symbol}-${one.symbol}`]
  return pairs.some((pair) => pair === 'ETH-WETH' || pair === 'POL-WMATIC')
}

/** Those that hold all that was typed; those that begin with it first. `weth/usdc` and `weth usdc` mean the pair too. */
export function matching(suggestions: readonly Suggestion[], typed: string): readonly Suggestion[] {
  const text = typed
    .trim()
    .toUpperCase()
    .replace(/[\s/]+/g, '-')
  const found = suggestions.filter(
    ({ pair, names }) => pair.toUpperCase().includes(text) || names.toUpperCase().includes(typed.trim().toUpperCase()),
  )
  return found.toSorted((a, b) => Number(begins(b.pair, text)) - Number(begins(a.pair, text)))
}

function begins(pair: string, text: string): boolean {
  return pair.toUpperCase().startsWith(text)
}
