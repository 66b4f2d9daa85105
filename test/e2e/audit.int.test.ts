/** The audit runs unasked, and a broken log index does no lasting harm: in one process, and in a cluster. */
import type { ClickHouseClient } from '@clickhouse/client'
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest'
import { readRecords } from '../../aggregator/history/audit-record.ts'
import { connect } from '../../infra/clickhouse/client/client.ts'
import { findEngine } from '../../infra/clickhouse/engine/engine-access.ts'
import { V3_TOPICS } from '../../ingest/decode/decode-v3.ts'
import { NETWORKS } from '../../ingest/model/networks.ts'
import { FINALIZED, FIRST, type Nodes, startNodes } from '../aggregator/extras/audit/audited.ts'
import { type Running, run, temporaryFolder, untilReady } from '../support/candlepool.ts'
import { freshDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { rowsOf } from '../support/rows.ts'
import { inSoak } from '../support/sample.ts'
import { until } from '../support/until.ts'

const TABLES = ['ticks', 'candles', 'liquidity_changes'] as const

describe.skipIf(withoutClickHouse)('the audit', () => {
  let nodes: Nodes
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let clean: Record<string, string[]>
  const started: Running[] = []

  beforeAll(async () => {
    // Of a network whose topics no other suite uses.
    nodes = await startNodes(NETWORKS.arbitrum.chainId)
    folder = await temporaryFolder()
    clean = await inOneProcess('clean', [nodes.two.url], (client) => untilAudited(client, 0))
    const broken = nodes.one.chain.logs.filter((_, index) => index % 50 === 7)
    const swap = nodes.one.chain.logs.find(({ topics }) => topics[0] === V3_TOPICS.swap)
    nodes.one.faults.hideLogs = (log) => broken.includes(log) && Number(log.blockNumber) <= FINALIZED
    if (swap) nodes.one.faults.inventLogs = [{ ...swap, logIndex: '0x3e9' }]
  })

  afterEach(async () => {
    await Promise.all(started.splice(0).map((it) => it.stop()))
  })

  afterAll(async () => {
    await folder?.remove()
    await nodes?.stop()
  })

  const environment = (urls: readonly string[]) => ({
    ARBITRUM_RPC_URL: urls.join(','),
    ARBITRUM_START: String(FIRST),
    LOG_LEVEL: 'debug',
  })

  async function tablesOf(client: ClickHouseClient): Promise<Record<string, string[]>> {
    return Object.fromEntries(await Promise.all(TABLES.map(async (table) => [table, await rowsOf(client, table)])))
  }

  async function inOneProcess(
    name: string,
    urls: readonly string[],
    look: (client: ClickHouseClient) => Promise<unknown>,
  ): Promise<Record<string, string[]>> {
    const dataDir = `${folder.path}/${name}`
    const main = run('start', { ...environment(urls), DATA_DIR: dataDir, PORT: '0' })
    started.push(main)
    await untilReady(main)
    const engine = await until(() => findEngine(`${dataDir}/store`), 'the engine answers')
    const client = connect({ ...engine, ...engine.users.owner })
    try {
      await look(client)
      return await tablesOf(client)
    } finally {
      await client.close()
      await main.stop()
    }
  }

  async function untilAudited(client: ClickHouseClient, omitted: number) {
    const record = await until(async () => {
      const [found] = await readRecords(client, 'arbitrum')
      return found && found.next > FINALIZED ? found : undefined
    }, 'all that is final is audited')
    expect(record).toMatchObject({ omitted, invented: omitted === 0 ? 0 : 1, undecided: [], repairing: [] })
  }

  const omitted = () => nodes.one.chain.logs.filter((log) => nodes.one.faults.hideLogs?.(log)).length

  test('runs beside the listener of one process', async () => {
    const tables = await inOneProcess('broken', [nodes.one.url, nodes.two.url], (client) =>
      untilAudited(client, omitted()),
    )
    expect(tables).toEqual(clean)
  })

  const kafka = inject('kafka')
  const brokers = kafka && 'brokers' in kafka ? kafka.brokers : undefined

  test.skipIf(!brokers)('runs beside the listener of a cluster, and repairs through Kafka', inSoak, async () => {
    const database = await freshDatabase()
    const { url, username, password } = database.connection
    const shared = {
      ...environment([nodes.one.url, nodes.two.url]),
      KAFKA_BROKERS: (brokers ?? []).join(','),
      CLICKHOUSE_URL: url,
      CLICKHOUSE_USER: username,
      CLICKHOUSE_PASSWORD: password,
      CLICKHOUSE_DATABASE: database.database,
    }
    started.push(run('aggregate', shared), run('ingest', shared))
    await untilAudited(database.client, omitted())
    expect(await tablesOf(database.client)).toEqual(clean)
    await Promise.all(started.splice(0).map((it) => it.stop()))
    await database.drop()
  })
})
