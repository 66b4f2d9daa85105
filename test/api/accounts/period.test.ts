import fc from 'fast-check'
import { expect, test } from 'vitest'
import { monthOf } from '../../../api/accounts/period.ts'

const at = (text: string) => Date.parse(text) / 1000
const period = (now: string, start?: string) => {
  const { start: from, end } = monthOf(at(now), start === undefined ? undefined : at(start))
  return [from, end].map((second) => new Date(second * 1000).toISOString().slice(0, 16))
}

test('months are UTC calendar months unless the key has a billing start', () => {
  expect(period('2024-01-31T23:59:59Z')).toEqual(['2024-01-01T00:00', '2024-02-01T00:00'])
  expect(period('2024-12-01T00:00:00Z')).toEqual(['2024-12-01T00:00', '2025-01-01T00:00'])
})

test('a billing month starts on its day and minute', () => {
  expect(period('2024-03-15T10:29:59Z', '2024-01-15T10:30:45Z')).toEqual(['2024-02-15T10:30', '2024-03-15T10:30'])
  expect(period('2024-03-15T10:30:00Z', '2024-01-15T10:30:45Z')).toEqual(['2024-03-15T10:30', '2024-04-15T10:30'])
})

test('a 31st falls on the last day of shorter months, and comes back', () => {
  expect(period('2024-02-10T00:00:00Z', '2024-01-31T00:00:00Z')).toEqual(['2024-01-31T00:00', '2024-02-29T00:00'])
  expect(period('2024-03-10T00:00:00Z', '2024-01-31T00:00:00Z')).toEqual(['2024-02-29T00:00', '2024-03-31T00:00'])
  expect(period('2024-04-30T12:00:00Z', '2024-01-31T00:00:00Z')).toEqual(['2024-04-30T00:00', '2024-05-31T00:00'])
})

test('every moment is in its period, and periods touch', () => {
  const moment = fc.integer({ min: at('2000-01-01'), max: at('2100-01-01') })
  fc.assert(
    fc.property(moment, fc.option(moment, { nil: undefined }), (now, start) => {
      const month = monthOf(now, start)
      expect(month.start <= now && now < month.end).toBe(true)
      expect(monthOf(month.end, start).start).toBe(month.end)
      expect(monthOf(month.start, start)).toEqual(month)
    }),
  )
})
