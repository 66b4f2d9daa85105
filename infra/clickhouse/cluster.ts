/**
 * Tables over several servers. Each shard has the database of a single server, made by the same migrations; `Distributed` tables over the
 * shards have the names that queries use. Where the servers have the macros `shard` and `replica`, the tables of a shard are replicated:
 * that needs ClickHouse Keeper, and was written and reviewed, not run.
 */
import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client'
import { ask, IN_DEFAULT } from '../../aggregator/store/store.ts'
import { MigrationError, migrate } from './migrate.ts'

export type Cluster = {
  /** As ClickHouse's configuration names it. */
  name: string
  /** The database of the `Distributed` tables. */
  database: string
}

/** The database on each server that holds its shard's rows. */
export function shardDatabaseOf(database: string): string {
  return `${database}_share`
}

/** Settings of every query over shards. */
export const CLUSTER_SETTINGS = {
  // The tables of a subquery lie on all shards as well: it is answered once, for all of them.
  distributed_product_mode: 'global',
  // A pool's rows are asked of its shard alone.
  optimize_skip_unused_shards: 1,
  // An answer without the rows of a shard that is down would be a wrong one.
  skip_unavailable_shards: 0,
  // INSERT … SELECT runs once: run per shard, through Distributed, each aggregate would be inserted once per shard.
  parallel_distributed_insert_select: '0',
  // Where there are replicas: a row is stored once most of them have it, and one of them is asked as long as it answers.
  insert_quorum: 'auto',
  load_balancing: 'in_order',
} satisfies ClickHouseSettings

/**
 * Brings every server up to date, and returns one of each shard. `servers` are clients of each server's share, replicas too.
 * ClickHouse's own `ON CLUSTER` needs Keeper; this needs none.
 */
export async function migrateCluster(
  servers: readonly ClickHouseClient[],
  cluster: Cluster,
): Promise<ClickHouseClient[]> {
  const places = await Promise.all(servers.map((server) => replicaPositionOf(server, cluster.name)))
  const [{ replicas, isReplicated } = { replicas: 0, isReplicated: false }] = places
  const shards = places.map(({ shard }) => shard)
  const named = new Set(places.map(({ shard, replica }) => `${shard} ${replica}`)).size
  if (named < replicas)
    throw new MigrationError(`the cluster ${cluster.name} has ${replicas} servers: name all of them, not ${named}`)
  if (replicas > new Set(shards).size && !isReplicated)
    throw new MigrationError(
      `shards of the cluster ${cluster.name} have several replicas: give each server the macros shard and replica`,
    )
  for (const server of servers) {
    await migrate(server, { database: shardDatabaseOf(cluster.database), ...(isReplicated && { adapt: replicated }) })
  }
  for (const server of servers) await distribute(server, cluster)
  return servers.filter((_, index) => shards.slice(0, index).every((shard) => shard !== shards[index]))
}

/** Without `CLICKHOUSE_CLUSTER`, throws where the database is that of a cluster. */
export async function refuseCluster(server: ClickHouseClient, database: string): Promise<void> {
  const query = `SELECT name FROM system.tables WHERE database = {database:String} AND ${IS_OVER_SHARDS} LIMIT 1`
  const [found] = await ask(server, query, { database }, IN_DEFAULT)
  if (found) throw new MigrationError(`the database ${database} is that of a cluster: name it in CLICKHOUSE_CLUSTER`)
}

const IS_OVER_SHARDS = "engine = 'Distributed'"

type ReplicaPosition = { shard: number; replica: number; replicas: number; isReplicated: boolean }

