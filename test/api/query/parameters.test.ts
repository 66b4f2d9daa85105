import { expect, test } from 'vitest'
import { Problem } from '../../../api/lib/problem.ts'
import { parseParameters } from '../../../api/query/parameters.ts'
import { candleRange, readCandleQuery, readPoolQuery, readTickQuery, tickRange } from '../../../api/query/query.ts'

const POOL = '0x88e6A0c2dDD26FEEb64F039a2c41296FcB3f5640'

function errorsOf(read: () => unknown): Record<string, string> {
  try {
    read()
  } catch (error) {
    if (error instanceof Problem && error.code === 'invalid_parameters')
      return Object.fromEntries((error.errors ?? []).map(({ field, message }) => [field, message]))
    throw error
  }
  return {}
}

const candles = (query: string) => readCandleQuery(parseParameters(query))
const ticks = (query: string) => readTickQuery(parseParameters(query))

test('defaults are those of the interface', () => {
  expect(candles(`pool=${POOL}&interval=1h`)).toEqual({
    pool: POOL.toLowerCase(),
    interval: 3_600,
    limit: 5,
    fill: 'previous',
    price: 'execution',
  })
  expect(ticks('symbol=WETH-USDC').limit).toBe(100)
})

test('unknown parameters are ignored', () => {
  expect(candles(`pool=${POOL}&interval=1h&page=2&page=3&x[]=1`).interval).toBe(3_600)
})

test('all bad parameters are told at once, each with its rule', () => {
  expect(
    errorsOf(() => candles('interval=2d&from=yesterday&to=&networks=ethereum,bsc&limit=0&fill=zero&price=mid')),
  ).toMatchInlineSnapshot(`
    {
      "fill": "must be previous or none",
      "from": "must be an RFC 3339 time such as 2024-01-05T00:00:00Z or 2024-01-05T01:00:00.5+01:00, or a date such as 2024-01-05",
      "interval": "must be a whole number and a unit (s, m, h or d), at most 1d in all: 45s, 7m, 4h, 1d",
      "limit": "must be a whole number from 1 to 100",
      "networks": "must be a comma-separated list of ethereum, arbitrum, polygon, base, optimism",
      "price": "must be execution, spot or usd",
      "symbol": "is required, or pool: ask for one of them",
      "to": "must not be empty",
    }
  `)
})

test.each([
  ['limit=1&limit=2', 'limit'],
  ['limit[]=1', 'limit'],
  ['limit[a]=1', 'limit'],
  ['limit%5B%5D=1', 'limit'],
  ['limit=1&limit[]=2', 'limit'],
  ['limit=', 'limit'],
  ['limit', 'limit'],
  ['limit=101', 'limit'],
  ['limit=1.0', 'limit'],
  ['limit=1e1', 'limit'],
  ['limit=-1', 'limit'],
  ['limit=+5', 'limit'],
  ['networks=', 'networks'],
  ['networks=ethereum,', 'networks'],
  ['networks=Ethereum', 'networks'],
  ['networks=ethereum&networks=base', 'networks'],
  ['symbol=', 'symbol'],
  ['from=2024-01-05&from=2024-01-06', 'from'],
  ['from=2024-01-05&to=2024-01-05', 'from'],
  ['from=2024-01-05T00:00:00.5Z&to=2024-01-05T00:00:00.4Z', 'from'],
  ['to=1704412800', 'to'],
])('%s is refused for %s', (query, field) => {
  expect(Object.keys(errorsOf(() => candles(`pool=${POOL}&interval=1h&${query}`)))).toContain(field)
})

test('a query names a symbol, a pool, or both', () => {
  expect(errorsOf(() => candles('interval=1h'))).toHaveProperty('symbol')
  expect(candles(`interval=1h&symbol=WETH-USDC&pool=${POOL}`)).toMatchObject({
    pool: POOL.toLowerCase(),
    symbol: { text: 'WETH-USDC' },
  })
})

