/** Candles and ticks in dollars. The law that binds the two is in fold.int.test.ts. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import type { Pool } from '../../../../ingest/model/pool.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { addressOf, block, openStore, poolOf, tick } from '../../../support/store.ts'
import { Candles, ProblemBody, Ticks } from '../../body.ts'
import { type Service, startService } from '../../service.ts'

const USDC = {
  address: '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48',
  symbol: 'USDC',
  name: 'USD Coin',
  decimals: 6,
} as const
const token = (digits: string, symbol: string) => ({ address: addressOf(digits), symbol, name: symbol, decimals: 18 })
const PRICED = poolOf(addressOf('a1'), token('0b', 'ODD'), USDC)
const UNPRICED = poolOf(addressOf('a2'), token('0b', 'ODD'), token('0c', 'EVEN'))
const RARE = poolOf(addressOf('a3'), token('0d', 'RARE'), USDC)
const START = Date.UTC(2024, 0, 5) / 1000
const TIP = START + 40 * 3_600
const ODD = 10n ** 18n

let log = 0
function swap(pool: Pool, odd: bigint, micros: bigint, usdMicros = micros) {
  log += 1
  return tick({ pool, logIndex: log, amount0: odd, amount1: -micros, sqrtPriceX96: 2n ** 96n, usdMicros })
}

describe.skipIf(withoutClickHouse)('a price in dollars', () => {
  let database: TestDatabase
  let service: Service
  let store: ReturnType<typeof openStore>

  beforeAll(async () => {
    database = await freshDatabase()
    store = openStore(database.client, 'ethereum')
    const dust = Array.from({ length: 1_200 }, () => swap(RARE, ODD, 9_999n))
    await store([
      block(1, START, {
        pools: [PRICED, UNPRICED, RARE],
        ticks: [swap(RARE, ODD, 3_000_000n), swap(UNPRICED, ODD, ODD, 0n)],
      }),
      block(2, START + 60, {
        ticks: [
          swap(PRICED, 2n * ODD, 5_000_000n),
          swap(PRICED, -ODD, -3_000_000n, 3_000_000n),
          // A cent and 10,000 units are the least.
          swap(PRICED, ODD, 10_000n),
          swap(PRICED, ODD, 9_999n),
          swap(PRICED, 9_999n, 50_000n),
          swap(PRICED, 10_000n, 50_000n),
        ],
      }),
      block(3, START + 120, { ticks: [swap(PRICED, 3n * ODD, 9_000_000n)] }),
      block(4, START + 30 * 3_600, { ticks: dust }),
      block(5, TIP),
    ])
    const clock = () => new Date((TIP + 86_400) * 1000)
    service = await startService({ client: database.client, networks: [NETWORKS.ethereum], clock })
  })
  afterAll(async () => {
    await service?.stop()
    await database?.drop()
  })

  async function ticks(query: string) {
    const { status, body } = await service.get(`/v0/ticks?price=usd&from=2024-01-04&to=2024-01-08&${query}`)
    expect(status, JSON.stringify(body)).toBe(200)
    return Ticks.parse(body).data
  }
  async function candles(query: string) {
    const { status, body } = await service.get(`/v0/candles?price=usd&${query}`)
    expect(status, JSON.stringify(body)).toBe(200)
    return Candles.parse(body).data
  }
  async function refusal(path: string, accept = 'application/json') {
    const { body } = await service.get(path, { 'X-API-KEY': service.key, Accept: accept })
    return ProblemBody.parse(body)
  }

  test('is that of the first token of the pair, where a swap moved enough to tell it', async () => {
    const inOrder = await ticks(`pool=${PRICED.id}`)
    expect(inOrder.map(({ price }) => price)).toEqual([2.5, 3, 0.01, 5e12, 3])
    const inverse = await ticks(`symbol=USDC-ODD&pool=${PRICED.id}`)
    expect(inverse.map(({ price }) => price)).toEqual([1, 1, 1, 1, 1])
    for (const [at, { amountUSD, amount0, price }] of inOrder.entries()) {
      expect(price).toBeCloseTo(amountUSD / Math.abs(Number(amount0)), 12)
      expect(inverse[at]?.id).toBe(inOrder[at]?.id)
    }
  })

  test('makes candles of which the volume is in dollars too', async () => {
    const range = 'interval=1m&from=2024-01-05T00:01:00Z&to=2024-01-05T00:03:00Z'
    expect(await candles(`pool=${PRICED.id}&${range}`)).toEqual([
      { time: '2024-01-05T00:01:00Z', open: 2.5, high: 5e12, low: 0.01, close: 5e12, volume: 8.06 },
      { time: '2024-01-05T00:02:00Z', open: 3, high: 3, low: 3, close: 3, volume: 9 },
    ])
    expect(await candles(`symbol=USDC-ODD&pool=${PRICED.id}&${range}`)).toMatchObject([
      { open: 1, high: 1, low: 1, close: 1, volume: 8.06 },
      { close: 1, volume: 9 },
    ])
  })

  test('is found behind more swaps without one than a request has rows', async () => {
    expect((await ticks(`pool=${RARE.id}&limit=1`)).map(({ price }) => price)).toEqual([3])
    const range = 'interval=1m&from=2024-01-05&to=2024-01-08&limit=1&fill=none'
    expect(await candles(`pool=${RARE.id}&${range}`)).toMatchObject([{ time: '2024-01-05T00:00:00Z', close: 3 }])
    const later = 'interval=1h&from=2024-01-06T06:00:00Z&to=2024-01-06T07:00:00Z'
    expect(await candles(`pool=${RARE.id}&${later}`)).toMatchObject([{ close: 3, volume: 0 }])
  })

  test('is refused for a pool of which neither token has one', async () => {
    for (const path of [
      `/v0/ticks?pool=${UNPRICED.id}&price=usd`,
      `/v0/candles?pool=${UNPRICED.id}&interval=1h&price=usd`,
    ])
      expect(await refusal(path)).toMatchObject({ status: 404, code: 'no_usd_price' })
  })

  test('follows a change of a range that is closed', async () => {
    const query = `pool=${RARE.id}&interval=1d&from=2024-01-05&to=2024-01-06`
    expect(await candles(query)).toMatchObject([{ volume: 3 }])
    await database.client.command({
      query: `INSERT INTO ticks SELECT * REPLACE (amount_usd * 2 AS amount_usd, version + 1 AS version) FROM ticks FINAL
        WHERE network = 'ethereum' AND pool = '${RARE.id}' AND block = 1`,
    })
    expect(await candles(query)).toMatchObject([{ open: 6, volume: 6 }])
  })

  test('is refused over more swaps than one statement may read, and in a stream of candles', async () => {
    await database.client.command({
      query: `INSERT INTO candles SELECT * REPLACE (5000001 AS trades, version + 1 AS version) FROM candles FINAL
        WHERE network = 'ethereum' AND pool = '${PRICED.id}' AND resolution = 86400`,
    })
    const question = `/v0/candles?pool=${PRICED.id}&interval=1d&price=usd`
    const { status, errors } = await refusal(`${question}&from=2024-01-04&to=2024-01-06`)
    expect([status, errors]).toEqual([
      400,
      [{ field: 'limit', message: expect.stringContaining('at most 5,000,000 swaps') }],
    ])
    expect(await refusal(question, 'text/event-stream')).toMatchObject({ status: 400, errors: [{ field: 'price' }] })
  })
})
