/** Lists of pools where the store stops answering: each of its reads fails, and no rejection is left unhandled, which would end the process. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Market, openMarket } from '../../../../api/market/market.ts'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { startProxy, type TcpProxy } from '../../../support/proxy.ts'
import { until } from '../../../support/until.ts'
import { POOLS, storeScenario, TIP } from '../../scenario.ts'

describe.skipIf(withoutClickHouse)('the lists of pools', () => {
  let database: TestDatabase
  let proxy: TcpProxy
  let market: Market

  beforeAll(async () => {
    database = await freshDatabase()
    await storeScenario(database.client)
    const { hostname, port } = new URL(database.connection.url)
    proxy = await startProxy(Number(port), hostname)
    const reader = database.connect({ url: `http://127.0.0.1:${proxy.port}` })
    const networks = [NETWORKS.ethereum]
    market = openMarket({ reader, networks, clock: () => new Date((TIP + 10) * 1_000), freshMs: 60_000 })
  })
  afterAll(async () => {
    await proxy?.stop()
    await database?.drop()
  })

  test('are refused while the store does not answer, and are answered afterwards', async () => {
    // What a query reads first is known, so that the reads of the list itself fail.
    await market.pools({ pool: POOLS.main.id })
    const lists = await market.lists([])
    await proxy.goAway()
    await expect(lists.overview()).rejects.toMatchObject({ code: 'store_unavailable' })
    await proxy.comeBack()
    // A connection that was cut may not be known to be closed yet.
    const overview = await until(() => lists.overview().catch(() => undefined), 'the store answers again')
    expect(overview.listed.length).toBeGreaterThan(0)
  })
})
