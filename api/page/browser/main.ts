/// <reference lib="dom" />
/** The script of the page: it removes the code of a link from the address before anything else. */
import type { TokenFile } from '../tokens.ts'
import { takeFromAddress } from './account/key.ts'
import { part } from './lib/dom.ts'
import { openMarketPage } from './market-page.ts'

const taken = takeFromAddress()
try {
  const answer = await fetch(part('tokens', HTMLLinkElement).href)
  openMarketPage((await answer.json()) as TokenFile, taken)
} catch (error) {
  part('notice-text', HTMLElement).textContent = 'The page did not arrive whole. Load it again.'
  part('notice-retry', HTMLButtonElement).hidden = true
  part('notice', HTMLElement).hidden = false
  throw error
}
