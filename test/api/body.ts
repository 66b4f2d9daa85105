/** The answers as the interface has them, field by field: written from the interface, not from the code. */
import { z } from 'zod'

const Time = z.string().regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/)
const Decimal = z.string().regex(/^-?\d+(\.\d+)?$/)
const Credits = z.int().min(1)
const Count = z.int().min(0)

const Candle = z.strictObject({
  time: Time,
  open: z.number(),
  high: z.number(),
  low: z.number(),
  close: z.number(),
  volume: z.number(),
})

export const Candles = z.strictObject({
  data: z.array(Candle),
  credits_used: Credits,
  warning: z.strictObject({ message: z.string(), documentation_url: z.url(), tip: z.string() }).optional(),
})

export const CandlesWithFlow = Candles.extend({
  data: z.array(
    Candle.extend({
      ...{ trades: Count, buys: Count, sells: Count },
      ...{ volumeBase: z.number(), volumeQuote: z.number(), volumeUsd: z.number(), buyVolume: z.number() },
      vwap: z.number().nullable(),
    }),
  ),
})

const Token = z.strictObject({ symbol: z.string(), name: z.string(), address: z.string(), decimals: z.int() })

const Pool = z.strictObject({
  id: z.string().regex(/^0x([0-9a-f]{40}|[0-9a-f]{64})$/),
  network: z.enum(['ethereum', 'arbitrum', 'polygon', 'base', 'optimism']),
  protocolVersion: z.enum(['dex-v3', 'dex-v4']),
  feeTier: z.string().regex(/^\d+$/),
  liquidity: z.string().regex(/^\d+$/),
  sqrtPrice: z.string().regex(/^\d+$/),
  volumeUSD: Decimal,
  txCount: z.string().regex(/^\d+$/),
  totalValueLockedUSD: Decimal,
  token0: Token,
  token1: Token,
})

export const Pools = z.strictObject({ data: z.array(Pool), credits_used: Credits })

const MarketPool = Pool.extend({
  price: z.number().nullable(),
  change24h: z.number().nullable(),
  volumeUSD24h: Decimal,
  firstSeen: Time,
  venue: z.enum(['uniswap', 'sushi', 'pancake', 'slipstream', 'algebra']),
  hooks: z
    .string()
    .regex(/^0x[0-9a-f]{40}$/)
    .nullable(),
  hookDeltas: z.boolean(),
})

/** With `include=market`. */
export const MarketPools = z.strictObject({ data: z.array(MarketPool), credits_used: Credits })

const Tick = z.strictObject({
  id: z.string().regex(/^0x[0-9a-f]{64}-\d+$/),
  timestamp: Time,
  price: z.number(),
  side: z.enum(['buy', 'sell']),
  amount0: Decimal,
  amount1: Decimal,
  amountUSD: z.number(),
  token0: z.string(),
  token1: z.string(),
})

export const Ticks = z.strictObject({ data: z.array(Tick), credits_used: Credits })

const Sender = z
  .string()
  .regex(/^0x[0-9a-f]{40}$/)
  .nullable()

/** With `include=position,sender`. */
export const PlacedTicks = z.strictObject({
  data: z.array(Tick.extend({ block: Count, logIndex: Count, sender: Sender })),
  credits_used: Credits,
})

/** With `include=hooks`. */
export const HookedTicks = z.strictObject({
  data: z.array(
    Tick.extend({
      hookAmount0: Decimal.nullable(),
      hookAmount1: Decimal.nullable(),
      effectivePrice: z.number().nullable(),
    }),
  ),
  credits_used: Credits,
})

const Window = { used: Count, limit: Count, remaining: Count, reset_at: Time }

export const Usage = z.strictObject({
  credits: z.strictObject({
    minute: z.strictObject(Window),
    month: z.strictObject({ ...Window, billing_period_start: Time.nullable() }),
  }),
  api_calls: z.strictObject({ minute: z.strictObject({ used: Count }), month: z.strictObject({ used: Count }) }),
  subscription_plan: z.string(),
})

export const ProblemBody = z.strictObject({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  code: z.string(),
  message: z.string(),
  request_id: z.uuid(),
  errors: z.array(z.strictObject({ field: z.string(), message: z.string() })).optional(),
})
