/** One answer as JSON, CSV and NDJSON: the same rows. */
import { beforeAll, describe, expect, test } from 'vitest'
import { withoutClickHouse } from '../../support/clickhouse.ts'
import { POOLS, TIP } from '../scenario.ts'
import { scenarioServices } from '../scenario-services.ts'
import type { Service } from '../service.ts'

type Body = { data: Record<string, string | number>[]; credits_used: number }

describe.skipIf(withoutClickHouse)('the form of an answer', () => {
  const scenario = scenarioServices()
  let service: Service
  beforeAll(async () => {
    service = await scenario.start()
  })

  const ask = (path: string, accept: string) =>
    fetch(service.url + path, { headers: { 'X-API-KEY': service.key, Accept: accept } })

  const paths = [
    '/v0/candles?symbol=WETH-USDC&interval=1m&limit=100',
    `/v0/ticks?pool=${POOLS.main.id}&limit=1000&from=2020-01-01`,
    `/v0/ticks?pool=${POOLS.main.id}&to=2020-01-01`,
  ]

  test.each(paths)('%s has the same rows in each', async (path) => {
    const json = await ask(path, 'application/json')
    const { data, credits_used } = (await json.json()) as Body
    const ndjson = await ask(path, 'application/x-ndjson')
    const lines = (await ndjson.text()).split('\n').filter((line) => line !== '')
    expect(lines.map((line) => JSON.parse(line))).toEqual(data)
    const csv = await ask(path, 'text/csv')
    const [header = '', ...rows] = (await csv.text()).trimEnd().split('\r\n')
    const names = header.split(',')
    if (data[0]) expect(names).toEqual(Object.keys(data[0]))
    expect(rows.map((row) => row.split(','))).toEqual(data.map((row) => names.map((name) => String(row[name]))))
    for (const answer of [ndjson, csv]) {
      expect(answer.headers.get('x-credits-used')).toBe(String(credits_used))
      expect(answer.headers.get('x-market-pool')).toBe(json.headers.get('x-market-pool'))
      expect(answer.headers.get('vary')).toContain('Accept')
    }
    expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present')
    expect(ndjson.headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8')
  })

  test('a closed answer has an ETag of its own in each form', async () => {
    const path = `/v0/candles?pool=${POOLS.main.id}&interval=1m&to=${new Date((TIP - 60) * 1000).toISOString()}`
    const tags = await Promise.all(
      ['application/json', 'text/csv', 'application/x-ndjson'].map(
        async (form) => (await ask(path, form)).headers.get('etag') ?? '',
      ),
    )
    expect(tags.every((tag) => tag.startsWith('W/'))).toBe(true)
    expect(new Set(tags).size).toBe(3)
    // Else fetch adds `no-cache`.
    const again = await service.get(path, {
      'X-API-KEY': service.key,
      Accept: 'text/csv',
      'If-None-Match': tags[1] ?? '',
      'Cache-Control': 'max-age=0',
    })
    expect(again.status).toBe(304)
  })

  test.each([
    ['*/*', 'application/json; charset=utf-8'],
    ['text/html', 'application/json; charset=utf-8'],
    ['text/csv;q=0.5, application/json', 'application/json; charset=utf-8'],
    ['text/html, text/csv;q=0.9', 'text/csv; charset=utf-8; header=present'],
    ['text/csv;q=0', 'application/json; charset=utf-8'],
  ])('Accept: %s gets %s', async (accept, type) => {
    const answer = await ask(`/v0/candles?pool=${POOLS.main.id}&interval=1m`, accept)
    await answer.arrayBuffer()
    expect(answer.headers.get('content-type')).toBe(type)
  })

  test('an error is a problem document in every form', async () => {
    const answer = await ask('/v0/candles?pool=0x12&interval=1m', 'text/csv')
    expect(answer.status).toBe(400)
    expect(answer.headers.get('content-type')).toContain('application/problem+json')
    expect(answer.headers.get('x-credits-used')).toBeNull()
  })
})
