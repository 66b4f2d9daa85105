/** ClickHouse that is gone, slow, read-only, out of disk or killed while it is written to: nothing that was read is given up. */
import type { ClickHouseClient } from '@clickhouse/client'
import { describe, expect, type TestContext, test } from 'vitest'
import { connect } from '../../infra/clickhouse/client/client.ts'
import { startEngine } from '../../infra/clickhouse/engine/engine.ts'
import { migrate } from '../../infra/clickhouse/migrate.ts'
import { inProcessLog } from '../../infra/kafka/in-process.ts'
import type { RangeOverwrite } from '../../ingest/model/message.ts'
import { networkOf, type Running, startAggregator } from '../aggregator/running.ts'
import { intercepted } from '../aggregator/statements.ts'
import { temporaryFolder } from '../support/candlepool.ts'
import { asBlocks, type Chain, fullBlocks, mine, newTo } from '../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { startProxy } from '../support/proxy.ts'
import { drawn, inSoak } from '../support/sample.ts'
import { until } from '../support/until.ts'
import { expectCleanRun } from './clean.ts'
import { overwriteOf } from './overwrite.ts'
import { type Place, placesOf } from './places.ts'
import { startSlowProxy } from './slow-proxy.ts'

const PLANS = fullBlocks(30, 5)
/** Ten blocks, then ten of a branch that is left, or ten and ten more of the one that stays. */
const TRUNK = mine([], PLANS.slice(0, 10))
const LEFT = mine(TRUNK, PLANS.slice(10, 20), 'left')
const STAYS = mine(mine(TRUNK.slice(0, 8), PLANS.slice(10, 20), 'stays'), PLANS.slice(20, 30), 'stays')
const NETWORK = networkOf('shaken')

type Case = {
  aggregator: Running
  /** Appends the messages that come after those of earlier calls; resolves once stored. */
  tell(chain: Chain): Promise<void>
  state(chain: Chain, job: number): Promise<void>
  untilFailed(count: number): Promise<unknown>
  /** Everything is stored as if nothing had happened. */
  expectClean(chain: Chain): Promise<void>
}

/** `client` is the way that the fault is on; the truth is asked for on another one. */
async function open({ onTestFinished }: TestContext, truth: ClickHouseClient, client = truth): Promise<Case> {
  const history = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
  const aggregator = await startAggregator(client, { network: NETWORK, history })
  const stated: RangeOverwrite[] = []
  let known: Chain = []
  const stop = async () => {
    const failure = await aggregator.stop()
    await history.close()
    return failure
  }
  onTestFinished(async () => {
    await stop()
  })
  const failures = () => aggregator.facts.filter(({ kind }) => kind === 'store-failed').length
  return {
    aggregator,
    tell(chain) {
      const fresh = newTo(known, chain)
      known = chain
      return aggregator.append(asBlocks(NETWORK, fresh))
    },
    async state(chain, job) {
      const messages = overwriteOf(NETWORK, chain, job)
      stated.push(...messages)
      await history.append(messages)
    },
    untilFailed: (count) => until(async () => (failures() >= count ? true : undefined), 'the tables have failed'),
    async expectClean(chain) {
      expect(await stop()).toBeUndefined()
      await expectCleanRun(truth, NETWORK, chain, stated)
    },
  }
}

/** A database of its own, since its tables are changed and its place is taken. */
async function database({ onTestFinished }: TestContext): Promise<TestDatabase> {
  const fresh = await freshDatabase()
  onTestFinished(fresh.drop)
  return fresh
}

const portOf = ({ connection }: TestDatabase) => Number(new URL(connection.url).port)
const through = (fresh: TestDatabase, port: number, more = {}) =>
  fresh.connect({ url: `http://127.0.0.1:${port}`, ...more })

