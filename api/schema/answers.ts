/** Every body that the service answers with, as schemas: the document at /v0/openapi.json is made of them. */

import { z } from 'zod'
import { NETWORK_NAMES } from '../../ingest/model/network.ts'
import { VENUE_NAMES } from '../../ingest/model/venue.ts'
import { groupBy } from '../lib/group.ts'
import { PROBLEMS, type ProblemCode } from '../lib/problem.ts'

const time = () => z.iso.datetime({ precision: 0 }).meta({ examples: ['2024-01-05T00:00:00Z'] })
const count = () => z.int().min(0)
const whole = () => z.string().regex(/^[0-9]+$/)
const decimal = () => z.string().regex(/^-?[0-9]+(?:\.[0-9]+)?$/)
const network = () => z.enum(NETWORK_NAMES)
const amount = (meaning: string) => z.number().min(0).optional().describe(`With \`include=flow\`: ${meaning}`)
const credits = () => z.int().min(1).describe('What the answer cost.')

const Candle = z
  .strictObject({
    time: time().describe('The start of the candle.'),
    open: z.number().describe('The price of the first trade; in a candle without one, the close before.'),
    high: z.number(),
    low: z.number(),
    close: z.number(),
    volume: z.number().describe('In the second token of the pair; with `price=usd` in dollars.'),
    trades: count().optional().describe('With `include=flow`: the number of swaps.'),
    buys: count().optional().describe('With `include=flow`: swaps whose `side` is `buy`, as GET /ticks has it.'),
    sells: count().optional().describe('With `include=flow`: the others.'),
    volumeBase: amount('in the first token of the pair.'),
    volumeQuote: amount('in the second token: the same as `volume`, but with `price=usd`.'),
    volumeUsd: amount('in US dollars, the sum of what `amountUSD` is rounded from.'),
    buyVolume: amount('the part of `volumeQuote` that was paid for what takers bought; the rest they received.'),
    vwap: z
      .number()
      .nullable()
      .optional()
      .describe(
        'With `include=flow`: the average price, `volumeQuote` / `volumeBase` of the exact sums, with `price=usd` `volumeUsd` / `volumeBase`; null where nothing of the first token was traded.',
      ),
  })
  .describe('What was traded in one interval.')

const Warning = z
  .strictObject({
    message: z.string().describe('Names the pool that answered, and its own order.'),
    documentation_url: z.url().describe('How to use fewer credits.'),
    tip: z.string(),
  })
  .describe('There where `symbol` is asked for: a pool address costs less.')

const Candles = z.strictObject({
  data: z.array(Candle).describe('Ascending in time.'),
  credits_used: credits(),
  warning: Warning.optional(),
})

const Token = z.strictObject({
  symbol: z.string(),
  name: z.string(),
  address: z.string().regex(/^0x[0-9a-f]{40}$/),
  decimals: z.int().min(0).max(255).optional(),
})

const Pool = z
  .strictObject({
    id: z
      .string()
      .regex(/^0x(?:[0-9a-f]{40}|[0-9a-f]{64})$/)
      .describe('A v3 address or a v4 pool id.'),
    network: network(),
    protocolVersion: z.enum(['dex-v3', 'dex-v4']),
    feeTier: whole().describe('In hundredths of a basis point. Where it is dynamic, that of the last swap.'),
    liquidity: whole().describe('In range, now.'),
    sqrtPrice: whole().describe('√(token1/token0) of raw units, times 2^96.'),
    volumeUSD: decimal().describe('Since the first block that is stored.'),
    txCount: whole().describe('Swaps and changes of liquidity since the first block that is stored.'),
    totalValueLockedUSD: decimal(),
    token0: Token,
    token1: Token,
    price: z
      .number()
      .nullable()
      .optional()
      .describe(
        'With `include=market`: of token0 in token1, whichever direction `symbol` names, of the last trade, as its taker paid it, fee included; null before the first.',
      ),
    change24h: z
      .number()
      .nullable()
      .optional()
      .describe('With `include=market`: that of the price, 0.01 is 1 %; null where there was none 24 hours ago.'),
    volumeUSD24h: decimal().optional().describe('With `include=market`: over the last 24 hours.'),
    firstSeen: time().optional().describe('With `include=market`: the time of the first block that is stored of it.'),
    venue: z.enum(VENUE_NAMES).optional().describe('With `include=market`: the exchange whose factory made the pool.'),
    hooks: z
      .string()
      .regex(/^0x[0-9a-f]{40}$/)
      .nullable()
      .optional()
      .describe('With `include=market`: the hook contract of a v4 pool; null without one.'),
    hookDeltas: z
      .boolean()
      .optional()
      .describe(
        'With `include=market`: the hook may take or give tokens beside a swap, so that amounts and prices are not all that an account paid.',
      ),
  })
  .describe('A pool, its tokens in the order on chain.')

const Pools = z.strictObject({
  data: z.array(Pool).max(100).describe('Of all networks, most valuable first.'),
  credits_used: credits(),
})

function hookAmount(token: string) {
  return decimal()
    .nullable()
    .optional()
    .describe(
      `With \`include=hooks\`: what the pool’s hook gave to the taker of ${token} beside the swap, by its own events; negative where it took. With it the amount is all that the taker received or paid. null where the hook may take or give, and its events say nothing.`,
    )
}

