import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bucketFrom, bucketOf, parseInterval } from '../../../api/query/interval.ts'

test('an interval is a whole number and a unit', () => {
  expect(['1s', '45s', '7m', '4h', '24h', '1440m', '86400s', '1d'].map(parseInterval)).toEqual([
    1, 45, 420, 14_400, 86_400, 86_400, 86_400, 86_400,
  ])
})

test.each([
  '',
  's',
  '0s',
  '01m',
  '1',
  '1w',
  '1M',
  '1H',
  '1 h',
  ' 1h',
  '1h ',
  '1.5h',
  '-1h',
  '+1h',
  '1e1s',
  '１m',
  '1hh',
])('%j is not an interval', (text) => expect(parseInterval(text)).toBeUndefined())

test.each(['2d', '25h', '1441m', '86401s', '99999d', '100000s'])('%s is longer than a day', (text) =>
  expect(parseInterval(text)).toBeUndefined(),
)

test('a bucket holds its second and starts on a multiple of the interval', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4e9 }), fc.integer({ min: 1, max: 86_400 }), (second, interval) => {
      const start = bucketOf(second, interval)
      expect(start % interval).toBe(0)
      expect(start <= second && second < start + interval).toBe(true)
      const next = bucketFrom(second, interval)
      expect(next % interval).toBe(0)
      expect(next >= second && next - interval < second).toBe(true)
    }),
  )
})
