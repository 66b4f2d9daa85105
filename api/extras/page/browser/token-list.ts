/// <reference lib="dom" />
/** The list of tokens, which the HTML names, for the scripts of the page and of the embedded chart. */
import type { TokenFile } from '../tokens.ts'
import { part } from './lib/dom.ts'

/** Shows where a file of the page is missing, or does not fit the others. */
export async function withTokens(open: (tokens: TokenFile) => void): Promise<void> {
  try {
    const answer = await fetch(part('tokens', HTMLLinkElement).href)
    open((await answer.json()) as TokenFile)
  } catch (error) {
    part('notice-text', HTMLElement).textContent = 'The page did not arrive whole. Load it again.'
    part('notice-retry', HTMLButtonElement).hidden = true
    part('notice', HTMLElement).hidden = false
    throw error
  }
}
