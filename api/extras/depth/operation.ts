/** The operation /v0/depth: its parameters, and its part of the OpenAPI document. */
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { type RawParameters, readQuery } from '../../query/parameters.ts'
import { marketRules, TickShape } from '../../query/query.ts'
import type { AddedApi } from '../../schema/openapi.ts'
import { MARKET_HEADERS, SEARCHED } from '../../schema/operations.ts'

const { symbol, pool, networks } = TickShape.shape

const DepthShape = z.object({
  symbol,
  pool,
  networks: networks.describe(
    'Where to look. If not given, on Ethereum, and where that has no trade in the last hour on Arbitrum and Polygon as well.',
  ),
})

export type DepthQuery = z.output<typeof DepthShape>

export function readDepthQuery(parameters: RawParameters): DepthQuery {
  return readQuery(DepthShape, parameters, marketRules)
}

const amount = (meaning: string) =>
  z
    .string()
    .regex(/^[0-9]+(?:\.[0-9]+)?$/)
    .describe(meaning)

const DepthAmounts = z.strictObject({
  base: amount('Of the first token of the pair, exact.'),
  quote: amount('Of the second token of the pair, exact, without the fee of the pool.'),
  usd: z
    .number()
    .min(0)
    .nullable()
    .describe('`quote` in dollars, or `base` where only that has a price; null where neither token has one.'),
})

const DepthLevel = z
  .strictObject({
    percent: z.number().describe('The change of the price that both swaps end at: 1 is 1 %.'),
    buy: DepthAmounts.describe('Takers buy `base` and pay `quote`, until the price is this much higher.'),
    sell: DepthAmounts.describe('Takers sell `base` and receive `quote`, until the price is this much lower.'),
  })
  .describe('The amounts of one swap in each direction that ends at a changed price.')

const Depth = z.strictObject({
  data: z.strictObject({
    price: z
      .number()
      .nullable()
      .describe(
        'Of the first token of the pair in the second one: that of the pool, not of a trade. null where none is stored.',
      ),
    time: z.iso
      .datetime({ precision: 0 })
      .meta({ examples: ['2024-01-05T00:00:00Z'] })
      .describe('That of `block`.'),
    block: z.int().min(0).describe('The newest stored block: the pool is as after it.'),
    isComplete: z
      .boolean()
      .describe(
        'Whether all blocks since the creation of the pool are stored and its positions add up to its liquidity in range. If not, positions may be missing, and `levels` is empty.',
      ),
    levels: z.array(DepthLevel).max(5).describe('For 0.1, 0.5, 1, 2 and 5 %, ascending.'),
  }),
  credits_used: z.int().min(1).describe('What the answer cost.'),
})

const example: unknown = JSON.parse(readFileSync(new URL('./example.json', import.meta.url), 'utf8'))

/** The part of the document that is about /v0/depth. */
export const DEPTH_API: AddedApi = {
  operations: {
    '/v0/depth': {
      id: 'depth',
      summary: 'How much moves the price of a pool',
      description:
        'For each percentage the amounts of one swap that ends at that change of the price, computed from the stored liquidity as the contracts do, without the fee. The limit of the swap is the integer square root of the exact changed price, rounded down; of each step of the swap the incoming amount is rounded up, the outgoing one down.',
      credits:
        '1, plus 1 for each network that is searched for a symbol. A refusal that took a search for a pool (`unknown_symbol`, `no_pool`, `unknown_pool`, one token under two names) costs 1, every other error nothing.',
      parameters: DepthShape,
      answer: 'Depth',
      headers: MARKET_HEADERS,
      problems: SEARCHED,
      needsKey: true,
    },
  },
  schemas: { Depth, DepthLevel, DepthAmounts },
  examples: { depth: example as { request: string; body: unknown } },
}
