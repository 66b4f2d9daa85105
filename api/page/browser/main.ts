/// <reference lib="dom" />
/** The script that the page starts: the key leaves the address before anything else happens. */
import type { TokenFile } from '../tokens.ts'
import { part } from './dom.ts'
import { takeKeyFromAddress } from './key.ts'
import { openMarketPage } from './market-page.ts'

takeKeyFromAddress()
const answer = await fetch(part('tokens', HTMLLinkElement).href)
openMarketPage((await answer.json()) as TokenFile)
