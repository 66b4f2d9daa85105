/** A request budget over real endpoints, counted in real tables. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Store } from '../../../infra/clickhouse/store.ts'
import { readConfig } from '../../../infra/config/config.ts'
import { configuredNetwork } from '../../../infra/config/networks.ts'
import { RequestBudgets, readRequestCount } from '../../../infra/process/request-budgets.ts'
import { connectChain } from '../../../infra/rpc/chain-client.ts'
import type { IngestFact } from '../../../ingest/model/fact.ts'
import { withHistoryPriority } from '../../../ingest/rpc/endpoints/endpoints.ts'
import { dayOf } from '../../../ingest/rpc/endpoints/request-budget.ts'
import { getHeader } from '../../../ingest/rpc/rpc.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { DAY } from '../../support/recorded.ts'
import { startRecordedDay } from '../../support/recorded-day.ts'
import type { RpcServer } from '../../support/rpc-server.ts'
import { until } from '../../support/until.ts'

describe.skipIf(withoutClickHouse)('a budget of requests', () => {
  let database: TestDatabase
  let nodes: RpcServer[]
  let facts: IngestFact[]
  let stopping: AbortController

  beforeAll(async () => {
    nodes = [await startRecordedDay(), await startRecordedDay()]
  })

  beforeEach(async () => {
    database = await freshDatabase()
    facts = []
    stopping = new AbortController()
  })

  afterEach(async () => {
    stopping.abort()
    await database.drop()
  })

  afterAll(async () => {
    await Promise.all(nodes.map((node) => node.stop()))
  })

  const sent = () => nodes.flatMap(({ calls }) => Object.values(calls)).reduce((sum, count) => sum + count, 0)
  const counted = () => readRequestCount(database.client, 'ethereum', dayOf(Date.now()))

  /** Endpoints of a process that has just begun. */
  function connect(budget: string) {
    const config = readConfig({
      ETHEREUM_RPC_URL: nodes.map(({ url }) => url).join(','),
      ETHEREUM_RPC_BUDGET: budget,
    })
    const network = configuredNetwork(config, 'ethereum')
    if (!network) throw new Error('ethereum is not configured')
    const report = (fact: IngestFact) => void facts.push(fact)
    const store = { owner: database.client } as Store
    const options = { network: network.network, report, signal: stopping.signal, retryPolicy: { compareMs: 3_600_000 } }
    return connectChain(network.urls, {
      ...options,
      headerProof: 'off',
      budget: new RequestBudgets().open(network, store, report),
    }).endpoints
  }

  test('counts each call of a batch, over all endpoints, and after a restart', async () => {
    const before = sent()
    const endpoints = connect('60/d')
    const readAll = (count: number) => (client: Parameters<typeof getHeader>[0]) =>
      Promise.all(Array.from({ length: count }, (_, index) => getHeader(client, DAY.lastBlock - index)))
    // The second endpoint takes over in the middle.
    await endpoints.run(readAll(10))
    const [first] = nodes
    if (first) first.faults.reset = true
    await endpoints.run(readAll(5))
    if (first) first.faults.reset = false
    expect(await counted()).toBeGreaterThanOrEqual(sent() - before)
    const history = withHistoryPriority(connect('60/d'))
    const reading = history.run(readAll(40))
    reading.catch(() => undefined)
    await until(async () => facts.find(({ kind }) => kind === 'budget-reserved'), 'the share of history is used')
    expect(await counted()).toBeLessThanOrEqual(60)
    expect(sent() - before).toBeLessThanOrEqual(48)
    expect(facts.filter(({ kind }) => kind === 'budget-reserved')).toHaveLength(1)
    stopping.abort()
    await expect(reading).rejects.toThrow()
  })

  test('reads on while the tables do not answer, and counts afterwards', async () => {
    const endpoints = connect('1000/d')
    await database.client.command({ query: 'RENAME TABLE request_counts TO request_counts_away' })
    await endpoints.run((client) => getHeader(client, DAY.lastBlock))
    await database.client.command({ query: 'RENAME TABLE request_counts_away TO request_counts' })
    for (let requests = 0; requests < 10; requests++)
      await endpoints.run((client) => getHeader(client, DAY.lastBlock - requests))
    await until(async () => ((await counted()) >= 20 ? true : undefined), 'both claims are stored')
  })
})
