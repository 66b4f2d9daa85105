/**
 * Three processes on a cluster of three brokers with TLS, SCRAM and a prefix: a recorded day with forks at its end (`FORKS=40`), and a broker
 * that is killed meanwhile. A consumer that reads the public topics alone has the answers of the API.
 */

import { Ajv } from 'ajv'
import formats from 'ajv-formats'
import kafkajs, { Kafka } from 'kafkajs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { RECORD_SCHEMAS } from '../../api/extras/topics/asyncapi.ts'
import { candlesOf, openTopicReader, type TopicReader, ticksOf } from '../client/topics.ts'
import { type Ask, asker, type Running, run } from '../support/candlepool.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { freePorts } from '../support/free-ports.ts'
import { kafkaOrSkip } from '../support/kafka.ts'
import { PASSWORD, type SecureCluster, startSecureCluster, USER } from '../support/kafka-cluster.ts'
import { DAY, DAY_POOL, recordedDay } from '../support/recorded.ts'
import { recordedDayChain } from '../support/recorded-day.ts'
import { dayReplacedFrom } from '../support/replaced-day.ts'
import { type RpcServer, startRpcServer } from '../support/rpc-server.ts'
import { sample } from '../support/sample.ts'
import { scrape, sum } from '../support/scrape.ts'
import { until } from '../support/until.ts'

const FORKS = sample('FORKS', 4, 10)
const DEPTH = 6
const START = DAY.lastBlock - FORKS - DEPTH
const KEY = 'a-key-for-the-published-day'
const PREFIX = 'desk-7.'

type Health = { networks: { tip: { number: number; hash: string } | null }[] }
type Page<Row> = { data: Row[] }

