/** All of the interfaces beside the four operations: streams, depth, lists of pools, UDF, MCP, the page, the reference. */
import type { OpenExtras } from '../http/extra.ts'
import { openApi } from '../schema/openapi.ts'
import { ADDED_APIS } from './added-api.ts'
import { getDepth } from './depth/depth.ts'
import { getDocument, getReference, getText } from './docs/docs.ts'
import { postMcp } from './mcp/post-mcp.ts'
import { getPage } from './page/page.ts'
import { openPageCode, type PageCode } from './page/page-code.ts'
import { postPageCode } from './page/post-page-code.ts'
import { getNewPools, getTopPools } from './pool-lists/pool-lists.ts'
import { openFeeds } from './stream/feeds.ts'
import { streamCandles, streamTicks } from './stream/streams.ts'
import { asyncApi } from './topics/asyncapi.ts'
import { udfRoutes } from './udf/udf.ts'

export type ExtrasOptions = {
  /** Origins whose pages may frame the chart at /embed, beside this one. */
  embedOrigins?: readonly string[] | undefined
  /** Exchanges the code of the printed link for a key; without it no code is valid. */
  pageCode?: PageCode | undefined
}

export function openExtras({ embedOrigins = [], pageCode }: ExtrasOptions = {}): OpenExtras {
  return ({ market, accounts, clock, report, identify, authenticate, addressOf }) => {
    const streaming = { market, addressOf, accounts, feeds: openFeeds(market, report), clock, report, open: new Map() }
    const document = openApi(...ADDED_APIS)
    const lists = { market, accounts, clock }
    const udf = Object.entries(udfRoutes(market, accounts, clock)).map(
      ([path, handler]) => [path, authenticate(handler)] as const,
    )
    return {
      post: {
        // Before the page's files, which are in the same folder.
        '/page/code': [postPageCode(pageCode ?? openPageCode(clock), clock, addressOf)],
        '/v0/mcp': postMcp(identify, accounts, addressOf),
      },
      get: {
        ...getPage({ networks: market.networks, embedOrigins }),
        ...Object.fromEntries(udf),
        '/v0/depth': authenticate(getDepth(market, accounts)),
        '/v0/pools/top': authenticate(getTopPools(lists)),
        '/v0/pools/new': authenticate(getNewPools(lists)),
        '/v0/openapi.json': getDocument(document),
        '/v0/asyncapi.json': getDocument(asyncApi()),
        '/v0/docs': getReference(document, clock),
        '/v0/skill.md': getText('SKILL.md', 'text/markdown'),
        '/llms.txt': getText('llms.txt', 'text/plain'),
      },
      streams: { candles: streamCandles(streaming), ticks: streamTicks(streaming) },
    }
  }
}
