/** Unusual requests, some of them valid, for fuzzing. */
import fc from 'fast-check'
import { ofExtras } from '../support/extras.ts'

export type Question = { method: string; path: string; headers: Record<string, string> }

const words = (text: string) => text.split(' ')
/** Lone surrogates become replacement characters. */
const wellFormed = (text: string) => Buffer.from(text).toString()

const NAMES = words('symbol pool interval from to networks limit fill price')
const ODD_NAMES = [
  ...words('__proto__ constructor prototype toString hasOwnProperty constructor.prototype [] . Limit'),
  '',
  '\u0000',
]
const NESTED = words('[] [0] [__proto__] [a][b] .x [ %5B%5D')
const ODD_VALUES = [
  ...words('% %zz %ff%fe ../../etc/passwd {x:String} <script> $(id) 0x10 007 1e400 NaN Infinity -1 now null'),
  ...['', ' ', '\u0000', '\ud800', '\r\nX-Evil: 1', "' OR 1=1 --", '１h', '١', '99999999999999999999'],
]
const VALUES = {
  symbol: words(`WETH-USDC usdc-eth ETH-WETH PEPE-WETH WBTC-WETH DÜST-WETH - -- A-B-C-D WETH-USDC- '-" a-__proto__`),
  interval: words('1s 45s 7m 1h 1d 24h 0m 25h 1.5h 86401s 99999999999999999999s d'),
  time: words(
    '2024-01-05 2024-01-05T01:00:00Z 0000-01-01 9999-12-31T23:59:59-23:59 2024-02-30 2016-12-31T23:59:60Z 1970-01-01T00:00:00.0000000001Z',
  ),
  networks: ['ethereum', 'arbitrum,ethereum', ' base , optimism ', 'ethereum,', ',', 'ETHEREUM', 'polygon,polygon'],
  limit: words('1 5 100 1000 0'),
  fill: words('none previous None'),
  price: words('spot execution mid'),
}
const HEADERS = words(
  'If-None-Match If-Modified-Since If-Match Accept Accept-Encoding Accept-Language Range Origin Cache-Control Cookie X-Forwarded-For X-Forwarded-Host X-HTTP-Method-Override Content-Type Authorization Referer X-Request-Id Access-Control-Request-Method Expect',
)
const METHODS = words('HEAD OPTIONS POST PUT DELETE PATCH TRACE PROPFIND QUERY M-SEARCH')
const ROUTES = [
  ...words('/v0/candles /v0/ticks /v0/pools /v0/usage /v0/health'),
  ...ofExtras('/v0/depth', '/v0/pools/top', '/v0/pools/new'),
]
const ODD_ROUTES = words(
  '/page /page/ /v0 /V0/Candles/ /v0//candles /v0/candles/.. /v0/%63andles /v0/candles%00 /v0/% /v0/%ff /v0/candles;x=1 /__proto__ //v0/candles /v0/../v0/usage *',
)

/** Now and then the odd one. */
function mostly<T>(usual: fc.Arbitrary<T>, ...odd: readonly fc.Arbitrary<T>[]): fc.Arbitrary<T> {
  return fc.oneof({ weight: odd.length * 8, arbitrary: usual }, ...odd)
}

