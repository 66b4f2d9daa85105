/** Chapter 6. The API answers from the tables: a pair either way round, ticks, and what it all cost. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openAccounts } from '../../api/accounts/accounts.ts'
import { createKey } from '../../api/accounts/keys.ts'
import { createApp } from '../../api/app.ts'
import { serve } from '../../api/http/server.ts'
import { openMarket } from '../../api/market/market.ts'
import { inProcessLog } from '../../infra/kafka/in-process.ts'
import { NETWORKS } from '../../ingest/model/networks.ts'
import { Candles, ProblemBody, Ticks, Usage } from '../api/body.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { DAY } from '../support/recorded.ts'
import { storeDay } from './day.ts'

describe.skipIf(withoutClickHouse)('over a recorded day', () => {
  const stopping = new AbortController()
  let database: TestDatabase
  let url: string
  let key: string
  let closed: Promise<unknown>

  beforeAll(async () => {
    database = await freshDatabase()
    const { client } = database
    await storeDay(client, inProcessLog({ nextOffset: 0 }))

    // The service, and a key on the smallest plan. For it the day has just ended.
    key = await createKey({ client, plan: 'free', name: 'a reader', billingStart: undefined })
    const clock = () => new Date(DAY.end * 1000)
    const report = () => {}
    const market = openMarket({ reader: client, networks: [NETWORKS.ethereum], clock })
    const accounts = openAccounts({ client, clock, report })
    const app = createApp({ market, accounts, clock, report })
    const serving = await serve({ app, host: '127.0.0.1', port: 0, signal: stopping.signal, report })
    url = `http://127.0.0.1:${serving.port}`
    closed = serving.closed.then(() => accounts.close())
  })

  afterAll(async () => {
    stopping.abort()
    await closed
    await database?.drop()
  })

  /** As `curl -H "X-API-KEY: $KEY" "$BASE/v0/…"` does. */
  async function ask(path: string) {
    const answer = await fetch(`${url}/v0/${path}`, { headers: { 'X-API-KEY': key } })
    return { status: answer.status, pair: answer.headers.get('X-Market-Pair'), body: await answer.json() }
  }
  const day = 'interval=1d&from=2024-01-05&to=2024-01-06'

  test('a candle in dollars per ether, from the pair’s lead pool', async () => {
    const { pair, body } = await ask(`candles?symbol=WETH-USDC&${day}`)
    expect(pair).toBe('WETH-USDC')
    const { data, warning } = Candles.parse(body)
    expect(data).toMatchInlineSnapshot(`
      [
        {
          "close": 2268.235133333333,
          "high": 2281.85451816178,
          "low": 2197.1012850974657,
          "open": 2268.611,
          "time": "2024-01-05T00:00:00Z",
          "volume": 246966136.903766,
        },
      ]
    `)
    expect(warning?.tip).toMatch(/^Ask with pool=0x88e6a0c2ddd26feeb64f039a2c41296fcb3f5640/)
  })

  test('the other way round every price is the inverse: the highest of one is the lowest of the other', async () => {
    const [one, other] = await Promise.all(
      ['WETH-USDC', 'USDC-WETH'].map((pair) => ask(`candles?symbol=${pair}&${day}`)),
    )
    const inverted = Candles.parse(other?.body).data.map(({ open, high, low, close }) => {
      return { open: 1 / open, high: 1 / low, low: 1 / high, close: 1 / close }
    })
    expect(Candles.parse(one?.body).data).toMatchObject(inverted)
  })

  test('a tick is a swap as its taker saw it', async () => {
    const { body } = await ask('ticks?symbol=WETH-USDC&to=2024-01-05T00:01:00Z&limit=1')
    expect(Ticks.parse(body).data).toMatchInlineSnapshot(`
      [
        {
          "amount0": "0.061605656510050496",
          "amount1": "-139.900004",
          "amountUSD": 139.865045,
          "id": "0x82c97699fb60a3f82b8cfa14cf6640e181bce5a940cfa0f7511e94edb47e33b8-76",
          "price": 2270.8954327461206,
          "side": "buy",
          "timestamp": "2024-01-05T00:00:35Z",
          "token0": "WETH",
          "token1": "USDC",
        },
      ]
    `)
  })

  test('a question that can’t be answered names every bad parameter', async () => {
    const { status, body } = await ask('candles?symbol=WETH&interval=2d')
    expect(status).toBe(400)
    const { code, errors } = ProblemBody.parse(body)
    expect(code).toBe('invalid_parameters')
    expect(errors?.map(({ field }) => field)).toEqual(['symbol', 'interval'])
  })

  test('credits: two for a symbol on one network, six more for 6,046 swaps, nothing for the error', async () => {
    const before = Usage.parse((await ask('usage')).body)
    const answer = Candles.parse((await ask(`candles?symbol=WETH-USDC&${day}`)).body)
    await ask('candles?symbol=WETH&interval=2d')
    const after = Usage.parse((await ask('usage')).body)
    expect(answer.credits_used).toBe(8)
    expect(after.credits.minute.used - before.credits.minute.used).toBe(8)
    // A refused question is a call all the same.
    expect(after.api_calls.minute.used - before.api_calls.minute.used).toBe(3)
  })
})