const Tick = z
  .strictObject({
    id: z
      .string()
      .regex(/^0x[0-9a-f]{64}-[0-9]+$/)
      .describe('The transaction and the log index.'),
    timestamp: time().describe('That of the block.'),
    price: z.number().describe('Of token0 in token1; with `price=usd` of token0 in dollars.'),
    side: z
      .enum(['buy', 'sell'])
      .describe(
        '`buy` where the taker received token0; where that did not move, token1 decides, and `buy` where neither moved.',
      ),
    amount0: decimal().describe(
      'What the taker received of token0 from the pool; negative where it was paid. What a hook took or gave beside is not in it.',
    ),
    amount1: decimal().describe(
      'What the taker received of token1 from the pool; negative where it was paid. What a hook took or gave beside is not in it.',
    ),
    amountUSD: z.number().min(0).describe('0 where neither token has a price.'),
    token0: z.string().describe('The first symbol of the pair.'),
    token1: z.string().describe('The second symbol of the pair.'),
    block: count().optional().describe('With `include=position`: the number of its block.'),
    logIndex: count().optional().describe('With `include=position`: its place among the logs of the block.'),
    sender: z
      .string()
      .regex(/^0x[0-9a-f]{40}$/)
      .nullable()
      .optional()
      .describe(
        'With `include=sender`: the contract or account that called the pool, most often a router; null in rows of versions that did not keep it.',
      ),
    hookAmount0: hookAmount('token0'),
    hookAmount1: hookAmount('token1'),
    effectivePrice: z
      .number()
      .nullable()
      .optional()
      .describe(
        'With `include=hooks`: of token0 in token1, as the taker paid it in all, the part of the hook included; null where that is not known, or no price. Without such a part, the execution price.',
      ),
  })
  .describe('One swap, as its taker saw it.')

const Ticks = z.strictObject({
  data: z.array(Tick).max(1_000).describe('Ascending by block, and by log index within a block.'),
  credits_used: credits(),
})

const window = { used: count(), limit: count(), remaining: count(), reset_at: time() }

const Usage = z.strictObject({
  credits: z.strictObject({
    minute: z.strictObject(window),
    month: z.strictObject({
      ...window,
      billing_period_start: time().nullable().describe('null where calendar months count.'),
    }),
  }),
  api_calls: z
    .strictObject({ minute: z.strictObject({ used: count() }), month: z.strictObject({ used: count() }) })
    .describe('Every request with a good key is a call, whatever becomes of it.'),
  subscription_plan: z.string(),
})

const Health = z.strictObject({
  status: z.enum(['ok', 'degraded']).describe('degraded: a network has a `reason`; all that is stored is answered.'),
  networks: z.array(
    z.strictObject({
      network: network(),
      devnet: z.boolean().describe('true: a stand-in chain, whose trades are made up.'),
      tip: z
        .strictObject({ number: count(), hash: z.string().regex(/^0x[0-9a-f]{64}$/), time: time() })
        .nullable()
        .describe('The newest block that is stored.'),
      lag_seconds: count().nullable(),
      halted: z
        .strictObject({ stages: z.array(z.enum(['listener', 'aggregator'])), since: time() })
        .nullable()
        .describe('Which stages stand still until the operator acts: no newer block is stored. null: none.'),
      reason: z
        .string()
        .nullable()
        .describe(
          'Why the network is not read or stored as it should be: nothing is stored, its endpoint refuses, it is late, stalled or halted. null: nothing is wrong.',
        ),
    }),
  ),
})

const codes = Object.keys(PROBLEMS) as ProblemCode[]

const FieldError = z.strictObject({ field: z.string(), message: z.string() })

const ErrorAnswer = z
  .strictObject({
    type: z.string().describe('Where to read about the code.'),
    title: z.string(),
    status: z.int(),
    detail: z.string().describe('The same as `message`.'),
    code: z.enum(codes),
    message: z.string().describe('What happened, and what to do.'),
    request_id: z.uuid().describe('The same as the header X-Request-Id.'),
    errors: z.array(FieldError).optional().describe('Every bad parameter with its rule.'),
  })
  .describe('A problem document of RFC 9457, with a code and a request id.')

/** One for each status, whole: generators of clients do not narrow a schema by a second one. */
export const PROBLEM_SCHEMAS: Readonly<Record<string, z.ZodObject>> = Object.fromEntries(
  [...groupBy(codes, (code) => PROBLEMS[code].status)].map(([status, ofStatus]) => [
    problemSchemaName(status),
    ErrorAnswer.extend({ status: z.literal(status), code: z.enum(ofStatus) }).describe(
      `A problem of the status ${status}.`,
    ),
  ]),
)

export function problemSchemaName(status: number): string {
  return `Problem${status}`
}

export const SCHEMAS = {
  Candle,
  Candles,
  Warning,
  Pool,
  Pools,
  Token,
  Tick,
  Ticks,
  Usage,
  Health,
  FieldError,
  Problem: ErrorAnswer,
} as const
export type SchemaName = keyof typeof SCHEMAS
