/** Suggests the most likely pair for a text that is not a pair, or names unknown tokens. */
import { NETWORKS } from '../../ingest/model/networks.ts'

/** Symbols of the curated tokens of all networks, by their lower case. */
const LISTED: ReadonlyMap<string, string> = new Map(
  Object.values(NETWORKS).flatMap(({ nativeSymbol, trustedTokens }) =>
    [nativeSymbol, ...trustedTokens.flatMap(({ symbols }) => symbols)].map((it) => [it.toLowerCase(), it] as const),
  ),
)

/** The pair that comes first of `nearPairs`. */
export function nearPair(text: string): string | undefined {
  return nearPairs(text)[0]
}

/**
 * The pairs in their written form: with a hyphen where the text has another separator or none (`weth/usdc`, `WETHUSDC`), and with the token that
 * stands for a currency (`BTC` is WBTC, `USD` is USDC or USDT). Empty if the only pair is the text itself, or no pair is found.
 */
export function nearPairs(text: string): readonly string[] {
  const parts = text.split(/[-/_:|,\s]+/).filter((part) => part !== '')
  const [whole = ''] = parts
  const sides = parts.length === 1 ? cutInTwo(whole) : parts.map((part) => listedNames(part, [part]))
  const [bases, quotes] = sides ?? []
  if (sides?.length !== 2 || !bases || !quotes) return []
  const isNews = (base: string, quote: string) =>
    base.toLowerCase() !== quote.toLowerCase() && `${base}-${quote}`.toLowerCase() !== text.toLowerCase()
  return bases.flatMap((base) => quotes.flatMap((quote) => (isNews(base, quote) ? `${base}-${quote}` : [])))
}

/** Longer texts are no two listed names. */
const MAX_JOINED = 20

function cutInTwo(text: string): (readonly string[])[] | undefined {
  if (text.length > MAX_JOINED) return undefined
  const cuts = Array.from({ length: text.length }, (_, at) => [text.slice(0, at), text.slice(at)])
  return cuts
    .map((sides) => sides.map((side) => listedNames(side)))
    .find((sides) => sides.every((names) => names.length > 0))
}

/** The listed symbol of this name, else the symbols that stand for it, else `otherwise`. */
function listedNames(text: string, otherwise: readonly string[] = []): readonly string[] {
  const name = text.toLowerCase()
  const own = LISTED.get(name)
  if (own !== undefined) return [own]
  const others = [`w${name}`, `${name}c`, `${name}t`].flatMap((it) => LISTED.get(it) ?? [])
  return others.length > 0 ? others : otherwise
}
