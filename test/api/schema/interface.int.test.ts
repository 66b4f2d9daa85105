/** The fields of every element of the four operations, in their order: written from the interface, not from the code. */
import { beforeAll, describe, expect, test } from 'vitest'
import { eventsOf } from '../../../api/extras/clients/typescript/src/stream.ts'
import { withoutClickHouse } from '../../support/clickhouse.ts'
import { POOLS } from '../scenario.ts'
import { scenarioServices } from '../scenario-services.ts'
import type { Service } from '../service.ts'

const words = (text: string) => text.split(' ')

const CANDLE = words('time open high low close volume')
const POOL = words(
  'id network protocolVersion feeTier liquidity sqrtPrice volumeUSD txCount totalValueLockedUSD token0 token1',
)
const TOKEN = words('symbol name address decimals')
const TICK = words('id timestamp price side amount0 amount1 amountUSD token0 token1')
const WARNING = words('message documentation_url tip')

const POSITION = words('block logIndex')
const MARKET = words('price change24h volumeUSD24h firstSeen venue hooks hookDeltas')
const HOOKED = words('hookAmount0 hookAmount1 effectivePrice')
const FLOW = words('trades buys sells volumeBase volumeQuote volumeUsd buyVolume vwap')

const CLOSED = `pool=${POOLS.main.id}&from=2024-01-05&to=2024-01-05T01:30:00Z`
const TICKS = `/v0/ticks?${CLOSED}`
const CANDLES = `/v0/candles?${CLOSED}&interval=7m&limit=9`
const POOLS_OF_PAIR = '/v0/pools?symbol=WETH-USDC'

/** Each list that `include` takes, and the fields that it adds. */
const INCLUDES: readonly (readonly [path: string, include: string, added: readonly string[]])[] = [
  [TICKS, 'position', POSITION],
  [TICKS, 'sender', ['sender']],
  [TICKS, 'position,sender', [...POSITION, 'sender']],
  [TICKS, 'sender,position', [...POSITION, 'sender']],
  [TICKS, ' sender , position ', [...POSITION, 'sender']],
  [TICKS, 'hooks', HOOKED],
  [TICKS, 'hooks,sender,position', [...POSITION, 'sender', ...HOOKED]],
  [POOLS_OF_PAIR, 'market', MARKET],
  [CANDLES, 'flow', FLOW],
  ['/v0/candles?symbol=WETH-USDC&interval=1m&limit=9', 'flow', FLOW],
]

type Row = Readonly<Record<string, unknown>>
type Body = { data: readonly Row[]; credits_used: number }

