/** Answers while a rollback is under way: the ledger has its lower tip, and the candles are still those of the branch that is being taken back. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { storedChain } from '../../../../aggregator/ledger/stored-blocks.ts'
import type { Network } from '../../../../ingest/model/network.ts'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import type { PoolId } from '../../../../ingest/model/pool.ts'
import { type Running, startAggregator } from '../../../aggregator/running.ts'
import { held, intercepted, queryOf } from '../../../aggregator/statements.ts'
import {
  asBlocks,
  type BlockPlan,
  type Chain,
  fullBlocks,
  mine,
  POOLS,
  withOwnTransactions,
} from '../../../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { withExtras } from '../../../support/extras.ts'
import { type Gate, startGate } from '../../../support/gate.ts'
import { openStream, type Service, startService } from '../../service.ts'

const NETWORK: Network = NETWORKS.ethereum
const [POOL = { id: '' }] = POOLS
/** The seconds of both blocks of a branch are in one minute, and those of the fork's last block in another one. */
const SECONDS = [100, 5, 5, 70]
const CHANGES = /INSERT INTO changes/
/** The cache's statement for the candles that a change names. */
const REFRESH = queryOf('api/market/cache/changed-buckets.sql')
const RECOMPUTED = /INSERT INTO candles/
/** A poll's statement for the changes since the one before. */
const READ_CHANGES = queryOf('api/market/cache/changes.sql')