/** Ways to write a text in an address, the last of them no way at all. */
const encoding = fc.constantFrom(
  (text: string) => encodeURIComponent(wellFormed(text)),
  (text: string) => encodeURIComponent(wellFormed(text)).replaceAll('%20', '+'),
  (text: string) => [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''),
  (text: string) => text.replace(/[^!-~]|#/gu, ''),
)

/** A good question about one of these: a symbol or a pool, as `symbol=…`. */
function goodQuery(named: readonly string[]): fc.Arbitrary<string> {
  return fc
    .tuple(
      fc.constantFrom(...named),
      fc.integer({ min: 1, max: 86_400 }).map((seconds) => `interval=${seconds}s`),
      fc.constantFrom('', 'from=2024-01-05', 'from=2015-07-30T00:00:00%2B00:00'),
      fc.constantFrom('', 'to=2024-01-05T01:30:00.5Z', 'to=9999-12-31'),
      fc.integer({ min: 1, max: 100 }).map((limit) => `limit=${limit}`),
      fc.constantFrom('', 'fill=none', 'price=spot'),
    )
    .map((parts) => parts.join('&'))
}

/** Each value near what its parameter takes. */
function nearQuery(pools: readonly string[]): fc.Arbitrary<string> {
  const time = fc.constantFrom(...VALUES.time)
  const fields = {
    symbol: fc.constantFrom(...VALUES.symbol),
    pool: fc.constantFrom(...pools, `0x${'0'.repeat(64)}`, '0x'),
    interval: fc.constantFrom(...VALUES.interval),
    from: time,
    to: time,
    networks: fc.constantFrom(...VALUES.networks),
    limit: fc.constantFrom(...VALUES.limit),
    fill: fc.constantFrom(...VALUES.fill),
    price: fc.constantFrom(...VALUES.price),
  }
  return fc.record(fields, { requiredKeys: [] }).map((query) => new URLSearchParams(query).toString())
}

function oddQuery(): fc.Arbitrary<string> {
  const name = mostly(
    fc.constantFrom(...NAMES),
    fc.constantFrom(...ODD_NAMES),
    fc.string({ unit: 'binary', maxLength: 8 }),
  )
  const value = fc.oneof(
    fc.constantFrom(...Object.values(VALUES).flat()),
    fc.constantFrom(...ODD_VALUES),
    fc.string({ unit: 'grapheme', maxLength: 20 }),
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.bigInt().map(String),
    fc.double().map(String),
  )
  const pair = fc
    .tuple(name, mostly(fc.constant(''), fc.constantFrom(...NESTED)), value, encoding, encoding)
    .map(([left, nested, right, one, other]) => `${one(left)}${nested}=${other(right)}`)
  return fc.array(pair, { maxLength: 8 }).map((pairs) => pairs.join('&'))
}

/** The page at / is no operation of the document. */
const elsewhere = fc.webPath().filter((path) => !/^\/*$/.test(path))

export function oddQuestions(options: {
  key: string
  /** A valid value, such as `symbol=A-B`. */
  named: readonly string[]
  pools: readonly string[]
}): fc.Arbitrary<Question> {
  const { key, named, pools } = options
  const path = mostly(fc.constantFrom(...ROUTES), fc.constantFrom(...ODD_ROUTES), elsewhere)
  const query = mostly(
    fc.oneof(goodQuery(named), { weight: 2, arbitrary: nearQuery(pools) }, { weight: 3, arbitrary: oddQuery() }),
    fc.constantFrom('&', '=', '&&=&', '?', `x=${'y'.repeat(9_000)}`),
  )
  const headerValue = fc.oneof(
    fc.stringMatching(/^[ -~]{0,30}$/),
    fc.constantFrom('*', 'W/"x"', '"a", "b"', 'gzip;q=9', 'bytes=0-5'),
  )
  const headers = fc.dictionary(
    mostly(fc.constantFrom(...HEADERS), fc.stringMatching(/^X-[A-Za-z0-9_]{1,10}$/)),
    headerValue,
    { maxKeys: 4 },
  )
  const method = mostly(fc.constant('GET'), fc.constantFrom(...METHODS))
  return fc
    .record({ method, path, query, headers, withKey: mostly(fc.constant(true), fc.constant(false)) })
    .map((one) => ({
      method: one.method,
      path: one.query === '' ? one.path : `${one.path}?${one.query}`,
      headers: one.withKey ? { ...one.headers, 'X-API-KEY': key } : one.headers,
    }))
}

/** Bytes that are a request, nearly one, or none. */
export const ODD_BYTES: fc.Arbitrary<string> = fc
  .tuple(
    fc.constantFrom(
      'GET /v0/health HTTP/1.1',
      'GET /v0/health HTTP/1.0',
      'GET /v0/health',
      'GET  HTTP/1.1',
      'FOO /v0/health HTTP/9.9',
      'PRI * HTTP/2.0',
      '\u0000',
    ),
    fc.array(
      fc.constantFrom(
        ...['Host: x', 'Host:', 'Host: a b', 'Host: <x>', 'X', ': y', 'X-A: \u0001', `X-Long: ${'x'.repeat(20_000)}`],
        ...['Content-Length: x', 'Content-Length: 5', 'Transfer-Encoding: chunked', 'Transfer-Encoding: x'],
        ...['Connection: close', 'Expect: 100-continue', 'Expect: x', 'Upgrade: websocket', 'Connection: Upgrade'],
      ),
      { maxLength: 4 },
    ),
  )
  .map(([line, headers]) => `${[line, ...headers].join('\r\n')}\r\n\r\n`)
