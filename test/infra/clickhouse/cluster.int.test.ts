/** Configurations that a cluster refuses, and how its tables follow those of its servers. */
import type { ClickHouseClient } from '@clickhouse/client'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { migrateCluster } from '../../../infra/clickhouse/cluster.ts'
import { openStore } from '../../../infra/clickhouse/store.ts'
import { storeMetrics } from '../../../infra/telemetry/metrics-store.ts'
import { withoutClickHouse } from '../../support/clickhouse.ts'
import { inSoak } from '../../support/sample.ts'
import { type Shards, startShards } from '../../support/shards.ts'

describe.skipIf(withoutClickHouse)('a cluster', () => {
  let shards: Shards
  beforeAll(async () => {
    shards = await startShards(2)
  })
  afterAll(() => shards?.stop())

  const open = (change: object) => openStore({ store: { ...shards.config, ...change } }, '', () => {})

  test('gives every server a share, and a table over all of them for each table and view', async () => {
    const servers = shards.sharesOf('whole')
    const isDistributed = ({ name, engine }: { name: string; engine: string }) =>
      !name.startsWith('migrations') && engine !== 'MaterializedView'
    expect(await migrateCluster(servers, { name: 'market', database: 'whole' })).toEqual(servers)
    for (const server of servers) {
      const [shared, over] = await Promise.all([tablesOf(server, 'whole_share'), tablesOf(server, 'whole')])
      expect(over.map(({ name }) => name)).toEqual(shared.filter(isDistributed).map(({ name }) => name))
      expect(new Set(over.map(({ engine }) => engine))).toEqual(new Set(['Distributed']))
    }
  })

  test('is made once where several processes find it missing', inSoak, async () => {
    const stores = await Promise.all([1, 2, 3].map(() => open({ database: 'raced' })))
    for (const { owner, shards, close } of stores) {
      expect(shards.length).toBe(2)
      expect((await tablesOf(owner, 'raced')).length).toBeGreaterThan(10)
      await close()
    }
  })

  test('a column that a share has, and the table over it has not, is there after the next start', async () => {
    const [one, two] = shards.sharesOf('grown')
    if (!one || !two) throw new Error('There are two.')
    const cluster = { name: 'market', database: 'grown' }
    await migrateCluster([one, two], cluster)
    for (const server of [one, two])
      await server.command({ query: 'ALTER TABLE blocks ADD COLUMN twice UInt64 ALIAS number * 2' })
    await migrateCluster([one, two], cluster)
    await one.command({ query: "INSERT INTO grown.blocks (network, number) VALUES ('base', 21)" })
    const answer = await two.query({ query: 'SELECT twice FROM grown.blocks', format: 'JSONEachRow' })
    expect(await answer.json()).toEqual([{ twice: '42' }])
  })

  test('names what is missing', async () => {
    const { urls = [] } = shards.config.cluster ?? {}
    await expect(open({ cluster: { name: 'market', urls: urls.slice(1) } })).rejects.toThrowErrorMatchingInlineSnapshot(
      `[MigrationError: the cluster market has 2 servers: name all of them, not 1]`,
    )
    await expect(open({ cluster: { name: 'other', urls } })).rejects.toThrowErrorMatchingInlineSnapshot(
      `[MigrationError: a server does not find itself in the cluster other, of 0 servers]`,
    )
  })

  test('is up while each server answers', async () => {
    const registry = new Registry()
    const look = storeMetrics(registry)
    const up = async () => (await registry.getSingleMetric('candlepool_store_up')?.get())?.values[0]?.value
    const store = await open({})
    await look(store.servers)
    expect(await up()).toBe(1)
    await shards.kill(1)
    await look(store.servers)
    expect(await up()).toBe(0)
    await shards.restart(1)
    await look(store.servers)
    expect(await up()).toBe(1)
    await store.close()
  })

  test('is not taken for a single server, nor one for it', inSoak, async () => {
    const over = await open({})
    await over.close()
    await expect(open({ cluster: undefined })).rejects.toThrowErrorMatchingInlineSnapshot(
      `[MigrationError: the database candlepool is that of a cluster: name it in CLICKHOUSE_CLUSTER]`,
    )
    const single = await open({ database: 'single', cluster: undefined })
    await single.close()
    await expect(open({ database: 'single' })).rejects.toThrowErrorMatchingInlineSnapshot(
      `[MigrationError: the database single has tables of a single server, such as api_keys: choose another CLICKHOUSE_DATABASE, and copy them]`,
    )
  })
})

async function tablesOf(server: ClickHouseClient, database: string) {
  const answer = await server.query({
    query: 'SELECT name, engine FROM system.tables WHERE database = {database:String} ORDER BY name',
    query_params: { database },
    format: 'JSONEachRow',
  })
  return answer.json<{ name: string; engine: string }>()
}
