/** Pairs to choose from: those with pools, as the service lists them, in their usual direction. */
import { type ListedToken, usualPair } from '../../tokens.ts'
import type { NewPoolRow, PairRow } from '../lib/client.ts'

export type Suggestion = {
  pair: string
  names: string
  /** Symbols of untrusted tokens, which identify nothing. */
  pool: { id: string; network: string } | undefined
  /** Direction of the pair. */
  price: number | undefined
  /** Over 24 h: 0.01 is 1 %. */
  change: number | undefined
  change1h: number | undefined
  change5m: number | undefined
  volumeUsd: number
  valueUsd: number
  /** Swaps of 24 h that bought and sold the first token of the pair; undefined where they were not counted. */
  buys: number | undefined
  sells: number | undefined
  /** Search text, in upper case. */
  words: string
}

/** In order of arrival, which is by volume. */
export function suggestionsOf(rows: readonly PairRow[], tokens: readonly ListedToken[]): readonly Suggestion[] {
  return rows.map(({ symbols, tokens: both, network, pool, isListed, price, volumeUsd, valueUsd, ...more }) => {
    const [one, other] = symbols
    const pair = usualPair(one, other, tokens)
    const isFlipped = pair !== `${one}-${other}`
    const turned = (change: number | undefined) => (change !== undefined && isFlipped ? 1 / (1 + change) - 1 : change)
    const [base, quote] = isFlipped ? both.toReversed() : both
    return {
      pair,
      names: `${base?.name} in ${quote?.name}`,
      pool: isListed ? undefined : { id: pool, network },
      price: price !== undefined && isFlipped ? 1 / price : price,
      change: turned(more.change),
      change1h: turned(more.change1h),
      change5m: turned(more.change5m),
      volumeUsd,
      valueUsd,
      buys: isFlipped ? more.sells : more.buys,
      sells: isFlipped ? more.buys : more.sells,
      words: [pair, pool, ...both.flatMap(({ symbol, name, address }) => [symbol, name, address])]
        .join(' ')
        .toUpperCase(),
    }
  })
}

/** A pool of the last week. */
export type NewSuggestion = Suggestion & { pool: { id: string; network: string }; firstSeen: number }

/** Each names its pool, whatever its symbols. */
export function newSuggestionsOf(
  rows: readonly NewPoolRow[],
  tokens: readonly ListedToken[],
): readonly NewSuggestion[] {
  return rows.flatMap((row) =>
    suggestionsOf([row], tokens).map((one) => ({
      ...one,
      pool: { id: row.pool, network: row.network },
      firstSeen: row.firstSeen,
    })),
  )
}

/** Pairs that match all input words in any order; those that start with it first. `weth/usdc` and `weth usdc` match the pair too. */
export function matching(suggestions: readonly Suggestion[], typed: string): readonly Suggestion[] {
  const parts = typed
    .trim()
    .toUpperCase()
    .split(/[\s/-]+/)
  const found = suggestions.filter(({ words }) => parts.every((part) => words.includes(part)))
  const begins = ({ pair }: Suggestion) => Number(pair.toUpperCase().startsWith(parts.join('-')))
  return found.toSorted((one, other) => begins(other) - begins(one))
}
