import type { ClickHouseClient } from '@clickhouse/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readListed } from '../../../../api/market/pools/early-pools.ts'
import { NETWORK_NAMES } from '../../../../ingest/model/network.ts'
import { intercepted } from '../../../aggregator/statements.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { NETWORKS_SERVED, POOLS, storeScenario, TIP } from '../../scenario.ts'
import { type Service, startService } from '../../service.ts'

const UNKNOWN = `0x${'5'.repeat(40)}`
const DAY = 'from=2024-01-05&to=2024-01-06'
const SERVED = NETWORKS_SERVED.map(({ name }) => name).join(',')
const QUESTIONS = [
  `/v0/candles?pool=${POOLS.main.id}&interval=1h&${DAY}`,
  `/v0/candles?pool=${POOLS.main.id}&interval=1h&networks=${SERVED}`,
  `/v0/ticks?pool=${POOLS.main.id}&${DAY}`,
  `/v0/ticks?pool=${POOLS.main.id}&networks=${NETWORK_NAMES.join(',')}`,
  // Priced by the reference pool of its network.
  `/v0/pools?pool=${POOLS.pepe.id}`,
  `/v0/candles?symbol=WETH-USDC&interval=1h&${DAY}`,
  `/v0/candles?symbol=usdc-eth&interval=1h&${DAY}&networks=${SERVED}`,
  `/v0/ticks?symbol=ETH-WBTC&${DAY}`,
  `/v0/pools?symbol=WETH-USDC`,
  `/v0/candles?pool=${UNKNOWN}&interval=1h`,
]
/** Whether other tokens have the symbol, or the listed ones a pool, only all pools tell. */
const OF_ALL: readonly [string, ...string[]] = [
  '/v0/pools?symbol=PEPE-WETH',
  '/v0/candles?symbol=WBTC-USDC&interval=1h',
  '/v0/ticks?symbol=NOPE-WETH',
]

describe.skipIf(withoutClickHouse)('a service that has not read all pools', () => {
  let database: TestDatabase

  beforeAll(async () => {
    database = await freshDatabase()
    await storeScenario(database.client)
  })
  afterAll(() => database?.drop())

  const start = (client: ClickHouseClient) =>
    startService({
      client,
      accounts: database.client,
      networks: NETWORKS_SERVED,
      clock: () => new Date((TIP + 10) * 1000),
      freshMs: 1_000,
    })

  test('answers about a pool that is named by its id, and about a pair of listed tokens, as afterwards', async () => {
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const service = await start(beforeAllPools(database.client, () => held))
    const ofAll = OF_ALL.map((question) => service.get(question))
    const early = await inTurn(service)
    for (const one of ofAll) expect(await Promise.race([one, 'waits'])).toBe('waits')
    release()
    expect((await Promise.all(ofAll)).map(({ status }) => status)).toEqual([200, 404, 404])
    const late = await inTurn(service)
    expect(early).toEqual(late)
    expect(early.map(({ status }) => status)).toEqual([...Array(9).fill(200), 404])
    await service.stop()
  })

  test('answers about these where the read of all fails, and reads all with the next question', async () => {
    let isFailing = true
    const service = await start(
      beforeAllPools(database.client, async () => {
        if (isFailing) throw new Error('This read fails.')
      }),
    )
    expect((await inTurn(service)).map(({ status }) => status)).toEqual([...Array(9).fill(200), 404])
    expect((await service.get(OF_ALL[0])).status).toBe(503)
    isFailing = false
    expect((await service.get(OF_ALL[0])).status).toBe(200)
    await service.stop()
  })

  test('reads no pools of listed tokens apart where these are many', async () => {
    const listed = await readListed(database.client, NETWORKS_SERVED)
    const count = listed?.get('ethereum')?.size ?? 0
    expect(count).toBeGreaterThan(1)
    expect(await readListed(database.client, NETWORKS_SERVED, 1)).toBeUndefined()
  })
})

async function inTurn(service: Service): Promise<{ status: number; data: unknown }[]> {
  const answers: { status: number; data: unknown }[] = []
  for (const question of QUESTIONS) {
    const { status, body } = await service.get(question)
    const { data, detail } = body as { data?: unknown; detail?: unknown }
    answers.push({ status, data: data ?? detail })
  }
  return answers
}

/** `before` a range of pools is read whole. */
function beforeAllPools(client: ClickHouseClient, before: () => Promise<void>): ClickHouseClient {
  return intercepted(client, async (send, _statement, [request]) => {
    const { first, pools } = (request as Parameters<ClickHouseClient['query']>[0]).query_params ?? {}
    if (first !== undefined && Array.isArray(pools) && pools.length === 0) await before()
    return send()
  })
}
