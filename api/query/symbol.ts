/** Pairs of token symbols in their written form. */

/** One way to read a symbol: the price of `base` in `quote`, both lower case. */
export type Split = { base: string; quote: string }

export const SYMBOL_RULE = 'two different token symbols joined by a hyphen, such as WETH-USDC'

/** All splits of a text at a hyphen: token symbols may contain hyphens. Empty where the text names no pair. */
export function splitSymbol(symbol: string): readonly Split[] {
  const splits: Split[] = []
  for (let at = symbol.indexOf('-'); at !== -1; at = symbol.indexOf('-', at + 1)) {
    const base = symbol.slice(0, at).toLowerCase()
    const quote = symbol.slice(at + 1).toLowerCase()
    if (isName(base) && isName(quote) && base !== quote) splits.push({ base, quote })
  }
  return splits
}

function isName(text: string): boolean {
  return text !== '' && text.trim() === text
}
