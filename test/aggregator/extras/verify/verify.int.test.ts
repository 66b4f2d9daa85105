/** Verification finds every wrong row, a rebuild repairs it, and right tables have no finding. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Slice, slicesOf } from '../../../../aggregator/candles/slices.ts'
import type { Difference } from '../../../../aggregator/extras/verify/differences.ts'
import { verify } from '../../../../aggregator/extras/verify/verify.ts'
import { type Job, openJob, readJob } from '../../../../aggregator/jobs/job.ts'
import { asBlocks, fullBlocks, mine, POOLS } from '../../../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { rowsOf } from '../../../support/rows.ts'
import { until } from '../../../support/until.ts'
import { networkOf, type Running, startAggregator } from '../../running.ts'

const network = networkOf('ethereum')
const CHAIN = mine([], fullBlocks(30, 11))
const [A, B, C] = POOLS.map(({ id }) => id)
const never = new AbortController().signal

describe.skipIf(withoutClickHouse)('verify', () => {
  let database: TestDatabase
  let aggregator: Running
  let clean: string[]

  beforeAll(async () => {
    database = await freshDatabase()
    aggregator = await startAggregator(database.client, { network })
    await aggregator.append(asBlocks(network, CHAIN.slice(0, 28)))
    clean = await rowsOf(database.client, 'candles')
  })
  afterAll(async () => {
    await aggregator?.stop()
    await database?.drop()
  })

  async function found(): Promise<Difference[]> {
    const differences: Difference[] = []
    for await (const one of verify(database.client, { network, signal: never })) differences.push(one)
    return differences
  }
  const command = (query: string) => database.client.command({ query })
  /** Over whatever is stored, and over all that this owner has written. */
  const spoil = (where: string, change: string) =>
    command(
      `INSERT INTO candles SELECT * REPLACE (${change}, version + 1 AS version) FROM candles FINAL WHERE ${where}`,
    )

  async function rebuilt(request: Partial<Job>): Promise<void> {
    const job = await openJob(
      database.client,
      { network, from: 0, to: 2 ** 32 - 1, pools: undefined, concurrency: 1, ...request },
      'rebuild',
    )
    const ended = async () => {
      const { state, reason } = (await readJob(database.client, network, job.id)) ?? {}
      return state === 'open' ? undefined : { state, reason }
    }
    expect(await until(ended, 'the rebuild has ended')).toMatchObject({ state: 'done' })
  }

  test('reads slices of so many ticks as a statement within a time limit may have, and each bucket in one of them', async () => {
    const all = { from: 0, to: 2 ** 32 - 1 }
    const ticksIn = async ({ pools, from, to }: Slice) => {
      const answer = await database.client.query({
        query: `SELECT toUInt32(count()) AS ticks FROM ticks FINAL WHERE network = {network:String} AND pool IN {pools:Array(String)}
                  AND time >= toDateTime({from:UInt32}, 'UTC') AND time < toDateTime({to:UInt32}, 'UTC')`,
        query_params: { network, pools, from, to },
        format: 'JSONEachRow',
      })
      return (await answer.json<{ ticks: number }>())[0]?.ticks ?? 0
    }
    const [whole] = await slicesOf(database.client, network, all)
    const stored = whole ? await ticksIn(whole) : 0
    const slices = await slicesOf(database.client, network, { ...all, ticksPerSlice: Math.ceil(stored / 3) })
    const sizes = await Promise.all(slices.map(ticksIn))
    expect(slices.length).toBeGreaterThan(1)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(stored)
  })

  test('finds nothing where nothing is wrong', async () => {
    expect(await found()).toEqual([])
  })

  test('finds a changed price in the last digit, a bucket that is missing, and one that nothing was traded in; a rebuild mends them', async () => {
    await spoil(`pool = '${A}' AND resolution = 60`, 'high_ulps + 5 AS high_ulps')
    await spoil(`pool = '${B}' AND resolution = 1`, '0 AS trades')
    await command(
      `INSERT INTO candles SELECT * REPLACE (time + INTERVAL 7 DAY AS time) FROM candles FINAL
       WHERE pool = '${C}' AND resolution = 86400`,
    )
    const differences = await found()
    const by = (pool: string | undefined) => differences.filter((one) => one.kind === 'candle' && one.pool === pool)
    expect(new Set(by(A).map((one) => one.kind === 'candle' && one.resolution))).toEqual(new Set([60]))
    expect(by(B).every((one) => one.stored === undefined)).toBe(true)
    expect(by(B).length).toBeGreaterThan(3)
    expect(by(C).length).toBeGreaterThan(0)
    expect(by(C).every((one) => one.kind === 'candle' && one.counted === undefined)).toBe(true)
    await rebuilt({ pools: A && B && [A, B] })
    expect((await found()).every((one) => one.kind === 'candle' && one.pool === C)).toBe(true)
    await rebuilt({ resolutions: [86_400] })
    expect(await found()).toEqual([])
    expect(await rowsOf(database.client, 'candles')).toEqual(clean)
  })

  test('blocks after a rebuild extend its open buckets', async () => {
    await spoil(`pool = '${A}'`, 'trades + 5 AS trades')
    await rebuilt({})
    await aggregator.append(asBlocks(network, CHAIN.slice(28)))
    expect(await found()).toEqual([])
    const fresh = networkOf('never rebuilt')
    const other = await startAggregator(database.client, { network: fresh })
    await other.append(asBlocks(fresh, CHAIN))
    await other.stop()
    const of = async (name: string) =>
      (await rowsOf(database.client, 'candles'))
        .filter((row) => row.includes(`"${name}"`))
        .map((row) => row.replace(name, ''))
    expect(await of(network)).toEqual(await of(fresh))
    clean = await rowsOf(database.client, 'candles')
  })

  test('finds a tick that is gone, with its block and its buckets, and one of a block that is not on the ledger', async () => {
    const where = `network = '${network}' AND pool = '${A}'`
    const bury = '1 AS is_deleted, version + 1 AS version'
    const first = `(block, log_index) = (SELECT min((block, log_index)) FROM ticks WHERE ${where})`
    await command(`INSERT INTO ticks SELECT * REPLACE (${bury}) FROM ticks FINAL WHERE ${where} AND ${first}`)
    await command(
      `INSERT INTO ticks SELECT * REPLACE (block + 1000000 AS block, time + 1 AS time) FROM ticks FINAL WHERE ${where} LIMIT 1`,
    )
    const kinds = (await found()).map((one) => [one.kind, one.kind === 'block' && one.stored !== undefined].join(' '))
    expect(new Set(kinds)).toEqual(new Set(['candle false', 'block true', 'block false']))
  })

  describe('of all that is stored', () => {
    const many = networkOf('many')
    const pool = A ?? '0x'
    const midnight = Date.UTC(2024, 2, 1) / 1000
    const DAYS = 30
    const ADAY = 60

    /** Thirty days of ticks, every seven seconds from midnight on, without candles and without a ledger. */
    beforeAll(async () => {
      const second = `toDateTime(${midnight} + intDiv(number, ${ADAY}) * 86400 + number % ${ADAY} * 7, 'UTC')`
      await command(
        `INSERT INTO ticks (network, pool, time, block, log_index, transaction_hash, amount0, amount1, sqrt_price, liquidity, pool_tick, fee, scale, version)
         SELECT '${many}', '${pool}', ${second}, 1000 + number, 0, unhex(repeat('00', 32)), 1, 1, bitShiftLeft(toUInt256(1), 96), 1, 0, 0, 1, 1
         FROM numbers(${DAYS * ADAY})`,
      )
    })

    async function all(options: { from?: number; to?: number } = {}): Promise<Difference[]> {
      const differences: Difference[] = []
      for await (const one of verify(database.client, { network: many, ...options, signal: never }))
        differences.push(one)
      return differences
    }
    const candlesIn = (days: number) => days * (ADAY + Math.ceil((ADAY * 7) / 60) + 2)

    test('every wrong candle of a pool is found once, on however many days', async () => {
      const differences = await all()
      const candles = differences.flatMap((one) =>
        one.kind === 'candle' ? [`${one.pool} ${one.resolution} ${one.start}`] : [],
      )
      expect(new Set(candles).size).toBe(candlesIn(DAYS))
      expect(candles.length).toBe(candlesIn(DAYS))
    })

    test('every block is found once, the last one with it', async () => {
      const blocks = (await all()).flatMap((one) => (one.kind === 'block' ? [one.number] : []))
      expect(blocks).toEqual(Array.from({ length: DAYS * ADAY }, (_, index) => 1_000 + index))
    })

    test('some days are compared by their candles alone', async () => {
      const [from, to] = [midnight + 3 * 86_400 + 5, midnight + 4 * 86_400 + 5]
      const differences = await all({ from, to })
      expect(new Set(differences.map(({ kind }) => kind))).toEqual(new Set(['candle']))
      expect(differences.length).toBe(candlesIn(2))
      const starts = differences.map((one) => (one.kind === 'candle' ? one.start : 0))
      expect(Math.min(...starts)).toBe(midnight + 3 * 86_400)
      expect(Math.max(...starts)).toBeLessThan(midnight + 5 * 86_400)
    })

    test('a minute that is the sum of a wrong second is found beside it', async () => {
      const wrong = networkOf('sum of a wrong second')
      const columns = 'pool, resolution, time, open'
      await command(
        `INSERT INTO ticks SELECT * REPLACE ('${wrong}' AS network) FROM ticks FINAL WHERE network = '${many}' AND block = 1000`,
      )
      await command(
        `INSERT INTO candles (network, ${columns}, volume0, volume1, volume_usd, trades, version)
         SELECT '${wrong}', '${pool}', arrayJoin([1, 60, 3600, 86400]), toDateTime(${midnight}, 'UTC'), 1, 5, 5, 0, 5, 1`,
      )
      const differences: Difference[] = []
      for await (const one of verify(database.client, { network: wrong, from: midnight, signal: never }))
        differences.push(one)
      expect(differences.map((one) => one.kind === 'candle' && one.resolution)).toEqual([1, 60, 3_600, 86_400])
    })
  })
})