describe.skipIf(withoutClickHouse)('a rollback under way', () => {
  let database: TestDatabase
  /** Between the aggregator and the store. */
  let writing: Gate
  let service: Service
  let running: Running
  let chain: Chain

  beforeEach(async () => {
    database = await freshDatabase()
    writing = await startGate(database.connection.url)
    chain = grown(mine([], withOwnTransactions(fullBlocks(6, 1), 'first')), SECONDS)
    running = await startAggregator(database.connect({ url: writing.url }), { network: 'ethereum' })
    await running.append(asBlocks('ethereum', chain))
    service = await startService({ client: database.client, networks: [NETWORK], clock: () => new Date() })
  })
  afterEach(async () => {
    writing?.open()
    await running?.stop()
    await service?.stop()
    writing?.stop()
    await database?.drop()
  })

  function grown(below: Chain, secondsLater: readonly number[], branch = 'first'): Chain {
    const plans = fullBlocks(secondsLater.length, branch.length).map((plan, index) => ({
      ...plan,
      secondsLater: secondsLater[index] ?? 1,
      ticks: plan.ticks.map((tick) => ({ ...tick, pool: POOL.id as typeof tick.pool })),
    }))
    return mine(below, withOwnTransactions(plans, branch), branch)
  }

  const time = (block: Chain[number] | undefined) => (block?.timestamp ?? 0) * 1_000
  const iso = (ms: number) => new Date(ms).toISOString()

  test('answers come from the old branch until the rollback is done, and then from the new one', async () => {
    const [from, to] = [time(chain.at(-4)), time(chain.at(-1)) + 60_000]
    const range = `pool=${POOL.id}&from=${iso(from)}&to=${iso(to)}`
    const questions = ['previous', 'none'].flatMap((fill) =>
      ['1s', '1m', '7m'].map((interval) => `/v0/candles?${range}&interval=${interval}&fill=${fill}&limit=100`),
    )
    const askAll = () =>
      Promise.all(questions.map(async (one) => ((await service.get(one)).body as { data: unknown[] }).data))
    const before = await askAll()
    const held = writing.shut(CHANGES)
    const kept = chain.slice(0, -3)
    const appended = running.append(asBlocks('ethereum', grown(kept, [3], 'another').slice(-1)))
    await held
    const { tip } = storedChain(database.client, 'ethereum')
    await expect.poll(async () => (await tip())?.number).toBe(kept.at(-1)?.number)
    for (let polls = 0; polls < 10; polls++) {
      expect(await askAll()).toEqual(before)
      await new Promise((resolve) => setTimeout(resolve, 120))
    }
    const { body } = await service.get('/v0/health')
    expect(JSON.stringify(body)).toContain(chain.at(-1)?.hash)
    writing.open()
    await appended
    await expect.poll(askAll).not.toEqual(before)
    const another = await startService({ client: database.client, networks: [NETWORK], clock: () => new Date() })
    const asStored = await Promise.all(
      questions.map(async (one) => ((await another.get(one)).body as { data: unknown[] }).data),
    )
    await another.stop()
    await expect.poll(askAll).toEqual(asStored)
  })

  test(
    'the first block of the new branch is not shown before the cache has what the rollback took back',
    withExtras,
    async () => {
      const network = 'ethereum'
      const own = await freshDatabase()
      const reading = held(own.client, READ_CHANGES, 'answered')
      const [one, other] = POOLS.map(({ id }) => id)
      const block = (pool: PoolId | undefined, seed: number): BlockPlan => {
        const [plan] = fullBlocks(1, seed)
        if (!plan || !pool) throw new Error('There are three pools.')
        return { ...plan, pools: [...POOLS], secondsLater: 5, ticks: plan.ticks.map((tick) => ({ ...tick, pool })) }
      }
      const plansOf = (branch: string, ...pools: (PoolId | undefined)[]) =>
        withOwnTransactions(
          pools.map((pool, index) => block(pool, branch.length + index)),
          branch,
        )
      const abandoned = mine([], plansOf('first', one, other, one, other))
      const branch = mine(abandoned.slice(0, 2), plansOf('another', one, one, one), 'another')
      const options = { networks: [NETWORK], clock: () => new Date(time(branch.at(-1))) }
      // States are shown from memory for so long, and thus while the poll is late.
      const told = await startService({ ...options, client: reading.client, freshMs: 3_600_000 })
      const bare = await startService({ ...options, client: own.client, key: told.key })
      const aggregator = await startAggregator(own.client, { network, onWritten: told.look })
      onTestFinished(async () => {
        reading.release()
        await aggregator.stop()
        for (const service of [told, bare]) await service.stop()
        await own.drop()
      })
      const questions = [one, other].flatMap((pool) =>
        ['1s', '1m'].map((interval) => `/v0/candles?pool=${pool}&interval=${interval}&fill=none&limit=100`),
      )
      const seen = async (from: Service) => ({
        tip: ((await from.get('/v0/health')).body as { networks: { tip?: { hash: string } }[] }).networks[0]?.tip?.hash,
        rows: await Promise.all(questions.map(async (each) => ((await from.get(each)).body as { data: unknown }).data)),
      })
      await aggregator.append(asBlocks(network, abandoned))
      await expect.poll(() => seen(told)).toEqual(await seen(bare))
      const before = await seen(told)
      // Without it, a service that is not asked for two seconds takes no notification, and a slow append lasts longer.
      const stream = await openStream(told, `/v0/candles?pool=${one}&interval=1m`)
      onTestFinished(() => stream.close())
      await sleep(2_100)
      const late = reading.hold()
      await aggregator.append(asBlocks(network, branch.slice(2)))
      await late
      // The rollback has been announced, and so has the block on top of it; what the rollback changed is still being read.
      expect(await seen(told)).toEqual(before)
      reading.release()
      await expect.poll(() => seen(told)).toEqual(await seen(bare))
      expect((await seen(told)).tip).toBe(branch.at(-1)?.hash)
    },
  )

  test('a poll that fails once it has seen the end does not keep the branch before it', async () => {
    let failures = 1
    const failing = intercepted(database.client, async (send, method, [options]) => {
      if (method === 'exec' && REFRESH.test((options as { query: string }).query) && failures-- > 0)
        throw new Error('the store has gone away')
      return send()
    })
    const other = await startService({ client: failing, networks: [NETWORK], clock: () => new Date() })
    const [from, to] = [time(chain.at(-4)), time(chain.at(-1)) + 60_000]
    const tipOf = async () => {
      await other.get(`/v0/candles?pool=${POOL.id}&from=${iso(from)}&to=${iso(to)}&interval=1m`)
      return ((await other.get('/v0/health')).body as { networks: { tip: { number: number } }[] }).networks[0]?.tip
        .number
    }
    expect(await tipOf()).toBe(chain.at(-1)?.number)
    const forked = grown(chain.slice(0, -3), [3], 'another')
    await running.append(asBlocks('ethereum', forked.slice(-1)))
    await expect.poll(tipOf).toBe(forked.at(-1)?.number)
    expect(failures).toBeLessThan(1)
    await other.stop()
  })

  test.each([2, 4])(
    'a poll that meets %i rollbacks, one between each pair of its reads, does not keep the branch before the last',
    async (count) => {
      const [from, to] = [time(chain.at(-4)), time(chain.at(-1)) + 60_000]
      const branches = Array.from({ length: count }, (_, index) =>
        grown(chain.slice(0, index === count - 1 ? -3 : -1), [3], `branch${'s'.repeat(index)}`),
      )
      const forks = branches.map((branch) => () => running.append(asBlocks('ethereum', branch).slice(-1)))
      let isArmed = false
      const between = intercepted(database.client, async (send, method, [options]) => {
        // The tips have been read, and the changes have not.
        if (isArmed && method === 'query' && READ_CHANGES.test((options as { query: string }).query))
          await forks.shift()?.()
        return send()
      })
      const other = await startService({ client: between, networks: [NETWORK], clock: () => new Date() })
      onTestFinished(other.stop)
      const tipOf = async () => {
        await other.get(`/v0/candles?pool=${POOL.id}&from=${iso(from)}&to=${iso(to)}&interval=1m`)
        return ((await other.get('/v0/health')).body as { networks: { tip: { hash: string } }[] }).networks[0]?.tip.hash
      }
      expect(await tipOf()).toBe(chain.at(-1)?.hash)
      isArmed = true
      await expect.poll(tipOf).toBe(branches.at(-1)?.at(-1)?.hash)
      expect(forks).toEqual([])
    },
  )

  test.each([
    ['nothing', []],
    // The newest block alone.
    ['a backfill', [-1]],
  ])(
    'candles that are still to be taken back take no place of others, also where the range is too wide for memory, and %s has read beyond the tip',
    async (_, backfilled) => {
      const kept = chain.slice(0, -3)
      // The ledger shrinks first.
      const above = `number > ${kept.at(-1)?.number}`
      await database.client.command({
        query: `INSERT INTO blocks SELECT * REPLACE (version + 1 AS version, 1 AS is_deleted) FROM blocks FINAL WHERE ${above}`,
      })
      const shared = { network: 'ethereum', filter: '', source: 'backfill', ticks: 0, digest: 0, job: 1, version: 1 }
      const runs = backfilled.map((index) => {
        const { number, timestamp } = chain.at(index) ?? { number: 0, timestamp: 0 }
        return { ...shared, first: number, last: number, first_time: timestamp, last_time: timestamp }
      })
      if (runs.length > 0) await database.client.insert({ table: 'coverage', values: runs, format: 'JSONEachRow' })
      // It shows the lower tip at once: it knows no other.
      const another = await startService({ client: database.client, networks: [NETWORK], clock: () => new Date() })
      onTestFinished(another.stop)
      const covered = [...kept, ...backfilled.flatMap((index) => chain.at(index) ?? [])].map(time)
      const [narrow, wide] = [time(kept.at(-6)), time(kept.at(-6)) - 400 * 86_400_000].map(iso)
      const rowsOf = async (fill: string, limit: number, from = '') => {
        const question = `/v0/candles?pool=${POOL.id}&interval=1s&limit=${limit}&fill=${fill}&from=${from}`
        return ((await another.get(question)).body as { data: { time: string }[] }).data
      }
      const newest = await rowsOf('none', 2, wide)
      expect(newest.map((row) => Date.parse(row.time))).toEqual(covered.slice(-2))
      for (const fill of ['none', 'previous'])
        expect(await rowsOf(fill, 2, wide), fill).toEqual((await rowsOf(fill, 100, narrow)).slice(-2))
    },
  )

  test('a pool whose last hour lost all its ticks has the price of the hour before', async () => {
    const kept = chain
    chain = grown(chain, [4_000, 5])
    await running.append(asBlocks('ethereum', chain).slice(kept.length))
    const question = `/v0/pools?pool=${POOL.id}`
    const priceNow = async (from: Service) =>
      ((await from.get(question)).body as { data: { sqrtPrice: string }[] }).data[0]?.sqrtPrice
    const before = String(kept.at(-1)?.ticks.at(-1)?.sqrtPriceX96)
    const held = writing.shut(RECOMPUTED)
    const appended = running.append(asBlocks('ethereum', grown(kept, [4_100], 'another').slice(-1)))
    await held
    // It has nothing in memory from before.
    const another = await startService({ client: database.client, networks: [NETWORK], clock: () => new Date() })
    expect(await priceNow(another)).toBe(before)
    await expect.poll(() => priceNow(service)).toBe(before)
    writing.open()
    await appended
    await another.stop()
  })
})
