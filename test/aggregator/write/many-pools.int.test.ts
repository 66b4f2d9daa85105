/** Ten times as many pools as a URL could name are stored, restated, audited, verified and rebuilt as a few are. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { slicesOf } from '../../../aggregator/candles/slices.ts'
import { storedSums, sumsOf } from '../../../aggregator/extras/audit/audit-sums.ts'
import type { Difference } from '../../../aggregator/extras/verify/differences.ts'
import { verify } from '../../../aggregator/extras/verify/verify.ts'
import { isOverwritten, readCoverage, storedRanges } from '../../../aggregator/history/coverage.ts'
import { knownRanges } from '../../../aggregator/history/known-ranges.ts'
import { finishJob, openJob, readJob } from '../../../aggregator/jobs/job.ts'
import { gapsOf, readCoverages } from '../../../api/market/cache/coverage.ts'
import { inProcessLog } from '../../../infra/kafka/in-process.ts'
import type { BlockContent, RangeOverwrite } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { Pool, PoolId } from '../../../ingest/model/pool.ts'
import { asBlocks, asRestatement, FIRST_SECOND, type MinedBlock } from '../../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { inSoak } from '../../support/sample.ts'
import { block, hashOf, poolOf, tick } from '../../support/store.ts'
import { networkOf, type Running, startAggregator } from '../running.ts'

const MANY = 20_000
const FILTERED = 25_000
const ETHER = { address: `0x${'e'.repeat(40)}`, symbol: 'ETH', name: 'Ether', decimals: 18 } as const
const DOLLAR = { address: `0x${'d'.repeat(40)}`, symbol: 'USD', name: 'Dollar', decimals: 6 } as const
const poolAt = (index: number): Pool => poolOf(`0x${index.toString(16).padStart(64, '0')}` as PoolId, ETHER, DOLLAR)
const ids = (count: number) => Array.from({ length: count }, (_, index) => poolAt(index).id)

/** A block in which each pool is traded once. */
function busyBlock(number: number, timestamp: number, count = MANY): MinedBlock {
  const ticks = Array.from({ length: count }, (_, index) =>
    tick({
      ...{ pool: poolAt(index), logIndex: index, amount0: 10n ** 18n, amount1: -(3_000n + BigInt(index)) * 10n ** 6n },
      sqrtPriceX96: 4_339_505_179_874_779_662_909_440n + BigInt(number),
    }),
  )
  return { ...block(number, timestamp, { ticks }), parentHash: hashOf(`block ${number - 1}`) }
}

const BLOCKS = [busyBlock(100, FIRST_SECOND), busyBlock(101, FIRST_SECOND + 2)]

/** Tables that refuse a statement are asked again for ever. */
async function append(running: Running, network: NetworkName, blocks: readonly MinedBlock[]): Promise<void> {
  const appended = running.append(asBlocks(network, blocks))
  for (;;) {
    const isDone = await Promise.race([appended.then(() => true), new Promise((r) => setTimeout(r, 100, false))])
    for (const fact of running.facts) if (fact.kind === 'store-failed') throw fact.error
    if (isDone) return
  }
}

async function differencesOf(database: TestDatabase, network: NetworkName): Promise<Difference[]> {
  const found: Difference[] = []
  for await (const one of verify(database.client, { network, signal: new AbortController().signal })) found.push(one)
  return found
}

describe.skipIf(withoutClickHouse)('so many pools', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database?.drop())

  async function countOf(query: string): Promise<number> {
    const answer = await database.client.query({ query, format: 'JSONEachRow' })
    const [row] = await answer.json<{ count: string }>()
    return Number(row?.count)
  }

  test('pools that memory does not hold are stored from one live block, with their candles', inSoak, async () => {
    const network = networkOf('live')
    const [first, second] = BLOCKS
    if (!first || !second) throw new Error('There are blocks.')
    const before = await startAggregator(database.client, { network })
    await append(before, network, [first])
    await before.stop()
    const after = await startAggregator(database.client, { network })
    try {
      await append(after, network, [second])
    } finally {
      await after.stop()
    }
    expect(await countOf(`SELECT count() AS count FROM ticks FINAL WHERE network = '${network}'`)).toBe(2 * MANY)
    const days = `network = '${network}' AND resolution = 86400 AND trades = 2`
    expect(await countOf(`SELECT count() AS count FROM candles FINAL WHERE ${days}`)).toBe(MANY)
    expect(await differencesOf(database, network)).toEqual([])
  })

  test('pools in the filter of a job are stated, known, audited and verified', inSoak, async () => {
    const network = networkOf('filtered')
    const pools = ids(FILTERED)
    const request = { network, from: 100, to: 101, pools, concurrency: 1 }
    const job = await openJob(database.client, request)
    const history = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
    const running = await startAggregator(database.client, { network, history })
    const restatement = asRestatement(network, BLOCKS, { job: job.id, pools: undefined })
    try {
      const appended = history.append([{ ...restatement, pools }])
      await Promise.race([
        appended,
        (async () => {
          for (;;) {
            await new Promise((resolve) => setTimeout(resolve, 100))
            for (const fact of running.facts) if (fact.kind === 'store-failed') throw fact.error
          }
        })(),
      ])
    } finally {
      await history.close()
      await running.stop()
    }
    await finishJob(database.client, job)
    expect(await readJob(database.client, network, job.id)).toMatchObject({ state: 'done', pools })
    expect(await isOverwritten(database.client, { ...restatement, pools })).toBe(true)
    expect(await readCoverage(database.client, network, pools)).toEqual([{ from: 100, to: 101 }])
    expect(await readCoverage(database.client, network, pools.slice(1))).toEqual([])
    expect(await storedRanges(database.client, network, pools, 200)).toMatchObject([{ job: job.id, pools }])
    const some = pools.slice(7, 9)
    expect(await knownRanges(database.client, network, pools)).toMatchObject([{ from: 100, to: 101 }])
    expect(await knownRanges(database.client, network, some)).toMatchObject([{ from: 100, to: 101 }])
    expect(await knownRanges(database.client, network, [...some, poolAt(FILTERED).id])).toEqual([])
    const sums = await storedSums(database.client, { network, pools, from: 100, to: 101 })
    expect([...sums].sort(([one], [other]) => one - other)).toEqual(
      BLOCKS.map((one: BlockContent) => [one.number, sumsOf(one)]),
    )
    const slices = await slicesOf(database.client, network, { pools, from: 0, to: 2 ** 32 - 1 })
    expect(slices.reduce((sum, slice) => sum + slice.pools.length, 0)).toBe(MANY)
    expect(await differencesOf(database, network)).toEqual([])
    const known = (await readCoverages(database.client, [network])).get(network)
    if (!known) throw new Error('The network was asked for.')
    const unknownOf = (index: number) => gapsOf(known, undefined, poolAt(index), undefined)
    expect(unknownOf(FILTERED - 1)).toEqual([{ from: Number.NEGATIVE_INFINITY, to: FIRST_SECOND }])
    expect(unknownOf(FILTERED)).toEqual([{ from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY }])
  })
})
