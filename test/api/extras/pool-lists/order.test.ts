import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readNewPoolsQuery, readTopPoolsQuery } from '../../../../api/extras/pool-lists/operation.ts'
import {
  GROUPINGS,
  type ListOrder,
  nameOf,
  pageOf,
  readCursor,
  SORTS,
  sorted,
} from '../../../../api/extras/pool-lists/order.ts'
import {
  changeOf,
  type ListRow,
  type PoolFilter,
  pairRows,
  passes,
  poolRows,
} from '../../../../api/extras/pool-lists/rows.ts'
import { listingKey } from '../../../../api/market/model/listing.ts'
import type { PoolFigures } from '../../../../api/market/pools/pool-figures.ts'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import { seeded } from '../../../support/seed.ts'
import { addressOf, poolOf } from '../../../support/store.ts'
import { POOLS } from '../../scenario.ts'

const NOW = 1_700_000_000
const TOKENS = [POOLS.main.token0, POOLS.main.token1, POOLS.v4.token0, POOLS.pepe.token0, POOLS.dust.token1]
const { ethereum, arbitrum } = NETWORKS

const usd = fc.oneof(fc.constantFrom(0, 9_999, 10_000, 1e12), fc.double({ min: 0, max: 1e9, noNaN: true }))
const change = fc.option(
  fc.oneof(fc.constantFrom(0, Number.POSITIVE_INFINITY, Number.NaN), fc.double({ min: -1, max: 99 })),
  {
    nil: undefined,
  },
)

const figures: fc.Arbitrary<PoolFigures> = fc
  .record({
    id: fc.integer({ min: 0, max: 255 }),
    one: fc.integer({ min: 0, max: TOKENS.length - 1 }),
    other: fc.integer({ min: 0, max: TOKENS.length - 1 }),
    network: fc.constantFrom(ethereum, arbitrum),
    venue: fc.constantFrom(undefined, 'sushi' as const),
    age: fc.integer({ min: 0, max: 2_000_000 }),
    trades: fc.nat(3),
    money: fc.record({ volumeUsd: usd, valueUsd: usd, heldUsd: usd }),
    changes: fc.record({ '5m': change, '1h': change, '24h': change }),
    sides: fc.option(fc.record({ buys: fc.nat(9), sells: fc.nat(9) }), { nil: undefined }),
  })
  .map(({ id, one, other, network, venue, age, money, ...more }) => {
    const [token0 = TOKENS[0], token1 = TOKENS[1]] = [TOKENS[one], TOKENS[other]]
    if (token0 === undefined || token1 === undefined) throw new RangeError('There are tokens.')
    const pool = { ...poolOf(addressOf(id.toString(16).padStart(2, '0')), token0, token1), ...(venue && { venue }) }
    const listing = { network, pool, created: 1, firstSeen: NOW - age }
    return { listing, usdMicros: 0n, price: 1, ...money, ...more }
  })

const keyOf = ({ listing }: PoolFigures) => listingKey(listing.network.name, listing.pool.id)
const market = fc.uniqueArray(figures, { selector: keyOf, maxLength: 40 })
const order: fc.Arbitrary<ListOrder> = fc.record({
  sort: fc.constantFrom(...SORTS),
  per: fc.constantFrom(...GROUPINGS),
  changeOver: fc.constantFrom('5m' as const, '1h' as const, '24h' as const),
})
const rowsOf = (pools: readonly PoolFigures[], { per }: ListOrder) =>
  per === 'pair' ? pairRows(pools) : poolRows(pools)
const nameOfRow = ({ lead }: ListRow) => keyOf(lead)