test('pools are asked for by symbol or by pool, not by both', () => {
  expect(readPoolQuery(parseParameters(`pool=${POOL}`))).toEqual({ pool: POOL.toLowerCase() })
  expect(errorsOf(() => readPoolQuery(parseParameters('')))).toHaveProperty('symbol')
  expect(errorsOf(() => readPoolQuery(parseParameters(`symbol=WETH-USDC&pool=${POOL}`)))).toHaveProperty('pool')
  expect(errorsOf(() => readPoolQuery(parseParameters('pool=0x12')))).toHaveProperty('pool')
})

test.each(['WETH', 'WETH-', '-WETH', '-', 'WETH-WETH', 'weth-WETH', 'WETH- USDC', ' -USDC', 'WETH/USDC'])(
  '%j names no pair',
  (symbol) => expect(errorsOf(() => ticks(`symbol=${encodeURIComponent(symbol)}`))).toHaveProperty('symbol'),
)

test.each([
  ['weth/usdc', 'WETH-USDC'],
  ['WETHUSDC', 'WETH-USDC'],
])('%s names no pair, and the error names the one that is meant', (symbol, meant) =>
  expect(errorsOf(() => ticks(`symbol=${encodeURIComponent(symbol)}`))).toMatchObject({
    symbol: expect.stringContaining(`did you mean ${meant}?`),
  }),
)

test.each(['0x88e6', `${POOL}00`, POOL.slice(2), `${POOL.slice(0, -1)}g`])('%s is no pool', (pool) =>
  expect(errorsOf(() => ticks(`pool=${pool}`))).toHaveProperty('pool'),
)

test('networks keep the order asked, each once', () => {
  expect(ticks(`pool=${POOL}&networks=base,ethereum,base`).networks).toEqual(['base', 'ethereum'])
})

test('a raw plus sign in a time is understood', () => {
  const { from } = ticks(`pool=${POOL}&from=2024-01-05T01:00:00+01:00`)
  expect(from).toEqual({ seconds: Date.UTC(2024, 0, 5) / 1000, fraction: '' })
})

test('candles without from start so many intervals before to, and ticks an hour', () => {
  const now = { seconds: 100_000, fraction: '5' }
  expect(candleRange(candles(`pool=${POOL}&interval=1m&limit=7`), now)).toEqual({ from: 100_001 - 420, to: 100_001 })
  expect(tickRange(ticks(`pool=${POOL}`), now)).toEqual({ from: 96_401, to: 100_001 })
})

test.each([
  ['symbol', `a${'-'.repeat(8_000)}b`],
  ['symbol', `${'a-'.repeat(4_000)}b`],
  ['symbol', `${'x'.repeat(200)}-${'y'.repeat(57)}`],
  ['pool', `0x${'0'.repeat(8_000)}`],
  ['interval', '1'.repeat(8_000)],
  ['from', `2024-01-05T00:00:00.${'0'.repeat(7_999)}1Z`],
  ['to', `2024-01-05T00:00:00.${'0'.repeat(7_999)}1Z`],
  ['limit', '1'.repeat(8_000)],
  ['networks', `ethereum${' '.repeat(8_000)}`],
  ['networks', Array(800).fill('ethereum').join()],
  ['fill', 'x'.repeat(8_000)],
  ['price', 'x'.repeat(8_000)],
])('the length of %s is bounded', (name, text) => {
  const errors = errorsOf(() => candles(new URLSearchParams([[name, text]]).toString()))
  expect(errors[name]).toBe('must have at most 257 characters')
})

test('two of the longest symbols that a token can have make a pair', () => {
  const [base, quote] = ['\u{1F40B}'.repeat(64), '\u{1F42C}'.repeat(64)]
  const { symbol } = readTickQuery(parseParameters(`symbol=${encodeURIComponent(`${base}-${quote}`)}`))
  expect(symbol?.splits).toEqual([{ base, quote }])
})
