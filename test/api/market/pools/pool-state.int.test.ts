/** A pool's liquidity and value from the tables, whatever part of its history is stored. `RUNS=50` asks for that many random histories. */

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BucketCache } from '../../../../api/market/cache/bucket-cache.ts'
import { openPools, poolOn } from '../../../../api/market/pools/pool-lookups.ts'
import { openPoolRows } from '../../../../api/market/pools/pool-rows.ts'
import { type PoolState, readPoolStates, readValues } from '../../../../api/market/pools/pool-state.ts'
import { sqrtPriceAtTick } from '../../../../api/market/pools/tick-math.ts'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import type { Pool, PoolId } from '../../../../ingest/model/pool.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { sample } from '../../../support/sample.ts'
import { seededOnServers } from '../../../support/seed.ts'
import { block, liquidity, openStore, poolOf, tick } from '../../../support/store.ts'
import { POOLS, START } from '../../scenario.ts'

const { ethereum } = NETWORKS
/** Two stablecoins: all that the pool holds has a price. */
const [DAI, USDC] = [POOLS.unswapped.token1, POOLS.main.token0]
const Q96 = 2n ** 96n

type Step =
  | { kind: 'change'; range: (typeof RANGES)[number]; share: number; size: bigint }
  | { kind: 'swap'; tick: number }

/** The pool itself: it has what was minted and not burnt yet, and its price is that of its last swap. */
type Model = { tick: number; ranges: Map<string, { lower: number; upper: number; liquidity: bigint }> }
type Change = { lower: number; upper: number; delta: bigint }
type Event = { kind: 'change'; change: Change } | { kind: 'swap'; tick: number; liquidity: bigint }

const FIRST_TICK = -276_330
/** Few, so that burns meet mints: at the first price, over it and under it. */
const RANGES = [
  { lower: FIRST_TICK - 60, upper: FIRST_TICK + 60 },
  { lower: FIRST_TICK, upper: FIRST_TICK + 180 },
  { lower: FIRST_TICK - 180, upper: FIRST_TICK },
]
const steps = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('change' as const),
        range: fc.constantFrom(...RANGES),
        /** How much of what is there is burnt, in hundredths; from 100 on `size` is minted. */
        share: fc.integer({ min: 0, max: 200 }),
        size: fc.oneof(fc.bigInt({ min: 1n, max: 10n ** 6n }), fc.bigInt({ min: 1n, max: 10n ** 24n })),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('swap' as const),
        tick: fc.integer({ min: FIRST_TICK - 200, max: FIRST_TICK + 200 }),
      }),
    },
  ),
  { maxLength: 24, size: 'max' },
)
/** `known`: which steps the store has; the blocks before, or some in between, may not be indexed. */
const history = fc.record({
  steps,
  known: fc.oneof(
    fc.constant((_: number) => true),
    fc.nat({ max: 24 }).map((from) => (index: number) => index >= from),
    fc.func(fc.boolean()),
  ),
})