/** All pages of a list; `later` is what the list has become before each further page. */
function walk(first: readonly PoolFigures[], order: ListOrder, limit: number, later = () => first): ListRow[] {
  const found: ListRow[] = []
  let pools = first
  for (let cursor: string | undefined = ''; cursor !== undefined; pools = later()) {
    const after = cursor === '' ? undefined : readCursor(cursor)
    if (cursor !== '') expect(after?.order).toBe(nameOf(order))
    const { rows, next } = pageOf(sorted(rowsOf(pools, order), order), order, { after: after?.place, limit })
    expect(rows.length).toBeLessThanOrEqual(limit)
    if (next !== undefined) expect(rows).toHaveLength(limit)
    found.push(...rows)
    cursor = next
  }
  return found
}

describe('the pages of a list', () => {
  test('have each row once, in one order, whatever their length', () => {
    fc.assert(
      fc.property(market, order, fc.integer({ min: 1, max: 50 }), (pools, order, limit) => {
        const whole = sorted(rowsOf(pools, order), order).map(({ row }) => nameOfRow(row))
        expect(walk(pools, order, limit).map(nameOfRow)).toEqual(whole)
        expect(new Set(whole).size).toBe(whole.length)
      }),
      seeded({ numRuns: 300 }),
    )
  })

  test('have each pool that does not change once, whichever others come, leave or change between them', () => {
    fc.assert(
      fc.property(
        market,
        market,
        order,
        fc.integer({ min: 1, max: 5 }),
        (pools, others, { sort, changeOver }, limit) => {
          const known = new Set(pools.map(keyOf))
          const passing = others.filter((one) => !known.has(keyOf(one)))
          const order: ListOrder = { sort, changeOver, per: 'pool' }
          let turn = 0
          const mixed = () => [...pools, ...passing.filter((_, index) => (index + turn) % 2 === 0)]
          const told = walk(mixed(), order, limit, () => {
            turn += 1
            return mixed()
          })
          const expected = sorted(poolRows(pools), order).map(({ row }) => nameOfRow(row))
          expect(told.map(nameOfRow).filter((name) => known.has(name))).toEqual(expected)
        },
      ),
      seeded({ numRuns: 300 }),
    )
  })
})

describe('the order of a list', () => {
  test('by gain and loss has all pools of $10,000 before the others, and none without a change', () => {
    fc.assert(
      fc.property(market, order, fc.constantFrom('gain' as const, 'loss' as const), (pools, { changeOver }, sort) => {
        const rows = sorted(poolRows(pools), { sort, per: 'pool', changeOver }).map(({ row }) => row)
        expect(rows).toHaveLength(pools.filter((pool) => Number.isFinite(pool.changes[changeOver])).length)
        const parts = [rows.filter(({ heldUsd }) => heldUsd >= 10_000), rows.filter(({ heldUsd }) => heldUsd < 10_000)]
        expect(rows).toEqual(parts.flat())
        for (const part of parts) {
          const changes = part.map(
            ({ lead }) => (sort === 'gain' ? 1 : -1) * (changeOf(lead, changeOver) ?? Number.NaN),
          )
          expect(changes).toEqual(changes.toSorted((one, other) => other - one))
        }
      }),
      seeded({ numRuns: 300 }),
    )
  })

  test('by volume counts no more of a pool than it held over the day', () => {
    fc.assert(
      fc.property(market, (pools) => {
        const counted = sorted(poolRows(pools), { sort: 'volume', per: 'pool', changeOver: '24h' }).map(({ row }) =>
          Math.min(row.volumeUsd, row.heldUsd),
        )
        expect(counted).toEqual(counted.toSorted((one, other) => other - one))
      }),
      seeded({ numRuns: 300 }),
    )
  })
})

test('the rows of pairs have the sums of the pools, each of which is in one of them', () => {
  fc.assert(
    fc.property(market, (pools) => {
      const rows = pairRows(pools)
      expect(rows.reduce((sum, { count }) => sum + count, 0)).toBe(pools.length)
      const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
      expect(sum(rows.map(({ valueUsd }) => valueUsd))).toBeCloseTo(sum(pools.map(({ valueUsd }) => valueUsd)), 0)
      // Symbols of tokens that are not trusted name no pair.
      const isPepe = ({ listing: { pool } }: PoolFigures) => [pool.token0, pool.token1].includes(POOLS.pepe.token0)
      expect(rows.filter(({ lead }) => isPepe(lead)).every(({ count }) => count === 1)).toBe(true)
    }),
    seeded({ numRuns: 300 }),
  )
})

