import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openSince } from '../../../aggregator/store/since.ts'

type Row = { id: number; written: number }

/** A table whose inserts are seen some time after the moment that they are stamped with. */
function tableOf() {
  const rows: (Row & { seenAt: number })[] = []
  const places: { since: number; limit: number }[] = []
  let clock = 1_000_000
  return {
    places,
    pass: (ms: number) => {
      clock += ms
    },
    insert(id: number, delayMs = 0) {
      rows.push({ id, written: clock, seenAt: clock + delayMs })
    },
    query: {
      now: async () => clock,
      async read(place: { since: number; limit: number }) {
        places.push(place)
        const seen = rows.filter(({ written, seenAt }) => seenAt <= clock && written >= place.since)
        return seen.slice(0, place.limit).map(({ id, written }) => ({ id, written }))
      },
    },
  }
}

describe('new rows', () => {
  test('are any at the first call, and then those that came since', async () => {
    const table = tableOf()
    table.insert(1)
    table.pass(100_000)
    const since = openSince<Row>(table.query)
    expect(await since.next()).toBeUndefined()
    table.insert(2)
    expect((await since.next())?.map(({ id }) => id)).toEqual([2])
    expect(await since.next()).toEqual([])
  })

  test('are any where they are more than are read, and single ones again afterwards', async () => {
    const table = tableOf()
    const since = openSince<Row>(table.query, 10)
    await since.next()
    for (let id = 0; id < 100; id++) table.insert(id)
    expect(await since.next()).toBeUndefined()
    table.pass(70_000)
    await since.next()
    table.insert(100)
    expect((await since.next())?.map(({ id }) => id)).toContain(100)
    expect(table.places.every(({ limit }) => limit === 11)).toBe(true)
  })

  test('are each returned once, however late an insert is seen within ten seconds', async () => {
    const step = fc.record({ pass: fc.nat({ max: 20_000 }), delay: fc.nat({ max: 9_000 }), isRead: fc.boolean() })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const table = tableOf()
        const since = openSince<Row>(table.query)
        await since.next()
        const found: number[] = []
        for (const [id, { pass, delay, isRead }] of steps.entries()) {
          table.insert(id, delay)
          table.pass(pass)
          if (isRead) found.push(...((await since.next()) ?? []).map((row) => row.id))
        }
        table.pass(10_000)
        found.push(...((await since.next()) ?? []).map((row) => row.id))
        expect(found.toSorted((one, other) => one - other)).toEqual(steps.map((_, id) => id))
      }),
    )
  })
})
