/** The operations /v0/pools/top and /v0/pools/new: their parameters, and their part of the OpenAPI document. */
import { readFileSync } from 'node:fs'
import type { Address } from 'viem'
import { z } from 'zod'
import { VENUE_NAMES, type VenueName } from '../../../ingest/model/venue.ts'
import { CHANGE_PERIODS, type ChangePeriod } from '../../market/pools/pool-figures.ts'
import { UNIT_SECONDS } from '../../query/interval.ts'
import { field, invalidParameters, type RawParameters, readQuery } from '../../query/parameters.ts'
import { limit, TickShape } from '../../query/query.ts'
import { SCHEMAS } from '../../schema/answers.ts'
import type { AddedApi } from '../../schema/openapi.ts'
import { STORED } from '../../schema/operations.ts'
import { type Cursor, GROUPINGS, nameOf, readCursor, SORTS } from './order.ts'

export const MAX_ROWS = 100
const USUAL_ROWS = 20

const VENUE = `\\s*(?:${VENUE_NAMES.join('|')})\\s*`
const VENUES = new RegExp(`^${VENUE}(?:,${VENUE})*$`)

function parseVenues(text: string): readonly VenueName[] | undefined {
  if (!VENUES.test(text)) return undefined
  const asked = text.split(',').map((part) => part.trim())
  return VENUE_NAMES.filter((name) => asked.includes(name))
}

/** At most 27 years in days. */
const AGE = /^[1-9][0-9]{0,3}[smhd]$/

function parseAge(text: string): number | undefined {
  return AGE.test(text) ? Number(text.slice(0, -1)) * (UNIT_SECONDS[text.slice(-1)] ?? 0) : undefined
}

const AMOUNT = /^[0-9]{1,15}(?:\.[0-9]{1,6})?$/
const CHANGE = /^-?[0-9]{1,9}(?:\.[0-9]{1,9})?$/
const ADDRESS = /^0x[0-9a-fA-F]{40}$/
const CURSOR = /^[\w-]{1,256}$/

const numberIn = (pattern: RegExp) => (text: string) => (pattern.test(text) ? Number(text) : undefined)
const age = field('a whole number and a unit (s, m, h or d), such as 12h or 7d', parseAge, {
  pattern: AGE.source,
  examples: ['12h', '7d'],
})
const change = field('a decimal number, such as 0.05 or -0.1', numberIn(CHANGE), {
  pattern: CHANGE.source,
  examples: ['0.05', '-0.1'],
})
const periods = Object.keys(CHANGE_PERIODS) as [ChangePeriod, ...ChangePeriod[]]

const FILTERS = {
  networks: TickShape.shape.networks.describe('Pools of these networks alone. If not given, of all that are read.'),
  venues: field(`a comma-separated list of ${VENUE_NAMES.join(', ')}`, parseVenues, {
    pattern: VENUES.source,
    examples: ['uniswap', 'uniswap,sushi'],
  })
    .optional()
    .describe('Pools of these exchanges alone.'),
  minHeldUSD: field('an amount in US dollars, such as 10000', numberIn(AMOUNT), {
    pattern: AMOUNT.source,
    examples: ['10000'],
  })
    .optional()
    .describe('Pools whose `heldUSD24h` is this or more.'),
  minAge: age.optional().describe('Pools whose `firstSeen` is so long ago, or longer.'),
  maxAge: age.optional().describe('Pools whose `firstSeen` is so long ago, or less.'),
  minChange: change
    .optional()
    .describe('Pools whose price changed by this or more over `changeOver`: 0.05 is 5 %, -0.1 is −10 %.'),
  maxChange: change.optional().describe('Pools whose price changed by this or less, likewise.'),
  changeOver: z
    .enum(periods, { error: `must be ${periods.slice(0, -1).join(', ')} or ${periods.at(-1)}` })
    .default('24h')
    .describe('The time of `minChange`, `maxChange`, and the sorts `gain` and `loss`.'),
}

const sort = (usual: (typeof SORTS)[number]) =>
  z
    .enum(SORTS, { error: `must be ${SORTS.slice(0, -1).join(', ')} or ${SORTS.at(-1)}` })
    .default(usual)
    .describe(
      '`volume`: of 24 hours, of each pool no more than its `heldUSD24h`, since trades with oneself are free. `value`: `totalValueLockedUSD`. `gain`, `loss`: the largest change over `changeOver`, up or down; pools that held less than $10,000 over the day follow all others, and those without a change are left out. `newest`: `firstSeen`.',
    )

const PAGE = {
  limit: limit(MAX_ROWS, USUAL_ROWS).describe('How many rows at most.'),
  cursor: field('the next_cursor of an answer', (text) => (CURSOR.test(text) ? readCursor(text) : undefined), {
    pattern: CURSOR.source,
    examples: ['WyJ2b2x1bWUgcG9vbCIsImV0aGVyZXVtOjB4ODhlNiIsMSwxXQ'],
  })
    .optional()
    .describe('The rows that follow those of the answer with this `next_cursor`.'),
}

export const TopPoolsShape = z.object({
  token: field('one address: 0x and 40 hex digits', readAddress, {
    pattern: ADDRESS.source,
    examples: ['0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'],
  })
    .optional()
    .describe(
      'Pools of this token. Of a curated token those with another curated one, of any other token at most 100, whose `buys24h` and `sells24h` are not counted.',
    ),
  ...FILTERS,
  per: z
    .enum(GROUPINGS, { error: 'must be pool or pair' })
    .default('pool')
    .describe(
      '`pair`: one row for the pools of two curated symbols, on all networks: the pool that held most, and the field `pair` with the sums. Filters choose pools before these are put together.',
    ),
  sort: sort('volume'),
  ...PAGE,
})