test('a filter leaves the pools that each of its parts leaves', () => {
  const limit = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined })
  const filter: fc.Arbitrary<PoolFilter> = fc.record({
    networks: limit(fc.constantFrom(['ethereum' as const], ['ethereum' as const, 'arbitrum' as const])),
    venues: limit(fc.constantFrom(['sushi' as const], ['uniswap' as const], ['pancake' as const])),
    minHeldUSD: limit(usd),
    minAge: limit(fc.nat(2_000_000)),
    maxAge: limit(fc.nat(2_000_000)),
    minChange: limit(fc.double({ min: -1, max: 9, noNaN: true })),
    maxChange: limit(fc.double({ min: -1, max: 9, noNaN: true })),
    changeOver: fc.constantFrom('5m' as const, '24h' as const),
  })
  fc.assert(
    fc.property(market, filter, (pools, filter) => {
      const left = pools.filter((pool) => passes(pool, filter, NOW))
      const { changeOver, ...parts } = filter
      const ofEach = Object.entries(parts).map(
        ([name, value]) => new Set(pools.filter((pool) => passes(pool, { changeOver, [name]: value }, NOW))),
      )
      expect(left).toEqual(pools.filter((pool) => ofEach.every((some) => some.has(pool))))
      for (const { listing, heldUsd, changes } of left) {
        const age = NOW - listing.firstSeen
        expect(age).toBeGreaterThanOrEqual(filter.minAge ?? 0)
        expect(age).toBeLessThanOrEqual(filter.maxAge ?? age)
        expect(heldUsd).toBeGreaterThanOrEqual(filter.minHeldUSD ?? 0)
        if (filter.minChange !== undefined) expect(changes[changeOver]).toBeGreaterThanOrEqual(filter.minChange)
        if (filter.maxChange !== undefined) expect(changes[changeOver]).toBeLessThanOrEqual(filter.maxChange)
      }
    }),
    seeded({ numRuns: 500 }),
  )
})

describe('the query of a list', () => {
  const read = (query: Record<string, string>) =>
    readTopPoolsQuery(new Map(Object.entries(query).map(([name, text]) => [name, [text]])))

  test('has the cursor that pages write, of any place', () => {
    fc.assert(
      fc.property(market, order, (pools, order) => {
        const { next } = pageOf(sorted(rowsOf(pools, order), order), order, { after: undefined, limit: 1 })
        if (next !== undefined) expect(read({ ...order, cursor: next }).cursor?.order).toBe(nameOf(order))
      }),
      seeded({ numRuns: 300 }),
    )
  })

  test('takes or refuses any text as a cursor', () => {
    const json = fc.jsonValue().map((value) => Buffer.from(JSON.stringify(value)).toString('base64url'))
    fc.assert(
      fc.property(fc.oneof(fc.string(), json), (cursor) => {
        expect(() => read({ cursor })).toThrow(expect.objectContaining({ code: 'invalid_parameters' }))
      }),
      seeded({ numRuns: 1_000 }),
    )
  })

  test('has the newest pools first where new pools are asked for', () => {
    expect(readNewPoolsQuery(new Map())).toMatchObject({ sort: 'newest', per: 'pool', limit: 20, changeOver: '24h' })
    expect(read({})).toMatchObject({ sort: 'volume', per: 'pool', limit: 20, changeOver: '24h' })
    expect(read({ maxAge: '12h', venues: ' sushi , uniswap ', minChange: '-0.5' })).toMatchObject({
      maxAge: 43_200,
      venues: ['uniswap', 'sushi'],
      minChange: -0.5,
    })
  })
})
