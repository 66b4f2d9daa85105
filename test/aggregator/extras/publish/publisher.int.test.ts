/**
 * Publications, folded by the rule of their contract, are what the tables say: over random histories with forks, ranges, jobs and restarts, with
 * a sink that fails now and then, and in both finalities. `STREAMS=100` asks for that many histories.
 */

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { PublishFinality } from '../../../../aggregator/extras/publish/publication.ts'
import { readStoredCandles } from '../../../../aggregator/extras/publish/stored-candles.ts'
import type { AggregatorFact } from '../../../../aggregator/ledger/fact.ts'
import { inProcessLog } from '../../../../infra/kafka/in-process.ts'
import type { RangeOverwrite } from '../../../../ingest/model/message.ts'
import type { NetworkName } from '../../../../ingest/model/network.ts'
import type { PoolId } from '../../../../ingest/model/pool.ts'
import { type Random, randomOf } from '../../../simulation/random.ts'
import {
  asBlocks,
  asRange,
  asRestatement,
  type BlockPlan,
  blockPlan,
  type Chain,
  mine,
  POOLS,
} from '../../../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { sample } from '../../../support/sample.ts'
import { until } from '../../../support/until.ts'
import { networkOf, startAggregator } from '../../running.ts'
import { expectAsStored, type FoldedTopics, foldTopics, rowsOfFolded } from './folded-topics.ts'

const SEEDS = sample('STREAMS', 2, 12)
const FIRST_SEED = Number(process.env['SEED'] ?? 1)
const ACTS = 14
const MAX_FORK = 6
const ACT = ['grow', 'grow', 'grow', 'range', 'fork', 'fork', 'restart', 'restate'] as const
const KINDS = new Set(['ticks', 'pools', 'candles'] as const)

