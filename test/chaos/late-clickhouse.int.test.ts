/** ClickHouse that is down when a process starts: waited for as one that goes away later is. What it refuses is not waited for. */
import { afterAll, beforeAll, describe, expect, type TestContext, test } from 'vitest'
import type { NetworkName } from '../../ingest/model/network.ts'
import { openNetwork } from '../e2e/cluster.ts'
import { fullBlocks, mine } from '../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { startOwnBroker } from '../support/kafka-jars.ts'
import { startProxy } from '../support/proxy.ts'

/** A broker of our own: the processes take real networks only, whose topics elsewhere belong to other tests. */
const broker = withoutClickHouse ? undefined : await startOwnBroker()
const CHAIN = mine([], fullBlocks(12, 5))

describe.skipIf(!broker)('an aggregator whose ClickHouse', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(async () => {
    await database?.drop()
    await broker?.stop()
  })

  const open = (context: TestContext, network: NetworkName) =>
    openNetwork(context, { brokers: broker?.brokers ?? [], database }, network)

  async function proxied({ onTestFinished }: TestContext) {
    const proxy = await startProxy(Number(new URL(database.connection.url).port))
    onTestFinished(proxy.stop)
    return { proxy, url: `http://127.0.0.1:${proxy.port}` }
  }

  test('is down when it starts waits, says so, and begins once it is there', async (context) => {
    const { tell, untilTip, startProcess, expectCleanRun } = await open(context, 'optimism')
    const { proxy, url } = await proxied(context)
    await proxy.goAway()
    const aggregator = startProcess('aggregate', { CLICKHOUSE_URL: url })
    await tell(CHAIN)
    const [line] = await aggregator.untilPrinted(/.*store waiting.*/)
    expect(line).toContain(`127.0.0.1:${proxy.port}`)
    expect(line).toMatch(/ECONNREFUSED|socket hang up/)
    await proxy.comeBack()
    await untilTip(CHAIN)
    await expectCleanRun(CHAIN)
    expect(await aggregator.stop()).toBe(0)
  })

  test('is down when it takes over from another waits for that too', async (context) => {
    const { tell, untilTip, takeTopic, startProcess, expectCleanRun } = await open(context, 'arbitrum')
    const { proxy, url } = await proxied(context)
    const aggregator = startProcess('aggregate', { CLICKHOUSE_URL: url })
    await tell(CHAIN.slice(0, 6))
    await untilTip(CHAIN.slice(0, 6))
    const giveBack = await takeTopic()
    await proxy.goAway()
    await giveBack()
    await tell(CHAIN.slice(6))
    await aggregator.untilPrinted(/stage restarted[\s\S]*store failed/)
    await proxy.comeBack()
    await untilTip(CHAIN)
    await expectCleanRun(CHAIN)
    expect(await aggregator.stop()).toBe(0)
  })

  test('refuses its password ends at once, with the reason', async (context) => {
    const { startProcess } = await open(context, 'base')
    const aggregator = startProcess('aggregate', { CLICKHOUSE_PASSWORD: 'a wrong one' })
    expect(await aggregator.exited).toBe(1)
    expect(aggregator.output()).toMatch(/[Aa]uthentication failed/)
    expect(aggregator.output()).not.toMatch(/store waiting/)
  })
})