describe.skipIf(withoutClickHouse)('the state of a pool', () => {
  let database: TestDatabase
  let store: ReturnType<typeof openStore>
  let number = 0

  beforeAll(async () => {
    database = await freshDatabase()
    store = openStore(database.client, 'ethereum')
  })

  afterAll(async () => {
    await database?.drop()
  })

  async function statesOf(pools: readonly Pool[]): Promise<readonly PoolState[]> {
    const { client } = database
    const found = openPools(client, [ethereum], 0)
    await found.refresh()
    const cache = new BucketCache(client, 2 ** 20)
    const store = { cache, pools: found, rows: openPoolRows(client, cache) }
    const listings = (await Promise.all(pools.map(({ id }) => poolOn(found, id, ['ethereum'])))).flat()
    const states = await readPoolStates(store, listings)
    expect(states).toHaveLength(pools.length)
    expect(await readValues(store, listings)).toEqual(states.map(({ valueUsd }) => valueUsd))
    return states
  }

  test('is never negative, and exact where the store has all of its history', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(history, { minLength: 20, maxLength: 40 }), async (histories) => {
        const stored = histories.map(({ steps, known }) => {
          number += 1
          const pool = poolOf(idOf(number), DAI, USDC, {
            protocol: 'dex-v4',
            initialSqrtPriceX96: sqrtPriceAtTick(FIRST_TICK),
          })
          const { model, events } = play(steps)
          const kept = events.filter((_, index) => known(index))
          return { pool, model, kept, isWhole: kept.length === events.length }
        })
        await store([block(number, START + number, { pools: stored.map(({ pool }) => pool), ...contentOf(stored) })])
        const states = await statesOf(stored.map(({ pool }) => pool))
        for (const [index, state] of states.entries()) {
          expect(state.liquidity).toBeGreaterThanOrEqual(0n)
          expect(state.valueUsd).toBeGreaterThanOrEqual(0)
          expect(state.transactions).toBe(BigInt(stored[index]?.kept.length ?? -1))
          const { model, isWhole } = stored[index] as (typeof stored)[number]
          if (!isWhole) continue
          expect(state.liquidity).toBe(inRange(model))
          // Doubles there, integers here: a narrow range is the difference of two roots that nearly agree.
          const value = worth(model)
          expect(Math.abs(state.valueUsd - value)).toBeLessThanOrEqual(value * 1e-9 + 1e-6)
        }
      }),
      seededOnServers({ numRuns: sample('RUNS', 3, 8) }),
    )
  })
})

function idOf(count: number): PoolId {
  return `0x${count.toString(16).padStart(64, '0')}`
}

function play(steps: readonly Step[]): { model: Model; events: Event[] } {
  const model: Model = { tick: FIRST_TICK, ranges: new Map() }
  const events = steps.map((step): Event => {
    if (step.kind === 'swap') {
      model.tick = step.tick
      return { kind: 'swap', tick: step.tick, liquidity: inRange(model) }
    }
    const { lower, upper } = step.range
    const key = `${lower} ${upper}`
    const before = model.ranges.get(key)?.liquidity ?? 0n
    const delta = step.share < 100 ? -((before * BigInt(step.share + 1)) / 100n) : step.size
    model.ranges.set(key, { lower, upper, liquidity: before + delta })
    return { kind: 'change', change: { lower, upper, delta } }
  })
  return { model, events }
}

function contentOf(stored: readonly { pool: Pool; kept: readonly Event[] }[]) {
  const events = stored.flatMap(({ pool, kept }) => kept.map((event) => ({ pool, event })))
  return {
    ticks: events.flatMap(({ pool, event }, logIndex) =>
      event.kind === 'swap'
        ? tick({
            pool,
            logIndex,
            amount0: 1n,
            amount1: -1n,
            sqrtPriceX96: sqrtPriceAtTick(event.tick),
            poolTick: event.tick,
            liquidity: event.liquidity,
          })
        : [],
    ),
    liquidity: events.flatMap(({ pool, event }, logIndex) =>
      event.kind === 'change'
        ? liquidity(pool, logIndex, event.change.lower, event.change.upper, event.change.delta)
        : [],
    ),
  }
}

function inRange({ tick, ranges }: Model): bigint {
  return [...ranges.values()]
    .filter(({ lower, upper }) => lower <= tick && tick < upper)
    .reduce((sum, { liquidity }) => sum + liquidity, 0n)
}

/** In dollars, with the integers of the pool contracts up to the last step. */
function worth({ tick, ranges }: Model): number {
  let [amount0, amount1] = [0n, 0n]
  for (const { lower, upper, liquidity } of ranges.values()) {
    const [low, high] = [sqrtPriceAtTick(lower), sqrtPriceAtTick(upper)]
    const root = sqrtPriceAtTick(Math.min(Math.max(tick, lower), upper))
    amount0 += (liquidity * Q96 * (high - root)) / (root * high)
    amount1 += (liquidity * (root - low)) / Q96
  }
  return Number(amount0) / 1e18 + Number(amount1) / 1e6
}
