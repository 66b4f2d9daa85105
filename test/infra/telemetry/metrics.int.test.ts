/** Metrics of what an aggregator really says, over real tables: appends, a reorg, a gap, a message that no table holds. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openMetrics } from '../../../infra/telemetry/metrics.ts'
import { networkOf, startAggregator } from '../../aggregator/running.ts'
import { asBlocks, fullBlocks, mine } from '../../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { type Sample, samplesIn, sum } from '../../support/scrape.ts'

describe.skipIf(withoutClickHouse)('an aggregator', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database?.drop())

  test('is counted as it stores, rolls back, stalls and sets aside', async () => {
    const network = networkOf('a counted one')
    const { registry, report } = openMetrics([network])
    const aggregator = await startAggregator(database.client, { network })
    let told = 0
    async function now(): Promise<Sample[]> {
      for (const fact of aggregator.facts.slice(told)) report(fact)
      told = aggregator.facts.length
      return samplesIn(await registry.metrics())
    }
    const chain = mine([], fullBlocks(8, 5))
    const ticksOf = (blocks: typeof chain) => blocks.reduce((total, { ticks }) => total + ticks.length, 0)
    await aggregator.append(asBlocks(network, chain))
    const stored = await now()
    const tip = chain.at(-1)
    expect(sum(stored, 'candlepool_stored_block')).toBe(tip?.number)
    expect(sum(stored, 'candlepool_stored_blocks_total')).toBe(chain.length)
    expect(sum(stored, 'candlepool_stored_ticks_total')).toBe(ticksOf(chain))
    const lag = Date.now() / 1000 - (tip?.timestamp ?? 0)
    expect(Math.abs((sum(stored, 'candlepool_stored_lag_seconds') ?? 0) - lag)).toBeLessThan(60)
    const flushes = aggregator.facts.filter(({ kind }) => kind === 'flushed').length
    expect(sum(stored, 'candlepool_flush_seconds_count')).toBe(flushes)
    expect(sum(stored, 'candlepool_flush_ticks_sum')).toBe(ticksOf(chain))
    expect(sum(stored, 'candlepool_rollback_depth_blocks_count')).toBe(0)

    const fork = mine(chain.slice(0, 5), fullBlocks(5, 6), 'fork')
    await aggregator.append(asBlocks(network, fork.slice(5)))
    const forked = await now()
    expect(sum(forked, 'candlepool_rollback_depth_blocks_bucket', { le: '3' })).toBe(1)
    expect(sum(forked, 'candlepool_rollback_depth_blocks_bucket', { le: '2' })).toBe(0)
    expect(sum(forked, 'candlepool_stored_block')).toBe(fork.at(-1)?.number)
    expect(sum(forked, 'candlepool_stalled')).toBe(0)

    const longer = mine(fork, fullBlocks(3, 7))
    await aggregator.append(asBlocks(network, longer.slice(-1)))
    expect(sum(await now(), 'candlepool_stalled')).toBe(1)
    await aggregator.append(asBlocks(network, longer.slice(-3)))
    expect(sum(await now(), 'candlepool_stalled')).toBe(0)

    expect(sum(await now(), 'candlepool_messages_rejected_total')).toBe(0)
    const [block] = asBlocks(network, longer.slice(-1))
    if (!block) throw new Error('The chain has blocks.')
    await aggregator.append([{ ...block, network: networkOf('another network') }])
    expect(sum(await now(), 'candlepool_messages_rejected_total', { network })).toBe(1)

    // Another process may write the network now: what this one knew of it is not told any more.
    report({ kind: 'stage-restarted', stage: 'aggregator', network, error: new Error('The topic was taken away.') })
    const left = samplesIn(await registry.metrics())
    for (const name of ['candlepool_stored_block', 'candlepool_stored_lag_seconds', 'candlepool_stalled']) {
      expect([name, sum(left, name)]).toEqual([name, undefined])
    }
    await aggregator.stop()
  })
})
