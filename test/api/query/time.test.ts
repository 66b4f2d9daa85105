import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatTime, type Instant, instantOf, isBefore, parseTime, wholeSecond } from '../../../api/query/time.ts'

const second = Date.UTC(2024, 0, 5, 12, 30, 15) / 1000

test.each([
  ['2024-01-05T12:30:15Z', second, ''],
  ['2024-01-05t12:30:15z', second, ''],
  ['2024-01-05T12:30:15', second, ''],
  ['2024-01-05T12:30:15.25', second, '25'],
  ['2024-01-05T12:30:15.000Z', second, ''],
  ['2024-01-05T12:30:15.1234567890123456789Z', second, '1234567890123456789'],
  ['2024-01-05T12:30:15+00:00', second, ''],
  ['2024-01-05T12:30:15-00:00', second, ''],
  ['2024-01-05T12:30:15+0000', second, ''],
  ['2024-01-05T14:00:15+0130', second, ''],
  ['2024-01-05T14:00:15+01:30', second, ''],
  // A raw plus sign in an address arrives as a blank.
  ['2024-01-05T14:00:15 01:30', second, ''],
  ['2024-01-05T07:30:15-05:00', second, ''],
  // ISO 8601 allows a time to end with its minute.
  ['2024-01-05T12:30', second - 15, ''],
  ['2024-01-05T12:30Z', second - 15, ''],
  ['2024-01-05T14:00+01:30', second - 15, ''],
  ['2024-01-05T14:00 0130', second - 15, ''],
  ['2024-01-05', Date.UTC(2024, 0, 5) / 1000, ''],
  ['2024-02-29', Date.UTC(2024, 1, 29) / 1000, ''],
  ['1969-12-31T23:59:59Z', -1, ''],
  ['2016-12-31T23:59:60Z', Date.UTC(2017, 0, 1) / 1000, ''],
  ['2017-01-01T00:59:60+01:00', Date.UTC(2017, 0, 1) / 1000, ''],
])('%s', (text, seconds, fraction) => expect(parseTime(text)).toEqual({ seconds, fraction }))

test.each([
  '',
  '2024',
  '2024-01',
  '2024-1-5',
  '1704458415',
  '20240105',
  '2024-01-05T12',
  '2024-01-05T12Z',
  '2024-01-05T12:30:',
  '2024-01-05T12:30.5Z',
  '2024-01-05T12:60Z',
  '2024-01-05 12:30:15',
  '2024-01-05Z',
  '2024-13-01',
  '2024-00-01',
  '2024-01-32',
  '2023-02-29',
  '2024-01-05T24:00:00Z',
  '2024-01-05T12:60:00Z',
  '2024-01-05T12:30:60Z',
  '2024-01-05T12:30:15.Z',
  '2024-01-05T12:30:15,5Z',
  '2024-01-05T12:30:15+1:00',
  '2024-01-05T12:30:15+24:00',
  '2024-01-05T12:30:15+01:60',
  '2024-01-05T12:30:15 UTC',
  ' 2024-01-05',
  'now',
  '+002024-01-05',
])('%j is not a time', (text) => expect(parseTime(text)).toBeUndefined())

test('the text of a date is read back', () => {
  fc.assert(
    fc.property(fc.date({ min: new Date(0), max: new Date('2105-12-31'), noInvalidDate: true }), (date) => {
      const instant = instantOf(date)
      expect(parseTime(date.toISOString())).toEqual(instant)
      expect(parseTime(formatTime(instant.seconds))).toEqual({ seconds: instant.seconds, fraction: '' })
      expect(wholeSecond(instant)).toBe(Math.ceil(date.getTime() / 1000))
    }),
  )
})

test('instants are ordered as the numbers that they are', () => {
  const instant = fc.record({
    seconds: fc.integer({ min: -5, max: 5 }),
    fraction: fc.integer({ min: 0, max: 999 }).map(digits),
  })
  fc.assert(
    fc.property(instant, instant, (left, right) => {
      expect(isBefore(left, right)).toBe(value(left) < value(right))
    }),
  )
})

function digits(thousandths: number): string {
  return String(thousandths).padStart(3, '0').replace(/0+$/, '')
}

function value({ seconds, fraction }: Instant): number {
  return seconds * 1000 + Number(fraction.padEnd(3, '0'))
}