describe.skipIf(withoutClickHouse)('by the letter of the interface', () => {
  const scenario = scenarioServices()
  let service: Service
  beforeAll(async () => {
    service = await scenario.start()
  })

  async function ask(path: string, headers: Readonly<Record<string, string>> = {}) {
    // Without its own Cache-Control, fetch would ask for a fresh copy.
    const sent = { 'X-API-KEY': service.key, 'Cache-Control': 'max-age=0', ...headers }
    const reply = await service.get(path, sent)
    return { ...reply, tag: reply.headers.get('etag') ?? '', rows: (reply.body as Body).data }
  }
  async function textOf(path: string, form: string): Promise<string> {
    const response = await fetch(service.url + path, { headers: { 'X-API-KEY': service.key, Accept: form } })
    expect(response.headers.get('content-type')).toContain(form)
    return response.text()
  }
  const including = (path: string, include: string) => `${path}&include=${encodeURIComponent(include)}`

  /** The fields of all rows: one list, for every row has the same. */
  function fieldsOf(rows: readonly Row[]): string[] {
    expect(rows.length).toBeGreaterThan(0)
    const lists = [...new Set(rows.map((row) => Object.keys(row).join(' ')))]
    expect(lists).toHaveLength(1)
    return words(lists[0] ?? '')
  }

  test.each([
    [`/v0/candles?${CLOSED}&interval=1h`, CANDLE],
    ['/v0/candles?symbol=WETH-USDC&interval=1m&limit=9', CANDLE],
    [POOLS_OF_PAIR, POOL],
    [`/v0/pools?pool=${POOLS.main.id}`, POOL],
    [TICKS, TICK],
    ['/v0/ticks?symbol=WETH-USDC', TICK],
  ])('%s has the fields of its table', async (path, fields) => {
    const { status, body, rows } = await ask(path)
    expect(status).toBe(200)
    expect(fieldsOf(rows)).toEqual(fields)
    const isWarned = path.startsWith('/v0/candles?symbol')
    expect(Object.keys(body as Body)).toEqual(['data', 'credits_used', ...(isWarned ? ['warning'] : [])])
    if (isWarned) expect(Object.keys((body as { warning: object }).warning)).toEqual(WARNING)
    for (const { token0, token1 } of path.startsWith('/v0/pools') ? rows : []) {
      expect([token0, token1].map((token) => Object.keys(token as object))).toEqual([TOKEN, TOKEN])
    }
  })

  test('/v0/usage has the fields of its table', async () => {
    const { body } = await ask('/v0/usage')
    const paths = (value: object, before = ''): string[] =>
      Object.entries(value).flatMap(([name, member]) =>
        typeof member === 'object' && member !== null ? paths(member, `${before}${name}.`) : [`${before}${name}`],
      )
    expect(paths(body as object)).toEqual([
      ...['used', 'limit', 'remaining', 'reset_at'].map((name) => `credits.minute.${name}`),
      ...['used', 'limit', 'remaining', 'reset_at', 'billing_period_start'].map((name) => `credits.month.${name}`),
      'api_calls.minute.used',
      'api_calls.month.used',
      'subscription_plan',
    ])
  })

  test.each(INCLUDES)('%s with include=%s has these fields more, at its end', async (path, include, added) => {
    const [plain, more] = [await ask(path), await ask(including(path, include))]
    expect(more.status).toBe(200)
    expect(fieldsOf(more.rows)).toEqual([...fieldsOf(plain.rows), ...added])
    // The same answer besides, at the same cost.
    const without = more.rows.map((row) =>
      Object.fromEntries(Object.entries(row).filter(([name]) => !added.includes(name))),
    )
    expect({ ...(more.body as Body), data: without }).toEqual(plain.body)
  })

  test.each([
    [TICKS, 'market', 'position, sender, hooks'],
    [TICKS, 'block', 'position, sender, hooks'],
    [TICKS, 'Position', 'position, sender, hooks'],
    [TICKS, 'position,position', 'position, sender, hooks'],
    [TICKS, 'position,sender,position', 'position, sender, hooks'],
    [TICKS, 'position,', 'position, sender, hooks'],
    [TICKS, ',', 'position, sender, hooks'],
    [TICKS, 'position sender', 'position, sender, hooks'],
    [TICKS, '*', 'position, sender, hooks'],
    [TICKS, 'constructor', 'position, sender, hooks'],
    [POOLS_OF_PAIR, 'position', 'market'],
    [CANDLES, 'flow,flow', 'flow'],
    [CANDLES, 'position', 'flow'],
    [POOLS_OF_PAIR, 'market,market', 'market'],
  ])('%s with include=%s is refused with the names that there are', async (path, include, names) => {
    const { status, body } = await ask(including(path, include))
    const message = `must be a comma-separated list of ${names}, each at most once`
    expect([status, body]).toEqual([400, expect.objectContaining({ errors: [{ field: 'include', message }] })])
  })

  test.each([
    ['include=', 'must not be empty'],
    ['include=%20', 'must not be empty'],
    ['include', 'must not be empty'],
    ['include=position&include=sender', 'must be given once'],
    ['include[]=position', 'must be written as include=…, not nested'],
  ])('%s is refused, and names the field', async (query, message) => {
    for (const path of [TICKS, POOLS_OF_PAIR, CANDLES]) {
      const { status, body } = await ask(`${path}&${query}`)
      expect([status, body]).toEqual([400, expect.objectContaining({ errors: [{ field: 'include', message }] })])
    }
  })

  test.each(INCLUDES.filter(([path]) => path === TICKS || path === CANDLES))(
    '%s with include=%s has the same columns as CSV and as NDJSON',
    async (path, include, added) => {
      const plain = path === TICKS ? TICK : CANDLE
      for (const [asked, columns] of [
        [path, plain],
        [including(path, include), [...plain, ...added]],
      ] as const) {
        const { rows } = await ask(asked)
        const [header, first] = (await textOf(asked, 'text/csv')).split('\r\n')
        expect(header).toBe(columns.join())
        expect(first).toBe(columns.map((name) => rows[0]?.[name]).join())
        // Without rows too.
        expect(await textOf(asked.replaceAll('2024', '2020'), 'text/csv')).toBe(`${columns.join()}\r\n`)
        const lines = (await textOf(asked, 'application/x-ndjson')).trimEnd().split('\n')
        expect(lines.map((line) => JSON.parse(line))).toEqual(rows)
      }
    },
  )

  test('a tag of one list of fields is not that of another', async () => {
    const paths = [TICKS, ...['position', 'sender', 'position,sender'].map((include) => including(TICKS, include))]
    const answers = await Promise.all(paths.map((path) => ask(path)))
    expect(new Set(answers.map(({ tag }) => tag)).size).toBe(4)
    for (const [index, path] of paths.entries()) {
      const statuses = answers.map(async ({ tag }) => (await ask(path, { 'If-None-Match': tag })).status)
      expect(await Promise.all(statuses)).toEqual(answers.map((_, other) => (other === index ? 304 : 200)))
    }
    // The order of the names does not matter.
    expect((await ask(including(TICKS, 'sender,position'))).tag).toBe(answers[3]?.tag)
  })

  test.each([
    ['/v0/ticks?', '', TICK],
    ['/v0/ticks?', 'position', [...TICK, ...POSITION]],
    ['/v0/ticks?', 'sender,position', [...TICK, ...POSITION, 'sender']],
    ['/v0/ticks?', 'hooks', [...TICK, ...HOOKED]],
    ['/v0/candles?interval=1m&', 'flow', [...CANDLE, ...FLOW]],
  ])('a stream of %s with include=%s has these fields in each row', async (start, include, fields) => {
    const stop = new AbortController()
    const path = `${start}pool=${POOLS.main.id}${include === '' ? '' : `&include=${include}`}`
    const headers = { 'X-API-KEY': service.key, Accept: 'text/event-stream' }
    const response = await fetch(service.url + path, { headers, signal: stop.signal })
    for await (const { event, data } of eventsOf(response.body ?? new ReadableStream())) {
      expect(event).toBe('snapshot')
      expect(fieldsOf(data['data'] as Row[])).toEqual(fields)
      break
    }
    stop.abort()
  })

  test('a stream refuses a list as an answer does', async () => {
    const { status, body } = await ask(`/v0/ticks?pool=${POOLS.main.id}&include=all`, { Accept: 'text/event-stream' })
    expect([status, body]).toEqual([400, expect.objectContaining({ code: 'invalid_parameters' })])
  })
})