/** The shard and replica of a server, from `system.clusters`. */
async function replicaPositionOf(server: ClickHouseClient, cluster: string): Promise<ReplicaPosition> {
  const [place] = await ask<{ shard: number; replica: number; replicas: number; macros: number }>(
    server,
    `SELECT
       anyIf(shard_num, is_local) AS shard, anyIf(replica_num, is_local) AS replica, toUInt32(count()) AS replicas,
       (SELECT toUInt32(count()) FROM system.macros WHERE macro IN ('shard', 'replica')) AS macros
     FROM system.clusters WHERE cluster = {cluster:String}`,
    { cluster },
    IN_DEFAULT,
  )
  if (!place || place.shard === 0)
    throw new MigrationError(
      `a server does not find itself in the cluster ${cluster}, of ${place?.replicas ?? 0} servers`,
    )
  return { ...place, isReplicated: place.macros === 2 }
}

/** The same table, kept by every replica of its shard. The name is spelt out in the path, so that each replica finds the same. */
export function replicated(statement: string): string {
  return statement.replace(
    /\bENGINE = (\w*MergeTree)\b(?:\(([^)]*)\))?/,
    (_, engine: string, by: string | undefined) => {
      const place = "'/clickhouse/tables/{shard}/{database}/{table}', '{replica}'"
      return `ENGINE = Replicated${engine}(${by ? `${place}, ${by}` : place})`
    },
  )
}

/** Tables and views of a shard without a `Distributed` table of the same columns. */
const UNDISTRIBUTED = `
  SELECT tables.name AS name, tables.sorting_key AS sorting_key
  FROM system.tables AS tables
  INNER JOIN
  (
      SELECT table
      FROM
      (
          SELECT database, table, groupArray((name, type, default_kind, default_expression)) AS columns
          FROM (SELECT * FROM system.columns ORDER BY position) AS columns
          WHERE database IN ({share:String}, {database:String})
          GROUP BY database, table
      )
      GROUP BY table
      HAVING (count(), uniqExact(columns)) != (2, 1)
  ) AS different ON different.table = tables.name
  WHERE tables.database = {share:String} AND tables.engine != 'MaterializedView'
    AND NOT startsWith(tables.name, 'migrations') AND NOT startsWith(tables.name, 'rebuilt_candles')`

/** `Distributed` tables hold no rows: they can be recreated at any time, also by several processes at once. */
async function distribute(server: ClickHouseClient, { name: cluster, database }: Cluster): Promise<void> {
  const share = shardDatabaseOf(database)
  await server.command({ query: `CREATE DATABASE IF NOT EXISTS ${database}` })
  const [own] = await ask<{ name: string }>(
    server,
    `SELECT name FROM system.tables WHERE database = {database:String} AND NOT ${IS_OVER_SHARDS} LIMIT 1`,
    { database },
    IN_DEFAULT,
  )
  if (own)
    throw new MigrationError(
      `the database ${database} has tables of a single server, such as ${own.name}: choose another CLICKHOUSE_DATABASE, and copy them`,
    )
  type Missing = { name: string; sorting_key: string }
  for (const { name, sorting_key } of await ask<Missing>(server, UNDISTRIBUTED, { share, database }, IN_DEFAULT)) {
    const by = sorting_key === '' ? '' : `, ${shardingKey(sorting_key)}`
    const engine = `Distributed('${cluster}', ${share}, ${name}${by})`
    await server.command({
      query: `CREATE OR REPLACE TABLE ${database}.${name} AS ${share}.${name} ENGINE = ${engine}`,
    })
  }
}

/**
 * Rows of a pool share a shard in every table, so that joins are local. A table without a pool in its key is sharded by the key's first
 * column, mostly the network: one insert then goes to one shard, and is atomic. A shard's materialized views put the symbols and the bounds of its
 * pools into its own tables: any shard may have a symbol or a hash.
 */
function shardingKey(sortingKey: string): string {
  const columns = sortingKey.split(', ')
  if (columns.includes('pool')) return 'cityHash64(network, pool)'
  const isOfAnyShard = columns.includes('symbol') || columns.includes('pool_hash')
  return isOfAnyShard ? 'rand()' : `cityHash64(${columns[0]})`
}