describe.skipIf(withoutClickHouse)('ClickHouse', () => {
  test.concurrent('a server that is gone for minutes is waited for, longer each time, while the chain grows and forks', async (context) => {
    const fresh = await database(context)
    const proxy = await startProxy(portOf(fresh))
    context.onTestFinished(proxy.stop)
    const { aggregator, tell, state, untilFailed, expectClean } = await open(
      context,
      fresh.client,
      through(fresh, proxy.port),
    )
    await tell(TRUNK)
    await proxy.goAway()
    const flushing = Promise.all([tell(LEFT), tell(STAYS)])
    await untilFailed(1)
    // The flush holds the turn while it is repeated: the restatement has nothing to repeat.
    const telling = Promise.all([flushing, state(TRUNK.slice(2, 7), 1)])
    await untilFailed(4)
    const waits = aggregator.facts.flatMap((fact) => (fact.kind === 'store-failed' ? [fact.retryMs] : []))
    expect(waits.slice(0, 4)).toStrictEqual([250, 500, 1_000, 2_000])
    await proxy.comeBack()
    await telling
    await expectClean(STAYS)
  })

  test.concurrent('a slow server holds the stream back, which then takes more at once', inSoak, async (context) => {
    const fresh = await database(context)
    const proxy = await startSlowProxy(portOf(fresh))
    context.onTestFinished(proxy.stop)
    const { aggregator, tell, state, untilFailed, expectClean } = await open(
      context,
      fresh.client,
      through(fresh, proxy.port, { requestTimeoutMs: 1_000 }),
    )
    await tell(TRUNK)
    proxy.delayMs = 60
    const before = aggregator.facts.length
    await Promise.all([
      ...LEFT.slice(10).map((_, index) => tell(LEFT.slice(0, 11 + index))),
      state(TRUNK.slice(2, 7), 1),
    ])
    const flushes = aggregator.facts.slice(before).filter(({ kind }) => kind === 'flushed')
    expect(flushes.length).toBeLessThan(10)
    // So slow that what it does is taken for failed, and done again.
    proxy.delayMs = 700
    const telling = Promise.all([tell(STAYS), state(TRUNK.slice(1, 5), 2)])
    await untilFailed(2)
    proxy.delayMs = 0
    await telling
    await expectClean(STAYS)
  })

  const REFUSALS = [
    { what: 'is read-only', setting: 'table_readonly = 1', reset: 'table_readonly', error: /readonly/ },
    {
      what: 'is out of disk',
      setting: 'min_free_disk_bytes_to_perform_insert = 1000000000000000000',
      reset: 'min_free_disk_bytes_to_perform_insert',
      error: /enough free space/,
    },
  ]
  test.concurrent.for(drawn('refusals', REFUSALS, 1))(
    'a table that $what is waited for, one table after the other',
    async ({ setting, reset, error }, context) => {
      const fresh = await database(context)
      const { aggregator, tell, state, untilFailed, expectClean } = await open(context, fresh.client)
      await tell(TRUNK)
      const steps = [
        { table: 'ticks', task: () => tell(LEFT) },
        { table: 'candles', task: () => tell(STAYS) },
        { table: 'blocks', task: () => tell(LEFT) },
        { table: 'coverage', task: () => state(TRUNK.slice(2, 7), 1) },
        { table: 'liquidity_changes', task: () => tell(STAYS) },
      ]
      for (const [index, { table, task }] of steps.entries()) {
        await fresh.client.command({ query: `ALTER TABLE ${table} MODIFY SETTING ${setting}` })
        const telling = task()
        await untilFailed(index + 1)
        await fresh.client.command({ query: `ALTER TABLE ${table} RESET SETTING ${reset}` })
        await telling
      }
      const failed = aggregator.facts.flatMap((fact) => (fact.kind === 'store-failed' ? [String(fact.error)] : []))
      expect(failed.filter((message) => !error.test(message))).toStrictEqual([])
      await expectClean(STAYS)
    },
  )
})

describe.skipIf(withoutClickHouse)('an engine without memory for a statement', () => {
  test('is asked again until it has some', async (context) => {
    const fresh = await freshDatabase()
    context.onTestFinished(() => fresh.drop())
    let isLow = false
    const limited = intercepted(fresh.client, (send, _, [options]) => {
      const { clickhouse_settings: settings } = options as { clickhouse_settings?: object }
      if (isLow) Object.assign(options as object, { clickhouse_settings: { ...settings, max_memory_usage: '1000' } })
      return send()
    })
    const { aggregator, tell, state, untilFailed, expectClean } = await open(context, fresh.client, limited)
    await tell(TRUNK)
    const tasks = [() => tell(LEFT), () => tell(STAYS), () => state(TRUNK.slice(2, 7), 1)]
    for (const [index, task] of tasks.entries()) {
      isLow = true
      const telling = task()
      await untilFailed(index + 1)
      isLow = false
      await telling
    }
    const failed = aggregator.facts.flatMap((fact) => (fact.kind === 'store-failed' ? [String(fact.error)] : []))
    expect(failed.filter((message) => !/memory limit exceeded/i.test(message))).toStrictEqual([])
    await expectClean(STAYS)
  })
})

describe.skipIf(withoutClickHouse)('an engine of our own', () => {
  const KILLED_AT: readonly Place[] = [
    'flush: insert candles',
    'flush: insert ticks',
    'rollback: tombstone_rows ticks',
    'flush: insert blocks',
    'rollback: candles_from_ticks 1',
    'restate: insert coverage',
  ]

  test('an engine that is killed mid-insert and restarted on its folder and port resumes where it was', async (context) => {
    const folder = await temporaryFolder()
    let engine = await startEngine({ dataDir: folder.path })
    const port = Number(new URL(engine.url).port)
    const client = connect({ ...engine, ...engine.users.owner })
    context.onTestFinished(async () => {
      await client.close()
      await engine.stop()
      await folder.remove()
    })
    await migrate(client, engine)
    const waiting = [...KILLED_AT]
    const places = placesOf()
    let killed = 0
    let isDying = false
    let restarting: Promise<unknown> = Promise.resolve()
    const fragile = intercepted(client, (send, _, [options]) => {
      const { query, query_params = {} } = options as { query: string; query_params?: Record<string, unknown> }
      const sent = send()
      const place = places.of(query, query_params)
      if (place === undefined || place !== waiting[0] || isDying) return sent
      waiting.shift()
      killed++
      isDying = true
      // On its way, or under way, or just done.
      setTimeout(() => {
        process.kill(-engine.pid, 'SIGKILL')
        restarting = engine.exited.then(async () => {
          engine = await startEngine({ dataDir: folder.path, port })
          isDying = false
        })
      }, killed % 4)
      return sent
    })
    const { aggregator, tell, state, expectClean } = await open(context, client, fragile)
    places.started()
    await tell(TRUNK)
    for (let flip = 0; waiting.length > 0; flip++) {
      await tell(flip % 2 === 0 ? LEFT : STAYS)
      await state(TRUNK.slice(0, flip + 1), flip + 1)
      await restarting
    }
    expect(killed).toBe(KILLED_AT.length)
    expect(aggregator.facts.filter(({ kind }) => kind === 'store-failed').length).toBeGreaterThan(0)
    console.log(`${killed} engines killed while they were written to`)
    await tell(STAYS)
    await expectClean(STAYS)
  })
})
