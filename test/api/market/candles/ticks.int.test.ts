import { beforeAll, describe, expect, test } from 'vitest'
import { withoutClickHouse } from '../../../support/clickhouse.ts'
import { HookedTicks, PlacedTicks, Ticks } from '../../body.ts'
import { ARBITRUM_POOLS, POOLS, ROUTER } from '../../scenario.ts'
import { scenarioServices } from '../../scenario-services.ts'
import type { Service } from '../../service.ts'

const MAIN = POOLS.main.id

describe.skipIf(withoutClickHouse)('GET /v0/ticks', () => {
  const scenario = scenarioServices()
  let service: Service
  beforeAll(async () => {
    service = await scenario.start()
  })

  async function ask(query: string) {
    const { status, body, headers } = await service.get(`/v0/ticks?${query}`)
    expect(status, JSON.stringify(body)).toBe(200)
    return { ...Ticks.parse(body), headers }
  }
  const MORNING = 'from=2024-01-05&to=2024-01-05T01:30:00Z'

  test('swaps ascend by block and log index, in the taker’s view', async () => {
    const { data, credits_used, headers } = await ask(`pool=${MAIN}&${MORNING}`)
    expect(
      data.map(({ timestamp, price, amount0, amount1 }) => [timestamp.slice(11), price, amount0, amount1]),
    ).toEqual([
      ['00:10:00Z', 0.0005, '-2000', '1'],
      ['00:10:00Z', 1 / 2200, '-2200', '1'],
      ['00:12:00Z', 1 / 1900, '-1900', '1'],
      ['01:01:00Z', 1 / 2050, '-2050', '1'],
    ])
    expect(data[0]).toMatchObject({ side: 'sell', amountUSD: 2_000, token0: 'USDC', token1: 'WETH' })
    expect([credits_used, headers.get('x-market-pair')]).toEqual([1, 'USDC-WETH'])
    expect(Number(data[0]?.id.split('-')[1])).toBeLessThan(Number(data[1]?.id.split('-')[1]))
  })

  test('the other order flips tokens, amounts, side and price', async () => {
    const { data, credits_used } = await ask(`symbol=WETH-USDC&${MORNING}&limit=1`)
    expect(data).toEqual([
      {
        id: expect.any(String),
        timestamp: '2024-01-05T01:01:00Z',
        price: 1 / (1 / 2050),
        side: 'buy',
        amount0: '1',
        amount1: '-2050',
        amountUSD: 2_050,
        token0: 'WETH',
        token1: 'USDC',
      },
    ])
    expect(credits_used).toBe(2)
  })

  test('include=position,sender has the place of each swap on the chain, and who called the pool', async () => {
    const { body } = await service.get(`/v0/ticks?pool=${MAIN}&${MORNING}&include=position,sender`)
    const { data } = PlacedTicks.parse(body)
    const places = data.map(({ block, logIndex }) => block * 1e6 + logIndex)
    expect(places).toEqual([...new Set(places)].sort((one, other) => one - other))
    expect(data.map(({ id }) => Number(id.split('-')[1]))).toEqual(data.map(({ logIndex }) => logIndex))
    expect(data.at(-1)?.sender).toBe(ROUTER)
  })

  test('include=hooks has nothing of a hook where the pool has none, and the execution price', async () => {
    for (const asked of [`pool=${MAIN}`, 'symbol=WETH-USDC', `pool=${MAIN}&price=spot`]) {
      const [{ body }, executed] = await Promise.all([
        service.get(`/v0/ticks?${asked}&${MORNING}&include=hooks`),
        ask(`${asked}&${MORNING}&price=execution`.replace('&price=spot', '')),
      ])
      const { data } = HookedTicks.parse(body)
      expect(data.length).toBeGreaterThan(1)
      const expected = executed.data.map(({ price }) => ({ hookAmount0: '0', hookAmount1: '0', effectivePrice: price }))
      expect(data).toMatchObject(expected)
    }
  })

  test('limit keeps the newest that end at to, and to itself is outside', async () => {
    const { data } = await ask(`pool=${MAIN}&from=2024-01-05&to=2024-01-05T00:12:00Z&limit=1`)
    expect(data.map(({ price }) => price)).toEqual([1 / 2200])
    expect((await ask(`pool=${MAIN}&from=2024-01-05T00:10:00Z&to=2024-01-05T00:10:01Z`)).data).toHaveLength(2)
  })

  test('a long range finds the newest ones too', async () => {
    const { data } = await ask(`pool=${MAIN}&from=2015-01-01&limit=2`)
    expect(data.map(({ timestamp }) => timestamp.slice(11))).toEqual(['01:01:00Z', '01:59:00Z'])
    expect((await ask(`pool=${MAIN}&from=2015-01-01&to=2024-01-06`)).data).toHaveLength(5)
  })

  test('a question without from gets the hour before to', async () => {
    expect((await ask(`pool=${MAIN}`)).data.map(({ timestamp }) => timestamp.slice(11))).toEqual([
      '01:01:00Z',
      '01:59:00Z',
    ])
    expect((await ask(`pool=${MAIN}&to=2024-01-05T01:10:00Z`)).data).toHaveLength(4)
  })

  test('price=spot is the price after the swap', async () => {
    const { data } = await ask(`pool=${MAIN}&${MORNING}&price=spot`)
    expect(new Set(data.map(({ price }) => price))).toEqual(new Set([0.0005]))
  })

  test('native ether is ETH in a v4 pool', async () => {
    const { data } = await ask(`pool=${POOLS.v4.id}&${MORNING}`)
    expect(data).toEqual([expect.objectContaining({ token0: 'ETH', token1: 'USDC', price: 2_000, side: 'buy' })])
  })

  test('no trades is 200 and empty, and a symbol moves on to more networks', async () => {
    expect((await ask(`pool=${POOLS.silent.id}&${MORNING}`)).data).toEqual([])
    expect((await ask('symbol=WETH-DAI&from=2024-01-05&to=2024-01-05T00:10:00Z')).data).toEqual([])
    const { headers, credits_used } = await ask(`symbol=WETH-DAI&${MORNING}`)
    expect([headers.get('x-market-pool'), credits_used]).toEqual([ARBITRUM_POOLS.dai.id, 4])
  })

  test('ticks up to now are not kept, those of a range that is over may be', async () => {
    expect((await ask(`pool=${MAIN}`)).headers.get('cache-control')).toBe('private, no-store')
    expect((await ask(`pool=${MAIN}&${MORNING}`)).headers.get('etag')).toMatch(/^W\/".+"$/)
  })
})
