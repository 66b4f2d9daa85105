/// <reference lib="dom" />
/** The script of the page: it removes the code of a link from the address before anything else. */
import { takeFromAddress } from './account/key.ts'
import { openMarketPage } from './market-page.ts'
import { withTokens } from './token-list.ts'

const taken = takeFromAddress()
await withTokens((tokens) => openMarketPage(tokens, taken))
