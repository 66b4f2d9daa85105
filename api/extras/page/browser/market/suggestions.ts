/** Pairs to choose from: pairs with pools, as the service lists them, in their usual direction. */
import { type ListedToken, usualPair } from '../../tokens.ts'
import type { ListedPoolRow } from '../lib/client.ts'
import { edits } from '../lib/edits.ts'
import { namesOf } from './orientation.ts'

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
  /** Names of the pair in upper case: symbols and names of its tokens, and its symbols without a hyphen. */
  terms: readonly string[]
  /** Addresses of its lead pool and tokens, in upper case. */
  addresses: readonly string[]
}

/** In order of arrival, which is by volume. A row of a pair has the sums of its pools. */
export function suggestionsOf(rows: readonly ListedPoolRow[], tokens: readonly ListedToken[]): readonly Suggestion[] {
  return rows.map((row) => {
    const symbols = symbolsOf(row)
    const both = [row.token0, row.token1] as const
    const [one, other] = symbols
    const pair = usualPair(one, other, tokens)
    const isFlipped = pair !== `${one}-${other}`
    const turned = (change: number | null) => (change === null ? undefined : isFlipped ? 1 / (1 + change) - 1 : change)
    const [base, quote] = isFlipped ? both.toReversed() : both
    const { buys24h, sells24h, volumeUSD24h, totalValueLockedUSD } = row.pair ?? row
    const price = row.price ?? undefined
    return {
      pair,
      names: `${base?.name} in ${quote?.name}`,
      pool: row.isTrusted ? undefined : { id: row.id, network: row.network },
      price: price !== undefined && isFlipped ? 1 / price : price,
      change: turned(row.change24h),
      change1h: turned(row.change1h),
      change5m: turned(row.change5m),
      volumeUsd: Number(volumeUSD24h),
      valueUsd: Number(totalValueLockedUSD),
      buys: (isFlipped ? sells24h : buys24h) ?? undefined,
      sells: (isFlipped ? buys24h : sells24h) ?? undefined,
      terms: termsOf(symbols, both),
      addresses: [row.id, ...both.map(({ address }) => address)].map((text) => text.toUpperCase()),
    }
  })
}

/** A symbol may contain hyphens. Where the first one is not that of its token, it is the native currency's, which contains none. */
function symbolsOf({ symbol, token0 }: ListedPoolRow): readonly [string, string] {
  const cut = symbol.startsWith(`${token0.symbol}-`) ? token0.symbol.length : symbol.indexOf('-')
  return [symbol.slice(0, cut), symbol.slice(cut + 1)]
}

/** A pool of the last week. */
export type NewSuggestion = Suggestion & { pool: { id: string; network: string }; firstSeen: number }

/** Each names its pool, also where others have the same symbols. */
export function newSuggestionsOf(
  rows: readonly ListedPoolRow[],
  tokens: readonly ListedToken[],
): readonly NewSuggestion[] {
  return rows.flatMap((row) =>
    suggestionsOf([row], tokens).map((one) => ({
      ...one,
      pool: { id: row.id, network: row.network },
      firstSeen: Date.parse(row.firstSeen) / 1_000,
    })),
  )
}

function termsOf(symbols: readonly [string, string], both: readonly ListedPoolRow['token0'][]): readonly string[] {
  const [ones, others] = [namesOf(symbols[0]), namesOf(symbols[1])]
  const joined = ones.flatMap((one) => others.flatMap((other) => [one + other, other + one]))
  const names = both.flatMap(({ symbol, name }) => [symbol, ...name.split(' ')])
  return [...new Set([...ones, ...others, ...names, ...joined].map((term) => term.toUpperCase()))]
}

/** Pairs that match all input words in any order, exact matches first. `weth/usdc`, `weth usdc` and `wethusdc` match the pair too. */
export function matching(suggestions: readonly Suggestion[], typed: string): readonly Suggestion[] {
  const parts = partsOf(typed)
  const found = suggestions.filter(({ terms, addresses }) =>
    parts.every((part) => [...terms, ...addresses].some((term) => term.includes(part))),
  )
  const rank = ({ pair, terms }: Suggestion) =>
    Number(pair.toUpperCase().startsWith(parts.join('-'))) + Number(terms.includes(parts.join('')))
  return found.toSorted((one, other) => rank(other) - rank(one))
}

const NEAREST = 5
/** Words and letters of an input that are compared: a pasted text of any length takes bounded work. */
const COMPARED = { words: 4, letters: 16 } as const

/** At most five pairs with a symbol or name that equals an input word or is near one, sorted by distance; ties by the first word. */
export function nearest(suggestions: readonly Suggestion[], typed: string): readonly Suggestion[] {
  const parts = partsOf(typed).slice(0, COMPARED.words)
  return suggestions
    .map((suggestion) => ({ suggestion, far: parts.map((part) => farness(part, suggestion.terms)) }))
    .filter(({ far }) => sumOf(far) < parts.length)
    .toSorted((one, other) => sumOf(one.far) - sumOf(other.far) || (one.far[0] ?? 0) - (other.far[0] ?? 0))
    .slice(0, NEAREST)
    .map(({ suggestion }) => suggestion)
}

/** 0 where a term contains the word, 1 where each differs from it in more than a third of its letters. */
function farness(part: string, terms: readonly string[]): number {
  const word = part.slice(0, COMPARED.letters)
  const allowed = Math.floor(word.length / 3)
  const least = terms.reduce((least, term) => {
    if (term.includes(word)) return 0
    // Terms of another length need more edits than that.
    return Math.abs(term.length - word.length) > allowed ? least : Math.min(least, edits(word, term))
  }, allowed + 1)
  return Math.min(1, least / (allowed + 1))
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}

function partsOf(typed: string): readonly string[] {
  return typed
    .trim()
    .toUpperCase()
    .split(/[\s/-]+/)
    .filter((part) => part !== '')
}