describe.skipIf(withoutClickHouse || kafkaOrSkip().skip)('the public topics of a day with forks', () => {
  let rpc: RpcServer
  let cluster: SecureCluster
  let database: TestDatabase
  let ask: Ask
  let reader: TopicReader
  let adminPort: number
  const stages: Running[] = []

  beforeAll(async () => {
    rpc = await startRpcServer({ ...recordedDayChain({ finalized: START - 1 }), head: START })
    cluster = await startSecureCluster({ size: 3 })
    database = await freshDatabase()
    const { url, username, password } = database.connection
    const shared = {
      ETHEREUM_RPC_URL: rpc.url,
      ETHEREUM_START: String(DAY.firstBlock),
      KAFKA_BROKERS: cluster.brokers.join(),
      KAFKA_SSL_CA_FILE: cluster.authority.caFile,
      KAFKA_SASL_MECHANISM: 'scram-sha-512',
      KAFKA_SASL_USERNAME: USER,
      KAFKA_SASL_PASSWORD: PASSWORD,
      KAFKA_TOPIC_PREFIX: PREFIX,
      KAFKA_REPLICATION: '3',
      PUBLISH: 'ticks,pools,candles',
      CLICKHOUSE_URL: url,
      CLICKHOUSE_USER: username,
      CLICKHOUSE_PASSWORD: password,
      CLICKHOUSE_DATABASE: database.database,
      BOOTSTRAP_API_KEY: KEY,
      PORT: '0',
    }
    ;[adminPort] = (await freePorts(1)) as [number]
    stages.push(run('ingest', shared))
    stages.push(run('aggregate', { ...shared, ADMIN_PORT: String(adminPort) }))
    stages.push(run('api', shared))
    const [, port] = (await stages[2]?.untilPrinted(/"port":(\d+),"msg":"server listening/)) ?? []
    ask = asker(`http://127.0.0.1:${port}`, KEY)
  })

  afterAll(async () => {
    await reader?.close()
    await Promise.all(stages.map((stage) => stage.stop()))
    await database?.drop()
    await cluster?.stop()
    await rpc?.stop()
  })

  const untilTip = (number: number) =>
    until(
      async () => ((await ask<Health>('/v0/health')).networks[0]?.tip?.number === number ? true : undefined),
      `block ${number} is stored`,
      120_000,
    )

  const untilPublished = (number: number) =>
    until(
      async () => {
        const { samples } = await scrape(adminPort)
        return (sum(samples, 'candlepool_published_block', { network: 'ethereum' }) ?? 0) >= number ? true : undefined
      },
      `block ${number} is published`,
      120_000,
    )

  test('are what the API answers', async () => {
    await untilTip(START)
    let replaced = 0
    for (let fork = 1; fork <= FORKS; fork++) {
      const from = START + fork - (fork % DEPTH)
      rpc.chain.logs = dayReplacedFrom(from, fork, (log) => Number(log.logIndex) % 2 === fork % 2)
      rpc.chain.head = START + fork
      if (fork === FORKS / 2) await cluster.nodes[2]?.kill()
      await untilTip(START + fork)
      // The other forks race the publisher: what is replaced before it is published needs no retraction.
      if (fork % 2 === 0) {
        await untilPublished(START + fork)
        replaced += swapsBetween(from, START + fork)
      }
    }
    rpc.chain.logs = recordedDay()
    rpc.chain.head = DAY.lastBlock
    await untilTip(DAY.lastBlock)

    const kafka = new Kafka({ brokers: cluster.operatorBrokers.slice(0, 2), logLevel: kafkajs.logLevel.NOTHING })
    const topics = {
      ticks: `${PREFIX}ticks.ethereum`,
      candles: `${PREFIX}candles.ethereum`,
      pools: `${PREFIX}pools.ethereum`,
    }
    reader = await openTopicReader(kafka, topics, 'the-consumer')
    const day = await allTicks()
    await until(async () => {
      await reader.catchUp()
      expect(ticksOf(reader, DAY_POOL)).toEqual(day)
      return true
    }, 'every tick is published')
    expect(day).toHaveLength(6_046)
    for (const [interval, resolution] of [
      ['1m', 60],
      ['1h', 3_600],
      ['1d', 86_400],
    ] as const) {
      const times = new Set(candlesOf(reader, DAY_POOL, resolution).map(({ time }) => time))
      const answered = await allCandles(interval, resolution)
      expect(candlesOf(reader, DAY_POOL, resolution)).toEqual(answered.filter(({ time }) => times.has(time)))
      expect(times.size).toBe({ '1m': 1_408, '1h': 24, '1d': 1 }[interval])
    }
    expectValid(reader.records)
    const retracted = reader.records.filter(({ headers }) => headers['op'] === 'retract')
    console.log(`${reader.records.length} records, ${retracted.length} of them retractions`)
    expect(replaced).toBeGreaterThan(FORKS / 2)
    expect(retracted.length).toBeGreaterThanOrEqual(replaced)
  })

  /** Swaps that the node's branch has in these blocks; a block without swaps has one log of one topic. */
  function swapsBetween(first: number, last: number): number {
    return rpc.chain.logs.filter(({ blockNumber, topics }) => {
      const number = Number(blockNumber)
      return number >= first && number <= last && topics.length > 1
    }).length
  }

  function expectValid(records: TopicReader['records']): void {
    const ajv = new Ajv({ strict: true })
    formats.default(ajv)
    const validators = Object.entries(RECORD_SCHEMAS).map(([kind, schema]) => [kind, ajv.compile(schema)] as const)
    for (const { topic, key, value, headers } of records) {
      const [kind, validate] = validators.find(([name]) => topic === `${PREFIX}${name}.ethereum`) ?? []
      if (value !== null) expect(validate?.(JSON.parse(value)), `${kind} ${key}: ${value}`).toBe(true)
      expect(headers).toMatchObject({ schema: '1', final: expect.stringMatching(/^(true|false)$/) })
    }
  }

  async function allTicks() {
    type Row = { id: string; timestamp: string }
    const found = new Map<string, Row>()
    let to = new Date(DAY.end * 1000)
    for (;;) {
      const { data } = await ask<Page<Row>>(
        `/v0/ticks?pool=${DAY_POOL}&from=2024-01-05&to=${to.toISOString()}&limit=1000&include=position,sender`,
      )
      const known = found.size
      for (const tick of data) found.set(tick.id, tick)
      if (found.size === known || data[0] === undefined) break
      to = new Date(Date.parse(data[0].timestamp) + 1_000)
    }
    const order = new Map(ticksOf(reader, DAY_POOL).map(({ id }, index) => [id, index]))
    return [...found.values()].sort((one, other) => (order.get(one.id) ?? -1) - (order.get(other.id) ?? -1))
  }

  async function allCandles(interval: string, seconds: number) {
    type Row = { time: string; open: number; high: number; low: number; close: number; volume: number }
    const rows: Row[] = []
    for (let from = DAY.start; from < DAY.end; from += 100 * seconds) {
      const [first, last] = [from, Math.min(DAY.end, from + 100 * seconds)].map((at) =>
        new Date(at * 1000).toISOString(),
      )
      const { data } = await ask<Page<Row>>(
        `/v0/candles?pool=${DAY_POOL}&interval=${interval}&from=${first}&to=${last}&limit=100`,
      )
      rows.push(...data)
    }
    return rows
  }
})
