/** The tables of a cluster that the first version has made, brought up to date by this one. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { ClickHouseClient } from '@clickhouse/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { migrateCluster, shardDatabaseOf } from '../../infra/clickhouse/cluster.ts'
import { withoutClickHouse } from '../support/clickhouse.ts'
import { inSoak } from '../support/sample.ts'
import { type Shards, startShards } from '../support/shards.ts'
import { firstTree } from './trees.ts'

/** Run in the folder of a version, whose tables it makes. */
const MIGRATE = `
  import { connect } from './infra/clickhouse/client/client.ts'
  import { migrateCluster, shardDatabaseOf } from './infra/clickhouse/cluster.ts'
  const { config, database } = JSON.parse(process.env.CLUSTER)
  const servers = config.cluster.urls.map((url) => connect({ ...config, url, database: shardDatabaseOf(database) }))
  await migrateCluster(servers, { name: config.cluster.name, database })
  await Promise.all(servers.map((server) => server.close()))`

const POOLS = 64
const first = inSoak.skip ? undefined : await firstTree()

describe.skipIf(withoutClickHouse || !first)('a cluster of the first version', () => {
  let shards: Shards
  beforeAll(async () => {
    shards = await startShards(2)
  })
  afterAll(async () => {
    await shards?.stop()
    await first?.remove()
  })

  function serversOf(database: string): [ClickHouseClient, ClickHouseClient] {
    const [one, two] = shards.sharesOf(database)
    if (!one || !two) throw new Error('There are two.')
    return [one, two]
  }

  async function rows(server: ClickHouseClient, query: string): Promise<Record<string, unknown>[]> {
    return (await server.query({ query, format: 'JSONEachRow' })).json()
  }

  /** Columns of the tables of one shard, and of the tables over all shards. */
  function columnsOf(server: ClickHouseClient, database: string) {
    return rows(
      server,
      `SELECT if(database = '${database}', 'over', 'share') AS place, table, position, name, type, default_kind, default_expression, compression_codec
       FROM system.columns WHERE database IN ('${database}', '${shardDatabaseOf(database)}') ORDER BY place, table, position`,
    )
  }

  test('has the columns of a new one on each server, keeps its rows, and counts buys', async () => {
    const [one, two] = serversOf('upgraded')
    await promisify(execFile)(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', MIGRATE], {
      cwd: first?.root,
      env: { ...process.env, CLUSTER: JSON.stringify({ config: shards.config, database: 'upgraded' }) },
    })
    const candlesFrom = (time: string, more: string, values: string) => `
      INSERT INTO upgraded.candles (network, pool, resolution, time, trades, volume0${more})
      SELECT 'base', '0x' || hex(sipHash128(number)), 60, ${time}, 2, 7${values} FROM numbers(${POOLS})`
    await one.command({ query: candlesFrom('0', '', '') })
    const old = await columnsOf(one, 'upgraded')

    await migrateCluster([one, two], { name: 'market', database: 'upgraded' })
    const [newOne, newTwo] = serversOf('made')
    await migrateCluster([newOne, newTwo], { name: 'market', database: 'made' })
    for (const [server, made] of [
      [one, newOne],
      [two, newTwo],
    ] as const) {
      const columns = await columnsOf(server, 'upgraded')
      expect(columns).not.toEqual(old)
      expect(columns).toEqual(await columnsOf(made, 'made'))
      expect(await rows(server, 'SELECT uniqExact(pool) > 0 AS some FROM candles')).toEqual([{ some: 1 }])
    }

    await two.command({ query: candlesFrom('60', ', buys', ', 2') })
    const counted = `SELECT toUnixTimestamp(time) AS second, sum(trades) AS trades, sum(buys) AS buys, sum(bought0) AS bought
      FROM upgraded.candles GROUP BY second ORDER BY second`
    for (const server of [one, two]) {
      expect(await rows(server, counted)).toEqual([
        { second: 0, trades: `${2 * POOLS}`, buys: '0', bought: '0' },
        { second: 60, trades: `${2 * POOLS}`, buys: `${2 * POOLS}`, bought: `${7 * POOLS}` },
      ])
    }
  })
})
