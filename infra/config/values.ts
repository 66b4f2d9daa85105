/** Kinds of values that several variables have. */
import { z } from 'zod'
import { isProxyAddress, type TrustedProxies } from '../../api/http/client-address.ts'
import { parseStart } from '../../ingest/follow/start-block.ts'

/** Comma separated. */
export const list = z.string().transform((text) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
)

/** A list of at least one. */
export const listOf = <Item extends z.ZodType<unknown, string>>(item: Item, ifEmpty: string) =>
  list.pipe(z.array(item).nonempty(ifEmpty))

export const matching = (pattern: RegExp, rule: string) => z.string().regex(pattern, rule)

/** `pattern` takes digits only. */
export const numberUpTo = (max: number, pattern: RegExp, rule: string) =>
  matching(pattern, rule)
    .transform(Number)
    .refine((it) => it <= max, rule)

/** A percentage of `what`, as a fraction. */
export const shareOf = (what: string) =>
  matching(
    /^(100|\d{1,2}(\.\d{1,2})?)%?$/,
    `is not a share of ${what} from \`0\` to \`100%\`, such as \`2%\``,
  ).transform((text) => Number.parseFloat(text) / 100)

const ORIGIN = /^https?:\/\/(?:[a-z0-9._-]+|\[[0-9a-f:]+\])(?::\d+)?$/
const NO_ORIGIN = 'is not a list of origins such as https://example.org, each without a path'

/** As browsers write it: it becomes part of a header, and is compared with the origin of messages. */
export const origin = z
  .string()
  .toLowerCase()
  .regex(ORIGIN, NO_ORIGIN)
  .refine((text) => URL.canParse(text) && new URL(text).origin === text, NO_ORIGIN)

const NO_PROXIES =
  'is neither a number of proxies from 1 to 32 nor a list of their addresses, such as 10.0.0.0/8, loopback or uniquelocal'

/** As `trust proxy` of Express, without the value that trusts every address: a client could then claim any. */
export const trustedProxies = z.union(
  [
    matching(/^([1-9]|[12]\d|3[0-2])$/, NO_PROXIES).transform((text): TrustedProxies => ({ hops: Number(text) })),
    listOf(z.string().refine(isProxyAddress, NO_PROXIES), NO_PROXIES).transform(
      (addresses): TrustedProxies => ({ addresses }),
    ),
  ],
  NO_PROXIES,
)

export const start = z.string().transform((text, context) => {
  const parsed = parseStart(text)
  if (parsed) return parsed
  context.addIssue('is not a block number, `latest`, `-5000` (blocks before the head) or a duration such as `24h`')
  return z.NEVER
})

const POOL = /^0x([0-9a-f]{40}|[0-9a-f]{64})$/
const NO_POOL = 'holds something that is neither a v3 pool address (20 bytes) nor a v4 pool id (32 bytes)'

export const poolId = z.string().toLowerCase().regex(POOL, NO_POOL)
