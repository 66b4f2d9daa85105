/** `/v0/udf`: what chart libraries expect of each address, its errors and its cost. */
import { beforeAll, describe, expect, test } from 'vitest'
import { withoutClickHouse } from '../../support/clickhouse.ts'
import { minute, POOLS, TIP } from '../scenario.ts'
import { scenarioServices } from '../scenario-services.ts'
import type { Service } from '../service.ts'

const { id } = POOLS.main

describe.skipIf(withoutClickHouse)('UDF', () => {
  const scenario = scenarioServices()
  let service: Service
  beforeAll(async () => {
    service = await scenario.start()
  })

  const ask = async (path: string) => (await service.get(`/v0/udf/${path}`)).body
  const spent = async () => {
    const { body } = await service.get('/v0/usage')
    return (body as { credits: { minute: { used: number } } }).credits.minute.used
  }

  test('config lists resolutions, and history answers each of them', async () => {
    const { supported_resolutions: all } = (await ask('config')) as { supported_resolutions: string[] }
    expect(all).toContain('1D')
    for (const resolution of all) {
      const answer = await ask(`history?symbol=${id}&resolution=${resolution}&from=${TIP - 60}&to=${TIP}&countback=2`)
      expect(answer, resolution).toMatchObject({ s: 'ok' })
    }
  })

  test('time is the clock, as text', async () => {
    expect(await ask('time')).toBe(String(TIP + 10))
  })

  test('a symbol names its pool and direction, with digits for its price', async () => {
    const info = (await ask('symbols?symbol=WETH-USDC')) as Record<string, unknown>
    expect(info).toMatchObject({ name: 'WETH-USDC', ticker: `ethereum:${id}:WETH-USDC`, pricescale: 100, minmov: 1 })
    const inverse = (await ask(`symbols?symbol=ethereum:${id}`)) as Record<string, unknown>
    expect(inverse).toMatchObject({ name: 'USDC-WETH', pricescale: 10 ** 9 })
    expect(await ask(`symbols?symbol=${encodeURIComponent(String(info['ticker']))}`)).toEqual(info)
    // As `exchange:name`, both from an answer.
    for (const symbol of ['ethereum:WETH-USDC', 'ETHEREUM:weth-usdc'])
      expect(await ask(`symbols?symbol=${symbol}`)).toEqual(info)
    expect(await ask(`symbols?symbol=base:0x${'1'.repeat(40)}:WETH-USDC`)).toMatchObject({ s: 'error' })
  })

  test('search finds pairs of curated tokens, whose tickers resolve', async () => {
    const found = (await ask('search?query=wet&type=&exchange=&limit=5')) as { ticker: string; symbol: string }[]
    expect(found.length).toBeGreaterThan(0)
    expect(found.map(({ symbol }) => symbol)).toContain('ETH-USDC')
    expect(await ask('search?query=weth-usd&limit=1')).toMatchObject([{ symbol: 'ETH-USDC' }])
    expect(await ask('search?query=eth&limit=1')).toMatchObject([
      { symbol: 'ETH-USDC', full_name: 'ethereum:ETH-USDC' },
    ])
    expect(await ask('search?query=usdc-e&limit=1')).toMatchObject([{ symbol: 'USDC-ETH' }])
    for (const { ticker } of found) {
      const [network, pool] = ticker.split(':')
      const resolved = expect.stringMatching(`^${network}:${pool}:`)
      expect(await ask(`symbols?symbol=${encodeURIComponent(ticker)}`)).toMatchObject({ ticker: resolved })
    }
    expect(await ask('search?query=&limit=1')).toHaveLength(1)
    expect(await ask('search?query=nothing-like-this')).toEqual([])
  })

  test('history has the bars of candles, and no_data before the first trade', async () => {
    const range = `from=${minute(0)}&to=${minute(121)}`
    const answer = (await ask(`history?symbol=${id}&resolution=1&${range}&countback=121`)) as Record<string, number[]>
    const { body } = await service.get(
      `/v0/candles?pool=${id}&interval=1m&limit=100&to=${new Date(minute(121) * 1_000).toISOString()}`,
    )
    const { data } = body as { data: { time: string; close: number; volume: number }[] }
    expect(answer['t']?.slice(-100)).toEqual(data.map(({ time }) => Date.parse(time) / 1_000))
    expect(answer['c']?.slice(-100)).toEqual(data.map(({ close }) => close))
    expect(answer['v']?.slice(-100)).toEqual(data.map(({ volume }) => volume))
    expect(await ask(`history?symbol=${id}&resolution=1&from=1000&to=2000`)).toEqual({ s: 'no_data' })
    expect(await ask(`history?symbol=${id}&resolution=1&from=-2000&to=-1000`)).toEqual({ s: 'no_data' })
    const whole = await ask(`history?symbol=${id}&resolution=1&from=${minute(0)}&to=${minute(121)}`)
    const fractional = `from=${minute(0) - 0.5}&to=${minute(121) - 0.25}`
    expect(await ask(`history?symbol=${id}&resolution=1&${fractional}`)).toEqual(whole)
    expect(await ask(`history?symbol=${id}&resolution=1&from=-31536000&to=${minute(121)}`)).toMatchObject({ s: 'ok' })
  })

  test('each hundred bars cost what a request of them costs', async () => {
    const before = await spent()
    await ask(`history?symbol=${id}&resolution=1S&from=${TIP - 500}&to=${TIP}&countback=500`)
    expect((await spent()) - before).toBe(5)
    await ask(`history?symbol=${id}&resolution=1S&from=0&to=${TIP}&countback=1000000000`)
    expect((await spent()) - before).toBe(25)
    await ask('config')
    await ask('time')
    expect((await spent()) - before).toBe(25)
  })

  test.each([
    ['history?symbol=WETH-USDC', 'resolution'],
    [`history?symbol=${id}&resolution=60&from=2000&to=1000`, 'from must be before to'],
    [`history?symbol=${id}&resolution=1W&from=1000&to=2000`, 'resolution must be'],
    [`history?symbol=${id}&resolution=60&from=-&to=2000`, 'from must be'],
    [`history?symbol=${id}&resolution=60&from=1e3&to=2000`, 'from must be'],
    [`history?symbol=${id}&resolution=60&from=-5&to=-10.5`, 'from must be before to'],
    ['symbols?symbol=BINANCE:WETH-USDC', 'BINANCE'],
    [`history?symbol=${id}&resolution=60&from=1&to=99999999999`, 'to must be'],
    ['symbols?symbol=WETH', 'symbol must be'],
    ['symbols?symbol=ethereum:WETH-USDC:x', 'x'],
    ['symbols?symbol=NOPE-WETH', 'NOPE'],
    ['search?limit=99999', 'limit must be'],
  ])('%s is refused with its reason', async (path, reason) => {
    expect(await ask(path)).toMatchObject({ s: 'error', errmsg: expect.stringContaining(reason) })
  })

  test('no address works without a key', async () => {
    for (const path of ['config', 'time', 'symbols?symbol=WETH-USDC', 'search?query=', 'history?symbol=x'])
      expect((await service.get(`/v0/udf/${path}`, {})).status).toBe(401)
  })
})
