/** The walk of a swap: it joins, grows, and rounds as the loop of the contracts does, step by step. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  amountsTo,
  HIGHEST_LIMIT,
  type InitializedTick,
  integerRoot,
  LOWEST_LIMIT,
  sqrtPriceTimes,
  type WalkMap,
  type WalkStart,
} from '../../../../api/extras/depth/swap-walk.ts'
import { sqrtPriceAtTick, tickAtSqrtPrice } from '../../../../api/market/pools/tick-math.ts'
import { seeded } from '../../../support/seed.ts'

type Position = { lower: number; upper: number; liquidity: bigint }

const SPACING = fc.constantFrom(1, 10, 60, undefined)

/** A pool with positions around its price, and prices on both sides of it. */
const pool = fc
  .record({
    spacing: SPACING,
    tick: fc.integer({ min: -880_000, max: 880_000 }),
    within: fc.integer({ min: 0, max: 999 }),
    ends: fc.array(
      fc.record({
        from: fc.integer({ min: -12, max: 12 }),
        width: fc.integer({ min: 1, max: 12 }),
        liquidity: fc.bigInt({ min: 1n, max: 10n ** 24n }),
      }),
      { minLength: 1, maxLength: 8 },
    ),
    moves: fc.uniqueArray(fc.integer({ min: 1, max: 5_000 }), { minLength: 2, maxLength: 6 }),
  })
  .map(({ spacing, tick, within, ends, moves }) => {
    const grid = 50 * (spacing ?? 1)
    const middle = Math.floor(tick / grid) * grid
    const low = sqrtPriceAtTick(tick)
    const sqrtPriceX96 = low + ((sqrtPriceAtTick(tick + 1) - low) * BigInt(within)) / 1_000n
    const positions = ends
      .map(({ from, width, liquidity }) => ({
        lower: middle + from * grid,
        upper: middle + (from + width) * grid,
        liquidity,
      }))
      .filter(({ lower, upper }) => lower > -887_000 && upper < 887_000)
    const start = { sqrtPriceX96, tick: tickAtSqrtPrice(sqrtPriceX96), liquidity: liquidityAt(positions, tick) }
    const map = { ticks: ticksOf(positions), spacing }
    const sorted = moves.toSorted((one, other) => one - other).map(BigInt)
    const targets = (isRising: boolean) =>
      sorted.map((move) => sqrtPriceTimes(sqrtPriceX96, isRising ? 100_000n + move : 100_000n - move, 100_000n))
    return { start, map, positions, rising: targets(true), falling: targets(false) }
  })

function liquidityAt(positions: readonly Position[], tick: number): bigint {
  return positions.reduce((sum, it) => (it.lower <= tick && tick < it.upper ? sum + it.liquidity : sum), 0n)
}

function ticksOf(positions: readonly Position[]): InitializedTick[] {
  const nets = new Map<number, bigint>()
  for (const { lower, upper, liquidity } of positions) {
    nets.set(lower, (nets.get(lower) ?? 0n) + liquidity)
    nets.set(upper, (nets.get(upper) ?? 0n) - liquidity)
  }
  return [...nets].map(([tick, net]) => ({ tick, net })).toSorted((one, other) => one.tick - other.tick)
}

function walk(start: WalkStart, targets: readonly bigint[], map: WalkMap) {
  const found = amountsTo(start, targets, map)
  if (found === undefined) throw new Error('The positions add up to the liquidity.')
  return found
}

/** The state of the pool after a swap to a price that is no tick's. */
function after(positions: readonly Position[], sqrtPriceX96: bigint): WalkStart {
  const tick = tickAtSqrtPrice(sqrtPriceX96)
  return { sqrtPriceX96, tick, liquidity: liquidityAt(positions, tick) }
}

test('one swap to a price, and one from there to the next, are the whole swap but for one unit of each token', () => {
  fc.assert(
    fc.property(pool, ({ start, map, positions, rising, falling }) => {
      for (const targets of [rising, falling]) {
        const [first, whole] = walk(start, targets.slice(0, 2), map)
        const [rest] = walk(after(positions, targets[0] ?? 0n), targets.slice(1, 2), map)
        if (!first || !whole || !rest) throw new Error('There are two targets.')
        for (const token of ['amount0', 'amount1'] as const) {
          const isIn = (token === 'amount1') === (targets === rising)
          const more = first[token] + rest[token] - whole[token]
          // The step that ends at the first target is one more: in is rounded up there, out down.
          expect([0n, 1n]).toContain(isIn ? more : -more)
        }
      }
    }),
    seeded({ numRuns: 300 }),
  )
})

