/** The headers of our answers, each with what it says. */

export type HeaderName = keyof typeof HEADERS

const text = { type: 'string' } as const

export const HEADERS = {
  'X-Request-Id': {
    description: 'Names this request: tell it to the operator when something is wrong.',
    required: true,
    schema: { type: 'string', format: 'uuid' },
  },
  'Cache-Control': { description: 'Whether the answer may be kept.', required: true, schema: text },
  ETag: {
    description: 'There where the range is over: send it back in `If-None-Match`. A 304 costs what its 200 costs.',
    schema: text,
  },
  'X-Market-Network': { description: 'The network of the pool that answered.', required: true, schema: text },
  'X-Market-Pool': { description: 'The id of the pool that answered.', required: true, schema: text },
  'X-Market-Pair': {
    description: 'The pair as answered; what is not ASCII in it is percent-encoded.',
    required: true,
    schema: text,
  },
  'X-Market-Lead': {
    description:
      'There where the pool with most volume does not answer a symbol: `deviating-price` (its prices in the range are more than 1 % from those of the pair) or `unheld-volume` (its volume is more than what it held over the day, and another counts for more), and its id, as `reason; passed-over=id`.',
    schema: text,
  },
  'X-Market-Incomplete': {
    description:
      'There where not all of the range is stored: `from/to` of each part that is not, oldest first, separated by commas.',
    schema: text,
  },
  'X-API-Suggestion': {
    description: 'There where `symbol` is asked for: the pool that would cost fewer credits.',
    schema: text,
  },
  'X-Candlepool-Devnet': {
    description: '`true` where the chain is a local stand-in: its trades are made up.',
    schema: { type: 'string', const: 'true' },
  },
  'WWW-Authenticate': { description: 'How to authenticate.', required: true, schema: text },
  'Retry-After': {
    description: 'Seconds to wait before asking again.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
  },
  RateLimit: {
    description:
      'There where the key is good: what is left of each window, this answer paid, and when it ends, in seconds.',
    schema: text,
  },
  'RateLimit-Policy': {
    description: 'There where the key is good: the credits of each window, and its length in seconds.',
    schema: text,
  },
  Allow: { description: 'The methods that are taken.', required: true, schema: text },
} as const satisfies Record<string, { description: string; required?: true; schema: object }>
