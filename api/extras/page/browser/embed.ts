/// <reference lib="dom" />
/** The script of the embedded chart: it listens for the key of the page around it before anything else. */
import { takeFromAddress } from './account/key.ts'
import { listenForKey } from './account/posted-key.ts'
import { openEmbedPage } from './embed-page.ts'
import { withTokens } from './token-list.ts'

const posted = listenForKey()
const { hadKey } = takeFromAddress()
await withTokens((tokens) => openEmbedPage(tokens, posted, hadKey))
