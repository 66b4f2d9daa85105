import { expect, test } from 'vitest'
import { type Candidate, leadOf } from '../../../../api/market/find/lead.ts'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import { addressOf, poolOf } from '../../../support/store.ts'

const TOKEN = { address: addressOf('01'), symbol: 'A', name: 'A', decimals: 18 }
const SOUND = { trades: 1, rangeUsdMicros: 0n, dayUsdMicros: 0n, valueUsd: 10_000, heldUsd: 0, deviation: 0 }

function candidate(id: string, facts: Partial<Candidate>): Candidate {
  const listing = {
    network: NETWORKS.ethereum,
    pool: poolOf(addressOf(id), TOKEN, TOKEN),
    created: undefined,
    firstSeen: 0,
  }
  return { listing, forward: true, ...SOUND, ...facts }
}

const lead = (...candidates: Candidate[]) => leadOf(candidates)?.candidate.listing.pool.id.slice(2, 4)

test('volume of the day leads, then volume in the range, then value', () => {
  expect(lead(candidate('a1', { dayUsdMicros: 1n, rangeUsdMicros: 9n }), candidate('a2', { dayUsdMicros: 2n }))).toBe(
    'a2',
  )
  expect(lead(candidate('a1', { rangeUsdMicros: 1n, valueUsd: 1e9 }), candidate('a2', { rangeUsdMicros: 2n }))).toBe(
    'a2',
  )
  expect(lead(candidate('a1', { valueUsd: 10_001 }), candidate('a2', { valueUsd: 10_002 }))).toBe('a2')
})

test('a pool that traded in the range comes before one that did not', () => {
  expect(lead(candidate('a1', { trades: 0, dayUsdMicros: 9n }), candidate('a2', {}))).toBe('a2')
  expect(lead(candidate('a1', { trades: 0, dayUsdMicros: 9n }), candidate('a2', { trades: 0 }))).toBe('a1')
})

test('small pools lead only where no other is left', () => {
  expect(lead(candidate('a1', { dayUsdMicros: 9n, valueUsd: 9_999 }), candidate('a2', {}))).toBe('a2')
  expect(lead(candidate('a1', { valueUsd: 9_999 }), candidate('a2', { trades: 0 }))).toBe('a1')
})

test('equals follow their ids', () => {
  expect(lead(candidate('a2', {}), candidate('a1', {}))).toBe('a1')
  expect(lead()).toBeUndefined()
})

test('volume counts up to what was held over the day', () => {
  const washed = candidate('a1', { dayUsdMicros: 10n ** 15n, heldUsd: 21_000 })
  const honest = candidate('a2', { dayUsdMicros: 10n ** 12n, heldUsd: 1e8 })
  expect(leadOf([washed, honest])).toEqual({
    candidate: honest,
    passedOver: { pool: washed.listing.pool.id, reason: 'unheld-volume' },
  })
  expect(leadOf([honest])?.passedOver).toBeUndefined()
})

test('volume counts as it is where nothing is known to be held', () => {
  expect(lead(candidate('a1', { dayUsdMicros: 1n }), candidate('a2', { dayUsdMicros: 2n }))).toBe('a2')
})

test('a pool more than 1 % from the price of its pair does not lead, whatever it holds', () => {
  const far = candidate('a1', { dayUsdMicros: 9n, heldUsd: 1e9, deviation: 0.0101 })
  const near = candidate('a2', { dayUsdMicros: 1n, deviation: 0.01 })
  expect(leadOf([far, near])).toEqual({
    candidate: near,
    passedOver: { pool: far.listing.pool.id, reason: 'deviating-price' },
  })
})

test('the nearest pool leads where all prices are far from that of the pair', () => {
  const far = candidate('a1', { dayUsdMicros: 9n, deviation: 0.5 })
  expect(lead(far, candidate('a2', { deviation: 0.02 }), candidate('a3', { deviation: 0.03 }))).toBe('a2')
})

test('a pool that alone traded in the range does not lead where its price is far from the pair’s', () => {
  const far = candidate('a1', { dayUsdMicros: 9n, deviation: 0.5 })
  const silent = candidate('a2', { trades: 0 })
  expect(leadOf([far, silent])).toEqual({
    candidate: silent,
    passedOver: { pool: far.listing.pool.id, reason: 'deviating-price' },
  })
})

test('a pool whose hook takes or gives beside its swaps leads only where every other one is small', () => {
  const hooked = (id: string, hooks: `0x${string}`, facts: Partial<Candidate>) => {
    const one = candidate(id, facts)
    return { ...one, listing: { ...one.listing, pool: { ...one.listing.pool, hooks } } }
  }
  const plain = candidate('a1', { dayUsdMicros: 1n })
  for (const flags of ['4', '8', 'c'] as const) {
    const hooks = `0x${'1'.repeat(39)}${flags}` as const
    expect(lead(hooked('a2', hooks, { dayUsdMicros: 9n }), plain)).toBe('a1')
    expect(lead(hooked('a2', hooks, { dayUsdMicros: 9n }), candidate('a1', { valueUsd: 9_999 }))).toBe('a2')
  }
  // This hook may change fees and liquidity, and no amount of a swap.
  expect(lead(hooked('a2', `0x${'f'.repeat(39)}3`, { dayUsdMicros: 9n }), plain)).toBe('a2')
})
