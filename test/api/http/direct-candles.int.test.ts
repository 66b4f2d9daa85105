/** A repeated request for closed candles is answered without Express: exactly as Express answers it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PLANS } from '../../../api/lib/plan.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { ofExtras } from '../../support/extras.ts'
import { Usage } from '../body.ts'
import { NETWORKS_SERVED, POOLS, storeScenario, TIP } from '../scenario.ts'
import { type Reply, type Service, startService } from '../service.ts'

const END = new Date((TIP - 60) * 1_000).toISOString()
const CLOSED = `/v0/candles?pool=${POOLS.main.id}&interval=1m&limit=100&to=${END}`
/** Different for each answer. */
const OWN = ['date', 'ratelimit', 'x-request-id']

describe.skipIf(withoutClickHouse)('a repeated request for closed candles', () => {
  let database: TestDatabase
  let service: Service

  beforeAll(async () => {
    database = await freshDatabase()
    await storeScenario(database.client)
    service = await serve('operator')
    // What is final is known from the second poll on.
    await first(fresh())
  })
  afterAll(async () => {
    await service?.stop()
    await database?.drop()
  })

  function serve(plan: 'free' | 'operator'): Promise<Service> {
    const clock = () => new Date((TIP + 10) * 1_000)
    return startService({ client: database.client, networks: NETWORKS_SERVED, clock, plan })
  }
  /** The query string is not decoded before: another order of it is another URL. */
  const fresh = (() => {
    let count = 0
    return () => `${CLOSED}&unused=${count++}`
  })()
  const plain = (more: Record<string, string> = {}) => ({
    'X-API-KEY': service.key,
    'Accept-Encoding': 'identity',
    ...more,
  })
  const shown = ({ status, headers, body }: Reply) => ({
    status,
    headers: Object.fromEntries([...headers].filter(([name]) => !OWN.includes(name))),
    body,
  })
  /** The URL's answer by Express. */
  const first = async (path: string) => shown(await service.get(path, plain()))

  test('a repeated request has the headers and the bytes of the first one', async () => {
    const path = fresh()
    const wanted = await first(path)
    expect(wanted).toMatchObject({ status: 200, headers: { etag: expect.stringMatching(/^W/) } })
    expect((wanted.body as { data: unknown[] }).data.length).toBeGreaterThan(10)
    expect(shown(await service.get(path, plain()))).toEqual(wanted)
  })

  test.each(['gzip, deflate', 'br', 'gzip, deflate, br', 'gzip;q=0.5', 'deflate'])(
    'the bytes are compressed for Accept-Encoding: %s',
    async (accepted) => {
      const path = fresh()
      const ask = async () => {
        const { status, headers, body } = shown(await service.get(path, plain({ 'Accept-Encoding': accepted })))
        // Compressed on the way, an answer is sent in chunks.
        const { 'content-length': _, 'transfer-encoding': __, ...others } = headers
        return { status, headers: others, body }
      }
      const wanted = await ask()
      expect(wanted.headers['content-encoding']).toMatch(/^(gzip|br|deflate)$/)
      expect(await ask()).toEqual(wanted)
      expect(await ask()).toEqual(wanted)
    },
  )

  test('a request with the current ETag gets 304', async () => {
    const { etag = '' } = (await first(fresh())).headers
    const path = fresh()
    // fetch adds no-cache to such a request where it names nothing.
    const known = plain({ 'If-None-Match': etag, 'Cache-Control': 'max-age=1' })
    const wanted = shown(await service.get(path, known))
    expect(wanted).toMatchObject({ status: 304, body: '' })
    expect(shown(await service.get(path, known))).toEqual(wanted)
    expect(
      (await service.get(path, plain({ 'If-None-Match': 'W/"another"', 'Cache-Control': 'max-age=1' }))).status,
    ).toBe(200)
  })

  test('a repeated request is charged and counted as the first one', async () => {
    const used = async () => {
      const { credits, api_calls } = Usage.parse((await service.get('/v0/usage')).body)
      return [credits.minute.used, api_calls.minute.used]
    }
    const path = fresh()
    const [creditsBefore = 0, callsBefore = 0] = await used()
    const replies = [
      await service.get(path, plain()),
      await service.get(path, plain()),
      await service.get(path, plain()),
    ]
    const [{ credits_used: cost } = { credits_used: 0 }] = replies.map(({ body }) => body as { credits_used: number })
    expect(await used()).toEqual([creditsBefore + 3 * cost, callsBefore + 4])
    const limits = replies.map(({ headers }) => Number(/r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1]))
    expect(limits[2]).toBe((limits[1] ?? 0) - cost)
    expect(limits[1]).toBe((limits[0] ?? 0) - cost)
  })

  test('a repeated request is reported under its route', async () => {
    const path = fresh()
    await first(path)
    service.facts.length = 0
    await service.get(path, plain())
    const fact = { kind: 'request-answered', method: 'GET', path: '/v0/candles', route: '/v0/candles', status: 200 }
    expect(service.facts.find(({ kind }) => kind === 'request-answered')).toMatchObject(fact)
  })

  type Variant = [title: string, headers: Record<string, string>, status: number]
  test.each<Variant>([
    ['with a bad key', { 'X-API-KEY': 'cp_unknown' }, 401],
    ['for another form', { Accept: 'text/csv' }, 200],
    ...ofExtras<Variant>(['for a stream', { Accept: 'text/event-stream' }, 400]),
  ])('a repeated request %s is answered as the first one', async (_, headers, status) => {
    const path = fresh()
    const ask = async () => {
      const { body, ...reply } = shown(await service.get(path, plain(headers)))
      return { ...reply, body: typeof body === 'string' ? body : { ...(body as object), request_id: '' } }
    }
    const wanted = await ask()
    expect(wanted.status).toBe(status)
    await first(path)
    expect(await ask()).toEqual(wanted)
  })

  test('a repeated request is refused where the key has no credits left, with its limits', async () => {
    const free = await serve('free')
    const headers = { 'X-API-KEY': free.key, 'Accept-Encoding': 'identity' }
    const statuses: number[] = []
    let last: Reply | undefined
    for (let count = 0; count <= PLANS.free.minute; count++) {
      last = await free.get(CLOSED, headers)
      statuses.push(last.status)
    }
    await free.stop()
    expect(statuses.at(-1)).toBe(429)
    expect(last?.headers.get('content-type')).toContain('application/problem+json')
    expect(last?.headers.get('ratelimit')).toContain('r=0')
    const refused = free.facts.findLast((fact) => fact.kind === 'request-answered')
    expect(refused).toMatchObject({ route: '/v0/candles', status: 429 })
  })
})