describe.skipIf(withoutClickHouse)('publications', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database?.drop())

  test.each(Array.from({ length: SEEDS }, (_, index) => FIRST_SEED + index))(
    'publications folded by their version are the rows of the tables, SEED=%i',
    async (seed) => {
      const random = randomOf(seed)
      const folded = foldTopics(async () => {
        if (random.chance(0.05)) throw new Error('The broker is away.')
      })
      const history = await run(seed, random, folded)
      const { client } = database
      await until(
        () => expectAsStored(client, history.network, rowsOfFolded(folded), `SEED=${seed}`).then(() => true),
        'all is there',
      )
      await history.stop()
      expect(new Set(folded.pools.keys())).toEqual(new Set(POOLS.map(({ id }) => id)))
    },
  )

  test('pools that are named late are published with the ticks that were withheld for want of them', async () => {
    const { client } = database
    const network = networkOf('published late')
    const chain = mine([], fc.sample(blockPlan({ full: true }), { numRuns: 8, seed: 5 }))
    const folded = foldTopics()
    const publish = { sink: folded.sink, kinds: KINDS, finality: 'instant' as const }
    const aggregator = await startAggregator(client, { network, publish })
    await aggregator.append(
      asBlocks(
        network,
        chain.map((block) => ({ ...block, pools: [] })),
      ),
    )
    const isPublished = (fact: AggregatorFact) => fact.kind === 'published' && fact.number === chain.at(-1)?.number
    await until(async () => aggregator.facts.some(isPublished) || undefined, 'the blocks are published')
    expect(folded.publications).toStrictEqual([])
    await aggregator.append(asBlocks(network, chain))
    await expectAsStored(client, network, rowsOfFolded(folded), 'after the pools')
    expect([...folded.pools.keys()].sort()).toStrictEqual(
      [...new Set(chain.flatMap(({ pools }) => pools.map(({ id }) => id)))].sort(),
    )
    await aggregator.stop()
  })

  test('a pool that a branch alone has named goes with it, and one that an older block names stays', async () => {
    const { client } = database
    const network = networkOf('pools of a branch')
    const [first, taken, kept] = fc.sample(blockPlan({ full: true }), { numRuns: 3, seed: 6 }) as [
      BlockPlan,
      BlockPlan,
      BlockPlan,
    ]
    const [named, ...others] = POOLS
    if (!named) throw new Error('There are pools.')
    const base = mine([], [{ ...first, pools: [named] }])
    const left = mine(base, [{ ...taken, pools: POOLS }], 'left')
    const stays = mine(base, [{ ...kept, pools: [] }], 'stays')
    const folded = foldTopics()
    const aggregator = await startAggregator(client, {
      network,
      publish: { sink: folded.sink, kinds: KINDS, finality: 'instant' },
    })
    const namedNow = () => [...folded.pools].flatMap(([id, pair]) => (pair === undefined ? [] : id)).sort()
    const untilNamed = (pools: readonly { id: string }[]) => {
      const ids = pools.map(({ id }) => id).sort()
      return until(
        async () => (namedNow().join() === ids.join() ? true : undefined),
        `${ids.length} pools are published`,
      )
    }
    await aggregator.append(asBlocks(network, base))
    await aggregator.append(asBlocks(network, left.slice(1)))
    await untilNamed(POOLS)
    await aggregator.append(asBlocks(network, stays.slice(1)))
    await untilNamed([named])
    expect(others.every(({ id }) => folded.pools.has(id))).toBe(true)
    const isStored = () => expectAsStored(client, network, rowsOfFolded(folded), 'after the branch').then(() => true)
    await until(isStored, 'the other branch is published')
    await aggregator.stop()
  })

  /** A stored and published chain, and jobs that state some of its blocks. */
  async function chainWithJobs(network: NetworkName) {
    const plans = fc.sample(blockPlan({ full: true }), { numRuns: 8, seed: 7 })
    const full = plans.map((plan, index) => ({ ...plan, secondsLater: 20, ...(index === 0 && { pools: POOLS }) }))
    const chain = mine([], full)
    const folded = foldTopics()
    const history = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
    const publish = { sink: folded.sink, kinds: KINDS, finality: 'instant' as const }
    const aggregator = await startAggregator(database.client, { network, history, publish })
    let jobs = 0
    const untilPublished = (name: string) =>
      until(() => expectAsStored(database.client, network, rowsOfFolded(folded), name).then(() => true), name)
    const untilStored = () =>
      until(
        async () => aggregator.facts.filter(({ kind }) => kind === 'restated').length === jobs || undefined,
        'the job is stored',
      )
    await aggregator.append(asBlocks(network, chain))
    await untilPublished('the stream')
    return {
      chain,
      async state(blocks: Chain, job: number) {
        jobs++
        await history.append([asRestatement(network, blocks, { job })])
        await untilStored()
        await untilPublished(`job ${job}`)
      },
      async stop() {
        await aggregator.stop()
        await history.close()
      },
    }
  }

  test('a job that comes after a later one replaces none of its ticks', async () => {
    const { chain, state, stop } = await chainWithJobs(networkOf('jobs in another order'))
    const less = chain.slice(2, 5).map((block) => ({ ...block, ticks: block.ticks.slice(1) }))
    await state(less, 2)
    await state(chain, 1)
    await stop()
  })

  test('a swap that a job states with another amount or time is published again', async () => {
    const { chain, state, stop } = await chainWithJobs(networkOf('stated otherwise'))
    const [, second, third] = chain
    if (!second || !third) throw new Error('unreachable')
    await state([{ ...second, ticks: second.ticks.map((tick) => ({ ...tick, amount0: tick.amount0 + 1n })) }], 1)
    await state([{ ...third, timestamp: third.timestamp + 3 }], 2)
    await stop()
  })

  test('publications of final blocks alone are never retracted, and have closed candles', async () => {
    const { client } = database
    const network = networkOf('published when final')
    const [first, ...rest] = fc.sample(blockPlan({ full: true }), { numRuns: 30, seed: 4 })
    const plans = [{ ...(first as BlockPlan), pools: POOLS }, ...rest].map((plan) => ({ ...plan, secondsLater: 20 }))
    const base = mine([], plans.slice(0, 20))
    const left = mine(base, plans.slice(20, 25), 'left')
    const stays = mine(base, plans.slice(24, 30), 'stays')
    const final = (base.at(-1)?.number ?? 0) - 2
    const folded = foldTopics()
    const history = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
    const open = () =>
      startAggregator(client, { network, history, publish: { sink: folded.sink, kinds: KINDS, finality: 'final' } })
    // No later block is final when a block is read.
    const tell = (chain: Chain, finalized: number) =>
      asBlocks(network, chain).map((block) => ({ ...block, finalized: Math.min(finalized, block.number) }))
    const isPublished = (number: number) =>
      until(async () => (publishedBlocks(folded).includes(number) ? true : undefined), `block ${number} is published`)
    let aggregator = await open()
    await aggregator.append(tell(base.slice(0, 10), final - 8))
    await isPublished(final - 8)
    // What is still open is known to the next process.
    await aggregator.stop()
    aggregator = await open()
    await aggregator.append(tell(left.slice(10), final))
    await aggregator.append(tell(stays.slice(20), final))
    await isPublished(final)

    const at = base.find(({ number }) => number === final)?.timestamp ?? 0
    const wanted = base.filter(({ number }) => number <= final).flatMap(({ ticks }) => ticks)
    expect(folded.ticks.size).toBe(wanted.length)
    expect([...folded.ticks.values()].every(({ isFinal }) => isFinal)).toBe(true)
    expect(folded.publications.flatMap(({ ticks }) => ticks.filter(({ op }) => op === 'retract'))).toEqual([])
    const closed = [...folded.candles.values()]
    expect(closed.every(({ isFinal, bucket }) => isFinal && bucket.start + bucket.resolution <= at)).toBe(true)
    const answer = await client.query({
      query: `SELECT count() AS count FROM candles FINAL
              WHERE network = {network:String} AND trades > 0 AND toUnixTimestamp(time) + resolution <= {at:UInt32}`,
      query_params: { network, at },
      format: 'JSONEachRow',
    })
    expect((await answer.json<{ count: string }>()).map(({ count }) => Number(count))).toEqual([closed.length])

    const [, emptied] = base
    if (!emptied) throw new Error('unreachable')
    await history.append([asRestatement(network, [{ ...emptied, ticks: [] }], { job: 1 })])
    const secondsOf = () =>
      [...folded.candles.values()].filter(
        ({ bucket }) => bucket.resolution === 1 && bucket.start === emptied.timestamp && bucket.candle.trades === 0,
      )
    const isPublishedAgain = async () => secondsOf().length === new Set(emptied.ticks.map(({ pool }) => pool)).size
    await until(async () => (await isPublishedAgain()) || undefined, 'the closed candles are published again')
    await aggregator.stop()
    await history.close()
  })

  test('candles of a pool without later trades are published once they are closed, also after a restart', async () => {
    const { client } = database
    const network = networkOf('quiet after a restart')
    const [named, quiet, ...later] = fc.sample(blockPlan({ full: true }), { numRuns: 6, seed: 8 })
    const [busy, other] = POOLS
    if (!named || !quiet || !busy || !other) throw new Error('There are pools.')
    const tradesOf = (plan: BlockPlan, pool: PoolId): BlockPlan => ({
      ...plan,
      pools: [],
      secondsLater: 20,
      ticks: plan.ticks.map((tick) => ({ ...tick, pool })),
    })
    const chain = mine(
      [],
      [{ ...named, pools: POOLS }, tradesOf(quiet, other.id), ...later.map((plan) => tradesOf(plan, busy.id))],
    )
    const folded = foldTopics()
    const open = () =>
      startAggregator(client, { network, publish: { sink: folded.sink, kinds: KINDS, finality: 'final' } })
    const tell = async (aggregator: Awaited<ReturnType<typeof open>>, part: Chain) => {
      await aggregator.append(asBlocks(network, part).map((block) => ({ ...block, finalized: block.number })))
      const newest = part.at(-1)?.number ?? 0
      await until(async () => publishedBlocks(folded).includes(newest) || undefined, `block ${newest} is published`)
      await aggregator.stop()
    }
    await tell(await open(), chain.slice(0, 3))
    await tell(await open(), chain.slice(3))
    const minute = (chain[1]?.timestamp ?? 0) - ((chain[1]?.timestamp ?? 0) % 60)
    const published = [...folded.candles.values()].flatMap(({ bucket }) =>
      bucket.pool === other.id && bucket.resolution === 60 ? bucket.start : [],
    )
    expect(published).toContain(minute)
  })

  test('the candles of each stretch are read where a pool is named twice', async () => {
    const { client } = database
    const network = networkOf('named twice')
    const plans = fc
      .sample(blockPlan({ full: true }), { numRuns: 3, seed: 5 })
      .map((plan) => ({ ...plan, secondsLater: 90 }))
    const chain = mine([], plans)
    const aggregator = await startAggregator(client, { network })
    await aggregator.append(asBlocks(network, chain))
    await aggregator.stop()
    const [first, , last] = chain
    const pool = first?.ticks.map((tick) => tick.pool).find((id) => last?.ticks.some((tick) => tick.pool === id))
    if (!first || !last || !pool) throw new Error('A full block trades all pools.')
    const at = (second: number) => ({ pool, first: second, last: second })
    const found = await readStoredCandles(client, network, [at(first.timestamp), at(last.timestamp)])
    const seconds = found.flatMap(({ bucket }) => (bucket.resolution === 1 ? [bucket.start] : []))
    expect(new Set(seconds)).toEqual(new Set([first.timestamp, last.timestamp]))
  })

  /** A random history of one network, told to aggregators that restart. */
  async function run(seed: number, random: Random, folded: FoldedTopics, finality: PublishFinality = 'instant') {
    const network = networkOf(`published ${seed}`)
    const plans = fc.sample(blockPlan(), { numRuns: 200, seed }) as [BlockPlan, ...BlockPlan[]]
    const some = (count: number): BlockPlan[] => Array.from({ length: count }, () => random.pick(plans))
    const first: BlockPlan = { ...plans[0], pools: POOLS }
    let chain: Chain = mine([], [first, ...some(3)])
    let job = 0
    const open = async () => {
      const history = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
      const publish = { sink: folded.sink, kinds: KINDS, finality }
      return { aggregator: await startAggregator(database.client, { network, history, publish }), history }
    }
    let { aggregator, history } = await open()
    const stop = async () => {
      const failure = await aggregator.stop()
      await history.close()
      if (failure) throw failure
    }
    await aggregator.append(asBlocks(network, chain))
    for (let act = 0; act < ACTS; act++) {
      const kind = random.pick(ACT)
      if (kind === 'restart') {
        await stop()
        ;({ aggregator, history } = await open())
      } else if (kind === 'restate') {
        const from = random.between(0, chain.length - 1)
        const to = random.between(from, Math.min(chain.length - 1, from + 8))
        const isStated = (index: number) => from <= index && index <= to
        chain = chain.map((block, index) =>
          isStated(index) ? { ...block, ticks: block.ticks.filter(() => random.chance(0.8)) } : block,
        )
        job += 1
        await history.append([asRestatement(network, chain.slice(from, to + 1), { job })])
      } else {
        const kept = kind === 'fork' ? Math.max(1, chain.length - random.between(1, MAX_FORK)) : chain.length
        chain = mine(chain.slice(0, kept), some(random.between(1, 6)), `act ${act}`)
        const fresh = chain.slice(kept)
        await aggregator.append(kind === 'range' ? [asRange(network, fresh)] : asBlocks(network, fresh))
      }
    }
    return { network, stop }
  }
})

function publishedBlocks({ publications }: FoldedTopics): number[] {
  return publications.flatMap(({ ticks }) => ticks.map(({ block }) => block.number))
}
