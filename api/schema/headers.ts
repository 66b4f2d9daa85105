/** The response headers with their descriptions. */

export type HeaderName = keyof typeof HEADERS

const text = { type: 'string' } as const

export const HEADERS = {
  'X-Request-Id': {
    description: 'Identifies this request: quote it in a report to the operator.',
    required: true,
    schema: { type: 'string', format: 'uuid' },
  },
  'Cache-Control': { description: 'Whether the answer may be kept.', required: true, schema: text },
  ETag: {
    description:
      'Present where the range is complete: send it back in `If-None-Match`. A 304 costs what its 200 costs.',
    schema: text,
  },
  'X-Market-Network': { description: 'The network of the pool that answered.', required: true, schema: text },
  'X-Market-Venue': { description: 'The exchange whose factory made that pool.', required: true, schema: text },
  'X-Market-Hook-Deltas': {
    description:
      'Present where the hook of the pool that answered may take or give tokens beside a swap: amounts and prices are those of the pool, not all that an account paid.',
    schema: { type: 'string', const: 'true' },
  },
  'X-Market-Pool': { description: 'The id of the pool that answered.', required: true, schema: text },
  'X-Market-Pair': {
    description: 'The pair as answered; characters beyond ASCII are percent-encoded.',
    required: true,
    schema: text,
  },
  'X-Market-Lead': {
    description:
      'Present where the pool with most volume does not answer a symbol: `deviating-price` (its prices in the range are more than 1 % from those of the pair) or `unheld-volume` (its volume is more than what it held over the day, and another counts for more), and its id, as `reason; passed-over=id`.',
    schema: text,
  },
  'X-Market-Lead-Pool': {
    description:
      'Present where the pair has a pool: `network/id` of the one that leads it on all networks over the last 24 hours. The most valuable pool may have a price of its own.',
    schema: text,
  },
  'X-Market-More-Pools': {
    description:
      'Present where the pair has more pools than the answer: how many, all of them worth no more than its last one.',
    schema: { type: 'integer', minimum: 1 },
  },
  'X-Market-Final-Until': {
    description:
      'Present where the chain says what is final: a reorg cannot change a tick before this time, nor a candle that ends by it.',
    schema: text,
  },
  'X-Market-Incomplete': {
    description:
      'Present where parts of the range are not stored: `from/to` of each, oldest first, separated by commas.',
    schema: text,
  },
  'X-Market-Unproven': {
    description:
      'Present where the endpoints of the network answer different logs of blocks in the range, and none of them proves its own: `from/to` of each block, likewise. They are asked again every ten minutes.',
    schema: text,
  },
  'X-Credits-Used': { description: 'Present where the answer is bare rows: what it cost.', schema: text },
  'X-API-Suggestion': {
    description: 'Present where the query has `symbol`: the query by pool that costs fewer credits.',
    schema: text,
  },
  'X-Candlepool-Devnet': {
    description: '`true` where the chain is a local stand-in: its trades are made up.',
    schema: { type: 'string', const: 'true' },
  },
  'WWW-Authenticate': { description: 'How to authenticate.', required: true, schema: text },
  'Retry-After': {
    description: 'Seconds to wait before the next request.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
  },
  RateLimit: {
    description:
      'Present for a valid key: the credits left in each window after this answer, and the seconds until its end.',
    schema: text,
  },
  'RateLimit-Policy': {
    description: 'Present for a valid key: the credits of each window, and its length in seconds.',
    schema: text,
  },
  Allow: { description: 'The allowed methods.', required: true, schema: text },
} as const satisfies Record<string, { description: string; required?: true; schema: object }>
