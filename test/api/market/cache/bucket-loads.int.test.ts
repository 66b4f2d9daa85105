/** Candles that many ask for at once: the same rows as one at a time, with fewer questions. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Resolution } from '../../../../aggregator/candles/candle.ts'
import {
  type BucketLoads,
  bucketLoads,
  type ChunkRequest,
  type LoadedChunks,
} from '../../../../api/market/cache/bucket-loads.ts'
import type { TimeRange } from '../../../../api/query/time-range.ts'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import type { Pool } from '../../../../ingest/model/pool.ts'
import { intercepted } from '../../../aggregator/statements.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { minute, POOLS, START, storeScenario } from '../../scenario.ts'

const DAY = 86_400
const TODAY: TimeRange = { from: START, to: START + DAY }
const ALL: TimeRange = { from: 0, to: START + 10 * DAY }
/** Candles differ by pool, time and resolution. */
const RANGES: readonly ReadonlyMap<Resolution, TimeRange>[] = [
  new Map([[60, TODAY]]),
  new Map([[60, { from: minute(5), to: minute(40) }]]),
  new Map([
    [60, TODAY],
    [86_400, ALL],
  ]),
  new Map([[3_600, { from: minute(60), to: minute(120) }]]),
  new Map([[1, { from: minute(10), to: minute(12) }]]),
]
const SEVERAL = Object.values(POOLS)

describe.skipIf(withoutClickHouse)('candles that many ask for', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await freshDatabase()
    await storeScenario(database.client)
  })
  afterAll(() => database?.drop())

  /** No question is answered before it. */
  let allAsked = Promise.resolve()

  /** As the cache asks, and how many questions it came to. */
  function loads({ failures = 0 } = {}) {
    const asked: number[] = []
    let clock = 0
    let left = failures
    const client = intercepted(database.client, async (send) => {
      asked.push(clock)
      const fails = left-- > 0
      await allAsked
      if (fails) throw new Error('The line is dead.')
      return send()
    })
    return { asked, load: bucketLoads(client, () => ++clock).load }
  }

  const wanted = (pool: Pool, ranges: ReadonlyMap<Resolution, TimeRange>): ChunkRequest => ({
    listing: { network: NETWORKS.ethereum, pool, created: undefined, firstSeen: 0 },
    ranges,
    chunks: ranges.size,
  })
  /** Each in a turn of its own, as questions come in; the last one is in before the first is answered. */
  async function inTurns<T>(tasks: readonly (() => Promise<T>)[]): Promise<readonly T[]> {
    let release = () => {}
    allAsked = new Promise((resolve) => {
      release = resolve
    })
    const begun: Promise<T>[] = []
    for (const task of tasks) {
      begun.push(task())
      await nextTurn()
    }
    release()
    return Promise.all(begun)
  }
  const each = SEVERAL.flatMap((pool) => RANGES.map((ranges) => wanted(pool, ranges)))
  const hexOf = ({ rows }: LoadedChunks, { ranges }: ChunkRequest) =>
    ([1, 60, 3_600, 86_400] as const).map((resolution) => {
      const { buffer, byteOffset, byteLength } = rows(resolution, ranges.get(resolution) ?? { from: 0, to: 0 })
      return Buffer.from(buffer, byteOffset, byteLength).toString('hex')
    })
  const loadedHex = async (load: BucketLoads['load'], request: ChunkRequest) => hexOf(await load(request), request)

  test('are those that each alone would have been given', async () => {
    const alone: string[][] = []
    for (const one of each) alone.push(await loadedHex(loads().load, one))
    const { asked, load } = loads()
    const together = await inTurns(each.map((one) => () => loadedHex(load, one)))
    expect(together).toEqual(alone)
    // The first four go out as they come; the rest waits, and is one query whatever its pools and ranges.
    expect(asked.length).toBe(5)
    expect(new Set(alone.flat()).size).toBeGreaterThan(8)
    expect(alone.filter((rows) => rows.every((one) => one === '')).length).toBeGreaterThan(0)
  })

  test('of ranges that no stored second can have are none', async () => {
    const ranges = new Map<Resolution, TimeRange>([
      [60, { from: -2 * DAY, to: -DAY }],
      [1, { from: 2 ** 32 + DAY, to: 2 ** 32 + 2 * DAY }],
    ])
    const found = await Promise.all(SEVERAL.map((pool) => loadedHex(loads().load, wanted(pool, ranges))))
    expect(new Set(found.flat())).toEqual(new Set(['']))
  })

  test('are one question where they are asked for in one turn', async () => {
    const { asked, load } = loads()
    await Promise.all(SEVERAL.map((pool) => load(wanted(pool, new Map([[60, TODAY]])))))
    expect(asked.length).toBe(1)
  })

  test('go out in several questions where they are many', async () => {
    const { asked, load } = loads()
    const ranges = new Map([[60, TODAY]] as const)
    const many = SEVERAL.map((pool) => ({ ...wanted(pool, ranges), chunks: 30 }))
    expect(await inTurns(many.map((one) => () => loadedHex(load, one)))).toEqual(
      await Promise.all(SEVERAL.map((pool) => loadedHex(loads().load, wanted(pool, ranges)))),
    )
    expect(asked.length).toBe(4 + Math.ceil((SEVERAL.length - 4) / 2))
  })

  test('may be asked for again after a failure, which is told to all who waited', async () => {
    const { load } = loads({ failures: 5 })
    const ranges = new Map([[60, TODAY]] as const)
    const tries = SEVERAL.map((pool) => () => loadedHex(load, wanted(pool, ranges)).catch(() => 'failed'))
    const answers = await inTurns<string | string[]>(tries)
    expect(answers).toEqual(SEVERAL.map(() => 'failed'))
    expect((await loadedHex(load, wanted(POOLS.main, ranges))).some((rows) => rows !== '')).toBe(true)
  })

  test('know that they were asked for when the question went out, not when it was wished for', async () => {
    const { load } = loads()
    const ranges = new Map([[60, TODAY]] as const)
    const loaded = await inTurns(SEVERAL.map((pool) => () => load(wanted(pool, ranges))))
    expect(loaded.map(({ queriedAt: askedAt }) => askedAt)).toEqual([1, 2, 3, 4, ...SEVERAL.slice(4).map(() => 5)])
  })
})
