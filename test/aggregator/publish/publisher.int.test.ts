/**
 * Publications, folded by the rule of their contract, are what the tables say: over random histories with forks, ranges, jobs and restarts, with
 * a sink that fails now and then, and in both finalities.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { PublishFinality } from '../../../aggregator/publish/publication.ts'
import { inProcessLog } from '../../../infra/kafka/in-process.ts'
import type { RangeOverwrite } from '../../../ingest/model/message.ts'
import { type Random, randomOf } from '../../simulation/random.ts'
import { until } from '../../support/candlepool.ts'
import {
  asBlocks,
  asRange,
  asRestatement,
  type BlockPlan,
  blockPlan,
  type Chain,
  mine,
  POOLS,
} from '../../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { networkOf, startAggregator } from '../running.ts'
import { expectAsStored, type FoldedTopics, foldTopics, rowsOfFolded } from './folded-topics.ts'

const SEEDS = Number(process.env['STREAMS'] ?? 12)
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
    'folded by their version are the rows of the tables, SEED=%i',
    { timeout: 120_000 },
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
