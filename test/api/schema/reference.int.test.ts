/** The examples in the document are real answers: those that the service gives over a recorded day of Ethereum. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inProcessLog } from '../../../infra/kafka/in-process.ts'
import { NETWORKS } from '../../../ingest/model/networks.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { DAY, DAY_POOL } from '../../support/recorded.ts'
import { storeDay } from '../../tour/day.ts'
import { type Service, startService } from '../service.ts'

const HOURS = 'interval=1h&from=2024-01-05T22:00:00Z&to=2024-01-06T00:00:00Z'
const QUESTIONS: Readonly<Record<string, string>> = {
  candles: `/v0/candles?symbol=WETH-USDC&${HOURS}`,
  pools: '/v0/pools?symbol=WETH-USDC',
  ticks: '/v0/ticks?symbol=WETH-USDC&to=2024-01-06T00:00:00Z&limit=2',
  usage: '/v0/usage',
  health: '/v0/health',
  invalid_parameters: '/v0/candles?symbol=WETH&interval=2d',
  unauthorized: `/v0/candles?pool=${DAY_POOL}&interval=1h`,
  not_found: '/v0/trades',
  unknown_pool: `/v0/candles?pool=0x0000000000000000000000000000000000000001&interval=1h`,
  unknown_symbol: '/v0/candles?symbol=NOPE-WETH&interval=1h',
  no_pool: '/v0/candles?symbol=DAI-USDC&interval=1h',
  minute_credits_exceeded: `/v0/candles?pool=${DAY_POOL}&interval=1h`,
}

describe.skipIf(withoutClickHouse)('over a recorded day', () => {
  let database: TestDatabase
  let service: Service

  beforeAll(async () => {
    database = await freshDatabase()
    await storeDay(database.client, inProcessLog({ nextOffset: 0 }))
    const clock = () => new Date(DAY.end * 1000)
    service = await startService({ client: database.client, networks: [NETWORKS.ethereum], clock, plan: 'free' })
  })
  afterAll(async () => {
    await service?.stop()
    await database?.drop()
  })

  test('the service answers as the examples say', async () => {
    const examples: Record<string, { request: string; body: unknown }> = {}
    for (const [name, request] of Object.entries(QUESTIONS)) {
      const headers = name === 'unauthorized' ? {} : { 'X-API-KEY': service.key }
      const ask = () => service.get(request, headers)
      let reply = await ask()
      while (name === 'minute_credits_exceeded' && reply.status === 200) reply = await ask()
      examples[name] = { request, body: withoutAccidents(reply.body) }
    }
    await expect(`${JSON.stringify(examples, null, 2)}\n`).toMatchFileSnapshot('../../../api/schema/examples.json')
  })

  /** The port and the request's own id are others each time. */
  function withoutAccidents(body: unknown): unknown {
    return JSON.parse(
      JSON.stringify(body)
        .replaceAll(service.url, 'https://candlepool.example')
        .replace(/"request_id":"[^"]+"/, '"request_id":"0b6c1c1e-52a5-4a3c-9f0e-3c1b6a3f8d21"'),
    )
  }
})