test('amounts grow with the distance, and those of several targets are those of each alone', () => {
  fc.assert(
    fc.property(pool, ({ start, map, rising, falling }) => {
      for (const targets of [rising, falling]) {
        const all = walk(start, targets, map)
        expect(targets.map((target) => walk(start, [target], map)[0])).toEqual(all)
        for (const [index, { amount0, amount1 }] of all.entries()) {
          const before = all[index - 1] ?? { amount0: 0n, amount1: 0n }
          expect(amount0).toBeGreaterThanOrEqual(before.amount0)
          expect(amount1).toBeGreaterThanOrEqual(before.amount1)
        }
      }
    }),
    seeded({ numRuns: 200 }),
  )
})

test('the amounts of full liquidity are those of the constant product', () => {
  const sqrtPriceX96 = 2n ** 96n
  const liquidity = 10n ** 18n
  const [amounts] = walk({ sqrtPriceX96, tick: 0, liquidity }, [2n * sqrtPriceX96], { ticks: [], spacing: 60 })
  expect(amounts).toEqual({ amount0: 5n * 10n ** 17n, amount1: 10n ** 18n })
})

test('a step ends at a tick whose positions cancel out, and at the end of a word, where amounts are rounded', () => {
  const start = { sqrtPriceX96: sqrtPriceAtTick(1), tick: 1, liquidity: 12_345n }
  const target = sqrtPriceAtTick(400)
  const whole = walk(start, [target], { ticks: [], spacing: undefined })[0]
  const cut = walk(start, [target], { ticks: [{ tick: 255, net: 0n }], spacing: undefined })
  expect(walk(start, [target], { ticks: [], spacing: 1 })).toEqual(cut)
  const between = sqrtPriceAtTick(255)
  const [near] = walk(start, [between], { ticks: [], spacing: undefined })
  const [far] = walk({ ...start, sqrtPriceX96: between, tick: 255 }, [target], { ticks: [], spacing: undefined })
  expect(cut[0]?.amount1).toBe((near?.amount1 ?? 0n) + (far?.amount1 ?? 0n))
  expect(cut[0]?.amount1).toBeGreaterThanOrEqual(whole?.amount1 ?? 0n)
})

test('at the price of an initialized tick, the tick of the pool says whether it is crossed', () => {
  const positions = [
    { lower: -60, upper: 60, liquidity: 10n ** 18n },
    { lower: 0, upper: 120, liquidity: 5n * 10n ** 18n },
  ]
  const map = { ticks: ticksOf(positions), spacing: 60 }
  const sqrtPriceX96 = sqrtPriceAtTick(0)
  const targets = [sqrtPriceAtTick(-30)]
  const below = walk({ sqrtPriceX96, tick: -1, liquidity: 10n ** 18n }, targets, map)
  const above = walk({ sqrtPriceX96, tick: 0, liquidity: 6n * 10n ** 18n }, targets, map)
  expect(below).toEqual(above)
})

test('missing positions show where the liquidity would become negative', () => {
  const start = { sqrtPriceX96: 2n ** 96n, tick: 0, liquidity: 5n }
  const map = { ticks: [{ tick: 10, net: -6n }], spacing: 10 }
  expect(amountsTo(start, [sqrtPriceAtTick(20)], map)).toBeUndefined()
  expect(amountsTo(start, [sqrtPriceAtTick(5)], map)).toHaveLength(1)
})

test('a limit is the largest integer whose square is at most the exact price, within the limits of a swap', () => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: LOWEST_LIMIT, max: HIGHEST_LIMIT }),
      fc.bigInt({ min: 1n, max: 2_000n }),
      fc.bigInt({ min: 1n, max: 2_000n }),
      (price, numerator, denominator) => {
        const root = sqrtPriceTimes(price, numerator, denominator)
        if (root > LOWEST_LIMIT && root < HIGHEST_LIMIT) {
          expect(root * root * denominator).toBeLessThanOrEqual(price * price * numerator)
          expect((root + 1n) * (root + 1n) * denominator).toBeGreaterThan(price * price * numerator)
        }
        expect(root).toBeGreaterThanOrEqual(LOWEST_LIMIT)
        expect(root).toBeLessThanOrEqual(HIGHEST_LIMIT)
      },
    ),
    seeded(),
  )
  for (const square of [0n, 1n, 2n, 3n, 4n, 8n, 9n, 10n])
    expect(integerRoot(square)).toBe(BigInt(Math.floor(Math.sqrt(Number(square)))))
})
