import fc from 'fast-check'
import { expect, test } from 'vitest'
import { allocateShares, type Claim, type Claimant, claimedOf, fits, nextClaim } from '../../../api/accounts/claims.ts'

const parties = fc.uniqueArray(
  fc.record({ id: fc.string({ minLength: 1, maxLength: 4 }), floor: fc.nat(40), needed: fc.nat(200) }),
  { selector: ({ id }) => id, maxLength: 8 },
)

test('shares fit the limit, leave each its floor, and do not depend on the order', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 200 }), parties, (limit, all: Claimant[]) => {
      const shares = allocateShares(limit, all)
      const sum = [...shares.values()].reduce((total, share) => total + share, 0)
      const floors = all.reduce((total, { floor }) => total + floor, 0)
      expect(sum).toBeLessThanOrEqual(Math.max(limit, floors))
      for (const { id, floor, needed } of all) {
        expect(shares.get(id)).toBeGreaterThanOrEqual(floor)
        expect(shares.get(id)).toBeLessThanOrEqual(Math.max(floor, needed))
      }
      // Nothing is left while anything is lacking.
      const lacks = all.some(({ id, needed, floor }) => Math.max(needed, floor) > (shares.get(id) ?? 0))
      if (lacks) expect(sum).toBeGreaterThanOrEqual(limit)
      expect(new Map(allocateShares(limit, all.toReversed()))).toEqual(new Map(shares))
    }),
  )
})

/** Processes that write and read in any order of steps, each step of one process alone, as the tables have it. */
test('whatever the order of writes and reads, processes never may spend more than the limit together', () => {
  const step = fc.record({ process: fc.nat(4), act: fc.constantFrom('ask', 'write', 'read', 'spend') })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100 }), fc.array(step, { maxLength: 400 }), (limit, steps) => {
      const table = new Map<string, Claim>()
      const all = Array.from({ length: 5 }, (_, index) => ({
        id: `process ${index}`,
        granted: 0,
        used: 0,
        needed: 0,
        told: undefined as number | undefined,
        others: new Map<string, Claim>(),
      }))
      for (const { process, act } of steps) {
        const one = all[process % all.length]
        if (one === undefined) continue
        if (act === 'ask') one.needed = Math.min(limit, one.needed + 3)
        if (act === 'write') {
          const { id, granted, used, others } = one
          const needed = Math.max(used, one.needed)
          const claimed = nextClaim({ id, limit, floor: used, needed, granted, others })
          one.granted = Math.min(granted, claimed)
          one.told = claimed
          table.set(id, { claimed, needed, credits: used, calls: 0 })
        }
        if (act === 'read') {
          one.others = new Map([...table].filter(([id]) => id !== one.id))
          if (one.told !== undefined && one.told > one.granted && fits(one.told, limit, one.others))
            one.granted = one.told
        }
        if (act === 'spend' && one.used < Math.min(one.granted, one.needed)) one.used += 1
        expect(all.reduce((sum, { granted }) => sum + granted, 0)).toBeLessThanOrEqual(limit)
      }
    }),
    { numRuns: 500 },
  )
})

test('processes that all want everything get it all between them, within some rounds', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1_000 }), fc.integer({ min: 1, max: 9 }), (limit, count) => {
      const table = new Map<string, Claim>()
      const granted = new Map<string, number>()
      const ids = Array.from({ length: count }, (_, index) => `process ${index}`)
      const othersOf = (id: string) => new Map([...table].filter(([other]) => other !== id))
      for (let round = 0; round < 8; round++) {
        const before = new Map(ids.map((id) => [id, othersOf(id)]))
        // All of them read before any of them writes.
        for (const id of ids) {
          const others = before.get(id) ?? new Map()
          const have = granted.get(id) ?? 0
          const claimed = nextClaim({ id, limit, floor: 0, needed: limit, granted: have, others })
          granted.set(id, Math.min(have, claimed))
          table.set(id, { claimed, needed: limit, credits: 0, calls: 0 })
        }
        for (const id of ids) {
          const claim = table.get(id)
          if (claim !== undefined && fits(claim.claimed, limit, othersOf(id))) granted.set(id, claimedOf(claim))
        }
      }
      expect([...granted.values()].reduce((sum, one) => sum + one, 0)).toBe(limit)
    }),
  )
})
