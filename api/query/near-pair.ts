/** The pair that is most likely meant by a text that names none, or whose names no token has. */
import { NETWORKS } from '../../ingest/model/networks.ts'

/** Symbols of the curated tokens of all networks, by their lower case. */
const LISTED: ReadonlyMap<string, string> = new Map(
  Object.values(NETWORKS).flatMap(({ nativeSymbol, trustedTokens }) =>
    [nativeSymbol, ...trustedTokens.flatMap(({ symbols }) => symbols)].map((it) => [it.toLowerCase(), it] as const),
  ),
)

/**
 * The pair in its written form: with a hyphen where the text has another separator or none (`weth/usdc`, `WETHUSDC`), and with the token that
 * stands for a currency (`BTC` is WBTC, `USD` is USDC). Undefined where that is the text itself, or nothing is found.
 */
export function nearPair(text: string): string | undefined {
  const parts = text.split(/[-/_:|,\s]+/).filter((part) => part !== '')
  const [whole = ''] = parts
  const sides = parts.length === 1 ? cutInTwo(whole) : parts.map((part) => listedName(part) ?? part)
  const [base, quote] = sides ?? []
  if (sides?.length !== 2 || base === undefined || quote === undefined) return undefined
  const pair = `${base}-${quote}`
  const isSame = base.toLowerCase() === quote.toLowerCase() || pair.toLowerCase() === text.toLowerCase()
  return isSame ? undefined : pair
}

/** Longer texts are no two listed names. */
const MAX_JOINED = 20

function cutInTwo(text: string): string[] | undefined {
  if (text.length > MAX_JOINED) return undefined
  const cuts = Array.from({ length: text.length }, (_, at) => [text.slice(0, at), text.slice(at)])
  const names = cuts.map((sides) => sides.map(listedName).filter((name) => name !== undefined))
  return names.find((sides) => sides.length === 2)
}

function listedName(text: string): string | undefined {
  const name = text.toLowerCase()
  return LISTED.get(name) ?? LISTED.get(`w${name}`) ?? LISTED.get(`${name}c`)
}
