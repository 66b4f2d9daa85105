/** A shard that is down: the flush waits for it, its pools are answered with 503, and nothing that was taken in is lost. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openStore, type Store } from '../../infra/clickhouse/store.ts'
import { NETWORKS } from '../../ingest/model/networks.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import { networkOf, startAggregator } from '../aggregator/running.ts'
import { MARKET_TABLES, tablesOf } from '../aggregator/tables.ts'
import { ProblemBody } from '../api/body.ts'
import { startService } from '../api/service.ts'
import { asBlocks, fullBlocks, mine } from '../support/chain.ts'
import { withoutClickHouse } from '../support/clickhouse.ts'
import { type Shards, startShards } from '../support/shards.ts'
import { until } from '../support/until.ts'
import { cleanRun } from './clean.ts'

/** Its pools are on both shards, its ledger is on the second. */
const network = 'polygon'
const PLANS = fullBlocks(30, 5)
const TRUNK = mine([], PLANS.slice(0, 10))
const LEFT = mine(TRUNK, PLANS.slice(10, 20), 'left')
const STAYS = mine(mine(TRUNK.slice(0, 8), PLANS.slice(10, 20), 'stays'), PLANS.slice(20, 30), 'stays')

describe.skipIf(withoutClickHouse)('a shard that is killed', () => {
  let shards: Shards
  let store: Store
  beforeAll(async () => {
    shards = await startShards(2)
    store = await openStore({ store: shards.config }, '', () => {})
  })
  afterAll(async () => {
    await store?.close()
    await shards?.stop()
  })

  test('is waited for in a flush and in a rollback, and what it lacks is refused till then', async () => {
    const aggregator = await startAggregator(store.owner, { network, shards: store.shards })
    await aggregator.append(asBlocks(network, TRUNK))
    const { reader: client, accounts } = store
    const clock = () => new Date('2024-03-01')
    const service = await startService({ client, accounts, networks: [NETWORKS[network]], clock })
    const ask = (pool: PoolId) => service.get(`/v0/candles?pool=${pool}&networks=${network}&interval=1d`)
    const pools = await poolsByShard(store)
    expect(pools.length).toBe(2)
    const failures = () => aggregator.facts.filter(({ kind }) => kind === 'store-failed').length

    for (const blocks of [LEFT.slice(TRUNK.length), STAYS.slice(8)]) {
      for (const pool of pools) expect((await ask(pool)).status).toBe(200)
      await shards.kill(1)
      const before = failures()
      let isStored = false
      const storing = aggregator.append(asBlocks(network, blocks)).then(() => {
        isStored = true
      })
      await until(async () => failures() > before || undefined, 'the tables have failed')
      const { status, body, headers } = await ask(pools[1] ?? '0x')
      expect([status, ProblemBody.parse(body).code]).toEqual([503, 'store_unavailable'])
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
      expect(isStored).toBe(false)
      await shards.restart(1)
      await storing
    }
    for (const pool of pools) expect((await ask(pool)).status).toBe(200)
    await service.stop()
    await aggregator.stop()
    const clean = networkOf('clean')
    await cleanRun(store.owner, clean, STAYS)
    const tables = await tablesOf(store.owner)
    for (const table of MARKET_TABLES) expect(tables(network)[table], table).toEqual(tables(clean)[table])
  })
})

/** One of each. */
async function poolsByShard({ owner }: Store): Promise<PoolId[]> {
  const query =
    'SELECT any(pool) AS pool FROM candles WHERE network = {network:String} GROUP BY _shard_num ORDER BY _shard_num'
  const answer = await owner.query({ query, query_params: { network }, format: 'JSONEachRow' })
  return (await answer.json<{ pool: PoolId }>()).map(({ pool }) => pool)
}
