/** Prices that are kept in memory beside the writes of other processes: none is of before a change that is shown. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Network } from '../../../../ingest/model/network.ts'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import { type Running, startAggregator } from '../../../aggregator/running.ts'
import { intercepted, queryOf } from '../../../aggregator/statements.ts'
import { asBlocks, type Chain, fullBlocks, mine, POOLS, withOwnTransactions } from '../../../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { type Service, startService } from '../../service.ts'

const NETWORK: Network = NETWORKS.ethereum
const [POOL = { id: '' }] = POOLS
/** Questions do not wait for a poll that is held. */
const FRESH_MS = 20_000
const QUESTION = `/v0/pools?pool=${POOL.id}`
/** The cache's statement for the candles that a change names. */
const REFRESH = queryOf('api/market/cache/changed-buckets.sql')

describe.skipIf(withoutClickHouse)('a price in memory', () => {
  let database: TestDatabase
  let service: Service
  let running: Running
  let chain: Chain
  /** While it is there, the cache's refresh waits for it, and is sent afterwards. */
  let held: Promise<void> | undefined
  let onHeld = () => {}

  beforeEach(async () => {
    database = await freshDatabase()
    const client = intercepted(database.client, async (send, method, [options]) => {
      if (held && method === 'exec' && REFRESH.test((options as { query: string }).query)) {
        onHeld()
        await held
      }
      return send()
    })
    chain = grown(mine([], withOwnTransactions(fullBlocks(3, 1), 'first')), 100)
    running = await startAggregator(database.client, { network: 'ethereum' })
    await running.append(asBlocks('ethereum', chain))
    service = await startService({ client, networks: [NETWORK], clock: () => new Date(), freshMs: FRESH_MS })
  })
  afterEach(async () => {
    await running?.stop()
    await service?.stop()
    await database?.drop()
  })

  function grown(below: Chain, secondsLater: number): Chain {
    const plans = fullBlocks(1, secondsLater).map((plan) => ({
      ...plan,
      secondsLater,
      ticks: plan.ticks.map((tick) => ({ ...tick, pool: POOL.id as typeof tick.pool })),
    }))
    return mine(below, withOwnTransactions(plans, String(secondsLater)))
  }

  async function price(): Promise<string | undefined> {
    const { data } = (await service.get(QUESTION)).body as { data: { sqrtPrice: string }[] }
    return data[0]?.sqrtPrice
  }
  async function tip(): Promise<number | undefined> {
    const { networks } = (await service.get('/v0/health')).body as { networks: { tip: { number: number } }[] }
    return networks[0]?.tip.number
  }

  test('is read again where it was read between a change and the candles that the change names', async () => {
    const before = await price()
    await service.get(`/v0/candles?pool=${POOL.id}&interval=1h&limit=5`)
    let release = () => {}
    held = new Promise((resolve) => {
      release = resolve
    })
    const isHeld = new Promise<void>((resolve) => {
      onHeld = resolve
    })
    const later = grown(chain, 4_000)
    await running.append(asBlocks('ethereum', later).slice(chain.length))
    await price()
    await isHeld
    // The last hour of the pool is still the one before, by the candles in memory.
    expect(await price()).toBe(before)
    held = undefined
    release()
    await expect.poll(tip).toBe(later.at(-1)?.number)
    expect(await price()).toBe(String(later.at(-1)?.ticks.at(-1)?.sqrtPriceX96))
  })
})
