import { describe, expect, test } from 'vitest'
import { createKey, hashKey, listKeys, revokeKey, setPlan } from '../../../api/accounts/keys.ts'
import { withoutClickHouse } from '../../support/clickhouse.ts'
import { ProblemBody, Usage } from '../body.ts'
import { POOLS, TIP } from '../scenario.ts'
import { scenarioServices } from '../scenario-services.ts'
import type { Service } from '../service.ts'

const QUESTION = `/v0/candles?pool=${POOLS.main.id}&interval=1h`

describe.skipIf(withoutClickHouse)('accounts', () => {
  let now = TIP
  const clock = () => new Date(now * 1000)
  const scenario = scenarioServices(clock)
  const { start } = scenario
  const usageOf = async (service: Service, key = service.key) =>
    Usage.parse((await service.get('/v0/usage', { 'X-API-KEY': key })).body)

  test('usage has the shape of the interface, and is free', async () => {
    const service = await start({ plan: 'free' })
    await service.get(QUESTION)
    await service.get('/v0/candles')
    expect(await usageOf(service)).toEqual({
      credits: {
        minute: { used: 1, limit: 60, remaining: 59, reset_at: '2024-01-05T02:01:00Z' },
        month: {
          used: 1,
          limit: 10_000,
          remaining: 9_999,
          reset_at: '2024-02-01T00:00:00Z',
          billing_period_start: null,
        },
      },
      api_calls: { minute: { used: 3 }, month: { used: 3 } },
      subscription_plan: 'free',
    })
  })

  test('a billing start moves the month', async () => {
    const service = await start({ billingStart: new Date('2023-12-31T10:00:00Z') })
    expect((await usageOf(service)).credits.month).toMatchObject({
      billing_period_start: '2023-12-31T10:00:00Z',
      reset_at: '2024-01-31T10:00:00Z',
    })
  })

  test('parallel requests do not pass a limit; the next minute has credits again', async () => {
    const service = await start({ plan: 'free' })
    const symbol = '/v0/candles?symbol=WETH-USDC&interval=1h&networks=ethereum,arbitrum'
    const replies = await Promise.all(Array.from({ length: 50 }, () => service.get(symbol)))
    const statuses = replies.map(({ status }) => status)
    // Each costs 3, and 60 are there.
    expect([
      statuses.filter((status) => status === 200).length,
      statuses.filter((status) => status === 429).length,
    ]).toEqual([20, 30])
    const refused = replies.find(({ status }) => status === 429)
    expect(ProblemBody.parse(refused?.body).code).toBe('minute_credits_exceeded')
    expect(refused?.headers.get('retry-after')).toBe('30')
    expect(refused?.headers.get('ratelimit')).toMatch(/^"minute";r=0;t=30, "month";r=\d+;t=\d+$/)
    expect((await usageOf(service)).credits.minute).toMatchObject({ used: 60, remaining: 0 })
    now += 60
    expect((await service.get(symbol)).status).toBe(200)
    expect((await usageOf(service)).credits).toMatchObject({ minute: { used: 3 }, month: { used: 63 } })
    now -= 60
  })

  test('the month wins, and says when it ends', async () => {
    const service = await start({ plan: 'free' })
    await scenario.database.client.command({
      query: `INSERT INTO usage VALUES (unhex({hash:String}), toDateTime('2024-01-02 00:00:00', 'UTC'), generateUUIDv4(), 9999, 5, 1)`,
      query_params: { hash: hashKey(service.key) },
    })
    expect((await service.get(QUESTION)).status).toBe(200)
    const { status, body, headers } = await service.get(QUESTION)
    expect([status, ProblemBody.parse(body).code]).toEqual([429, 'month_credits_exceeded'])
    expect(Number(headers.get('retry-after'))).toBe(Date.UTC(2024, 1, 1) / 1000 - now)
    expect((await usageOf(service)).credits.month).toMatchObject({ used: 10_000, remaining: 0 })
  })

  test('a refused parameter costs nothing, but is a call', async () => {
    const service = await start()
    for (const path of [`${QUESTION}&limit=0`, `/v0/ticks?symbol=a${'-'.repeat(8_000)}b`, '/v0/pools'])
      expect((await service.get(path)).status).toBe(400)
    const usage = await usageOf(service)
    expect([usage.credits.month.used, usage.api_calls.month.used]).toEqual([0, 4])
  })

  test.each([
    ['unknown_symbol', '/v0/ticks?symbol=NOPE-WETH'],
    ['unknown_symbol', '/v0/candles?symbol=a-b-c-d-NOPE&interval=1h'],
    ['no_pool', '/v0/ticks?symbol=WBTC-USDC'],
    ['unknown_pool', `/v0/ticks?pool=0x${'9'.repeat(40)}`],
    ['invalid_parameters', '/v0/ticks?symbol=WETH-ETH'],
  ])('%s that only a search can find costs a credit: %s', async (code, path) => {
    const service = await start()
    expect(ProblemBody.parse((await service.get(path)).body).code).toBe(code)
    const usage = await usageOf(service)
    expect([usage.credits.month.used, usage.api_calls.month.used]).toEqual([1, 2])
  })

  test('searches that find nothing use up the credits of a minute', async () => {
    const service = await start({ plan: 'free' })
    const codes = []
    for (let question = 0; question <= 60; question++)
      codes.push(ProblemBody.parse((await service.get('/v0/ticks?symbol=NOPE-WETH')).body).code)
    expect(codes.slice(-2)).toEqual(['unknown_symbol', 'minute_credits_exceeded'])
  })

  test('counts survive a restart', async () => {
    const first = await start()
    for (let call = 0; call < 5; call++) await first.get(QUESTION)
    await first.stop()
    const second = await start({ key: first.key })
    await second.get(QUESTION)
    const usage = await usageOf(second)
    expect([usage.credits.minute.used, usage.credits.month.used, usage.api_calls.month.used]).toEqual([6, 6, 7])
  })

  test('two processes see what the other counted within a second or two', async () => {
    const [one, two] = [await start(), await start()]
    await one.get(QUESTION)
    await expect.poll(async () => (await usageOf(two, one.key)).credits.month.used).toBe(1)
  })

  test('a key that was made beside works at first sight, and a revoked one stops within a second or two', async () => {
    const service = await start()
    await service.get('/v0/usage')
    const key = await createKey({ client: scenario.database.client, plan: 'free', name: 'late' })
    expect((await service.get('/v0/usage', { 'X-API-KEY': key })).status).toBe(200)
    const record = (await listKeys(scenario.database.client)).find(({ name }) => name === 'late')
    expect(record).toMatchObject({ hash: hashKey(key), plan: 'free', revoked: undefined })
    const id = record?.id ?? ''
    expect(await setPlan({ client: scenario.database.client, id, plan: 'operator' })).toBe(true)
    await expect.poll(async () => (await usageOf(service, key)).subscription_plan).toBe('operator')
    expect(await revokeKey({ client: scenario.database.client, id })).toBe(true)
    expect(await revokeKey({ client: scenario.database.client, id })).toBe(false)
    const status = async () => (await service.get('/v0/usage', { 'X-API-KEY': key })).status
    await expect.poll(status, { interval: 300 }).toBe(401)
  })
})
