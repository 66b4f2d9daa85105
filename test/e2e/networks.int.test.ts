/** One listener for each network in a process of its own, and one aggregator process for all of them, on shared Kafka and tables. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { ask } from '../../aggregator/store/store.ts'
import { NETWORKS } from '../../ingest/model/networks.ts'
import { type Running, run } from '../support/candlepool.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { DAY } from '../support/recorded.ts'
import { recordedDayChain } from '../support/recorded-day.ts'
import { type RpcServer, startRpcServer } from '../support/rpc-server.ts'
import { until } from '../support/until.ts'

// No other suite uses their topics.
const NAMES = ['polygon', 'optimism'] as const
const FROM = DAY.lastBlock - 100
const kafka = inject('kafka')
const brokers = kafka && 'brokers' in kafka ? kafka.brokers : []

describe.skipIf(withoutClickHouse || brokers.length === 0)('networks side by side', () => {
  let database: TestDatabase
  let nodes: RpcServer[]
  const started: Running[] = []

  beforeAll(async () => {
    database = await freshDatabase()
    const day = recordedDayChain({ finalized: DAY.lastBlock - 40 })
    nodes = await Promise.all(NAMES.map((name) => startRpcServer({ ...day, chainId: NETWORKS[name].chainId })))
  })

  afterAll(async () => {
    await Promise.all(started.map((it) => it.stop()))
    await Promise.all((nodes ?? []).map((node) => node.stop()))
    await database?.drop()
  })

  function environment(): Record<string, string> {
    const { url, username, password } = database.connection
    return {
      ...Object.fromEntries(NAMES.map((name, index) => [`${name.toUpperCase()}_RPC_URL`, nodes[index]?.url ?? ''])),
      ...Object.fromEntries(NAMES.map((name) => [`${name.toUpperCase()}_START`, String(FROM)])),
      KAFKA_BROKERS: brokers.join(','),
      CLICKHOUSE_URL: url,
      CLICKHOUSE_USER: username,
      CLICKHOUSE_PASSWORD: password,
      CLICKHOUSE_DATABASE: database.database,
    }
  }

  test('each listener reads its own network, and no other', async () => {
    const shared = environment()
    const stored = () =>
      ask<{ network: string; tip: number; ticks: number }>(
        database.client,
        `SELECT network, toFloat64(max(number)) AS tip, toFloat64(sum(ticks)) AS ticks FROM blocks FINAL
         GROUP BY network ORDER BY network`,
        {},
      )
    started.push(run('aggregate', { ...shared, NETWORKS: NAMES.join(',') }))
    started.push(run('ingest', { ...shared, NETWORKS: 'polygon' }))
    const [polygon] = await until(async () => {
      const rows = await stored()
      return rows[0]?.tip === DAY.lastBlock ? rows : undefined
    }, 'polygon is stored')
    expect(polygon).toMatchObject({ network: 'polygon', tip: DAY.lastBlock })
    expect(polygon?.ticks).toBeGreaterThan(50)
    expect(nodes[1]?.calls['eth_getLogs']).toBeUndefined()

    started.push(run('ingest', { ...shared, NETWORKS: 'optimism' }))
    await until(async () => {
      const rows = await stored()
      return rows.length === 2 && rows.every(({ tip }) => tip === DAY.lastBlock) ? true : undefined
    }, 'both are stored')
    expect(await stored()).toEqual([{ ...polygon, network: 'optimism' }, polygon])
  })

  test('one without an address says that its public endpoint is slow, and what to set', async () => {
    const listener = run('ingest', { ...environment(), NETWORKS: 'base', BASE_START: 'latest' })
    started.push(listener)
    await listener.untilPrinted(/slow: set BASE_RPC_URL/)
  })
})