export const NewPoolsShape = z.object({ ...FILTERS, sort: sort('newest'), ...PAGE })

export type TopPoolsQuery = z.output<typeof TopPoolsShape>

export function readTopPoolsQuery(parameters: RawParameters): TopPoolsQuery {
  return withOwnCursor(readQuery(TopPoolsShape, parameters))
}

export function readNewPoolsQuery(parameters: RawParameters): TopPoolsQuery {
  return withOwnCursor({ token: undefined, per: 'pool', ...readQuery(NewPoolsShape, parameters) })
}

/** The place in one order is none in another. */
function withOwnCursor(query: TopPoolsQuery): TopPoolsQuery {
  const cursor: Cursor | undefined = query.cursor
  if (cursor === undefined || cursor.order === nameOf(query)) return query
  throw invalidParameters([{ field: 'cursor', message: 'must be of an answer with the same sort, per and changeOver' }])
}

function readAddress(text: string): Address | undefined {
  return ADDRESS.test(text) ? (text.toLowerCase() as Address) : undefined
}

const dollars = (meaning: string) =>
  z
    .string()
    .regex(/^[0-9]+(?:\.[0-9]+)?$/)
    .describe(meaning)
const swaps = (meaning: string) => z.int().min(0).nullable().describe(`${meaning} null where they were not counted.`)
const changeIn = (period: string) =>
  z.number().nullable().describe(`That of the price over ${period}, 0.01 is 1 %; null where there was none before.`)

const PairSums = z
  .strictObject({
    pools: z.int().min(1).describe('Their number.'),
    volumeUSD24h: dollars('Over the last 24 hours.'),
    totalValueLockedUSD: dollars('Now.'),
    heldUSD24h: dollars('On average over the last 24 hours.'),
    buys24h: swaps('Swaps in which the taker received the first token of `symbol`.'),
    sells24h: swaps('The others.'),
  })
  .describe('Sums over the pools of a pair that the filters leave.')

const { price, change24h, volumeUSD24h, firstSeen, venue, hooks, hookDeltas } = SCHEMAS.Pool.shape

/** The field as in an answer that always has it. */
function always<Type extends z.ZodType>(optional: z.ZodOptional<Type>): Type {
  const meaning = optional.description?.replace('With `include=market`: ', '') ?? ''
  return optional.unwrap().describe(meaning.charAt(0).toUpperCase() + meaning.slice(1)) as Type
}

const ListedPool = SCHEMAS.Pool.extend({
  price: always(price),
  change24h: always(change24h),
  volumeUSD24h: always(volumeUSD24h),
  firstSeen: always(firstSeen),
  venue: always(venue),
  hooks: always(hooks),
  hookDeltas: always(hookDeltas),
  change1h: changeIn('the last hour'),
  change5m: changeIn('the last five minutes'),
  heldUSD24h: dollars(
    'The value on average over the last 24 hours, weighted by time: liquidity of one block counts nothing.',
  ),
  buys24h: swaps('Swaps of the last 24 hours in which the taker received token0.'),
  sells24h: swaps('The other swaps of the last 24 hours.'),
  symbol: z
    .string()
    .describe(
      'token0 and token1, joined by a hyphen. `ETH` is WETH, too, and `POL` is WPOL: all pools of a pair have one name.',
    ),
  isTrusted: z
    .boolean()
    .describe('Whether both tokens are curated. If not, the symbols may be copied: name the pool by its `id`.'),
  pair: PairSums.optional().describe('With `per=pair`.'),
}).describe('A pool with the figures of its last day, in the order on chain. They are at most a minute old.')

const PoolList = z.strictObject({
  data: z.array(ListedPool).max(MAX_ROWS),
  next_cursor: z.string().nullable().describe('`cursor` of the next page; null on the last one.'),
  credits_used: z.int().min(1).describe('What the answer cost.'),
})

export type PoolListBody = z.output<typeof PoolList>

function exampleIn(file: string): { request: string; body: unknown } {
  return JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8'))
}

const SHARED = {
  credits: '1.',
  answer: 'PoolList',
  headers: ['X-Candlepool-Devnet'],
  problems: STORED,
  needsKey: true,
} as const

/** The part of the document that is about the lists. */
export const POOL_LISTS_API: AddedApi = {
  operations: {
    '/v0/pools/top': {
      id: 'topPools',
      summary: 'Pools of curated tokens, or of one token, by volume, value or change',
      description:
        'Of each pair of curated tokens at most 16 pools a network: the most valuable ones where it has very many. Figures are computed once a minute for all requests.',
      parameters: TopPoolsShape,
      ...SHARED,
    },
    '/v0/pools/new': {
      id: 'newPools',
      summary: 'Pools of the last seven days',
      description:
        'Of each network at most the newest 100 pools that were created in the last seven days, have a curated token, and in which curated tokens worth $10,000 are minted, in range, on average over the last day: to create and trade a pool costs next to nothing. The list is at most five minutes old, its figures a minute.',
      parameters: NewPoolsShape,
      ...SHARED,
    },
  },
  schemas: { PoolList, ListedPool, PairSums },
  examples: { topPools: exampleIn('./top-pools.json'), newPools: exampleIn('./new-pools.json') },
}
