import { expect, test } from 'vitest'
import {
  type Coverage,
  clip,
  completeUntil,
  gapSinceTip,
  gapsOf,
  isComplete,
} from '../../../../api/market/cache/coverage.ts'
import { addressOf, poolOf } from '../../../support/store.ts'

const token = { address: addressOf('01'), symbol: 'A', name: 'A', decimals: 18 }
const POOL = poolOf(addressOf('aa'), token, token)
const timeOf = (block: number) => block * 10
const tip = { number: 900, hash: '0x', timestamp: timeOf(900), finalized: 0 }
const ledger = { first: 700, time: timeOf(700) }
const read = (from: number, to: number, filter = '') => ({
  filter,
  from,
  to,
  fromTime: timeOf(from),
  toTime: timeOf(to),
})
const unknown = (coverage: Coverage['backfilled'], created?: number) =>
  gapsOf({ ledger, backfilled: coverage }, tip, POOL, created)
const START = Number.NEGATIVE_INFINITY

test('time before the ledger, and between the ranges of jobs, is not known', () => {
  expect(unknown([])).toEqual([{ from: START, to: 7_000 }])
  expect(unknown([read(100, 199), read(300, 399)])).toEqual([
    { from: START, to: 1_000 },
    { from: 1_991, to: 3_000 },
    { from: 3_991, to: 7_000 },
  ])
})

test('ranges that touch or overlap are one', () => {
  expect(unknown([read(300, 699), read(100, 299), read(150, 200)])).toEqual([{ from: START, to: 1_000 }])
  expect(unknown([read(650, 800)])).toEqual([{ from: START, to: 6_500 }])
})

test('the range of a job for other pools does not count', () => {
  const others = `${addressOf('bb')},${addressOf('cc')}`
  expect(unknown([read(100, 699, others)])).toEqual([{ from: START, to: 7_000 }])
  expect(unknown([read(100, 699, `${POOL.id},${addressOf('bb')}`)])).toEqual([{ from: START, to: 1_000 }])
})

test('no time is missing before a pool was made', () => {
  expect(unknown([read(100, 199)], 150)).toEqual([{ from: 1_991, to: 7_000 }])
  expect(unknown([read(100, 199)], 700)).toEqual([])
  expect(unknown([read(100, 199)], 50)).toEqual(unknown([read(100, 199)]))
})

test('an empty store has no known time', () => {
  const nothing = gapsOf({ ledger: undefined, backfilled: [] }, undefined, POOL, undefined)
  expect(nothing).toEqual([{ from: START, to: Number.POSITIVE_INFINITY }])
})

test('time after the tip is not known once the ledger is late', () => {
  expect(gapSinceTip({ tip, backfilled: [] }, tip.timestamp + 59)).toEqual([])
  expect(gapSinceTip({ tip, backfilled: [] }, tip.timestamp + 60)).toEqual([
    { from: 9_001, to: Number.POSITIVE_INFINITY },
  ])
  expect(gapSinceTip({ tip: undefined, backfilled: [] }, 0)).toEqual([])
})

test('one run alone makes a range complete, or the ledger', () => {
  const runs = [read(100, 199), read(300, 399)]
  const coverage = { tip, backfilled: runs, gaps: [], unproven: [], finalUntil: undefined }
  expect(isComplete({ from: 1_500, to: 1_900 }, { ...coverage, tip: undefined })).toBe(true)
  expect(isComplete({ from: 1_500, to: 3_500 }, { ...coverage, tip: undefined })).toBe(false)
  expect(isComplete({ from: 0, to: tip.timestamp }, coverage)).toBe(true)
  expect(isComplete({ from: 0, to: tip.timestamp + 1 }, coverage)).toBe(false)
})

test('time is complete from a trade up to the next gap, and a gap that ends within the bucket lies before the trade', () => {
  const bucket = { from: 100, to: 200 }
  expect(completeUntil([], bucket)).toBe(Number.POSITIVE_INFINITY)
  expect(completeUntil([{ from: START, to: 150 }], bucket)).toBe(Number.POSITIVE_INFINITY)
  expect(
    completeUntil(
      [
        { from: START, to: 150 },
        { from: 300, to: 400 },
      ],
      bucket,
    ),
  ).toBe(300)
  expect(completeUntil([{ from: 120, to: 150 }], bucket)).toBe(120)
  expect(completeUntil([{ from: 50, to: 200 }], bucket)).toBe(50)
})

test('only what lies within a range counts', () => {
  const gaps = [
    { from: START, to: 10 },
    { from: 20, to: 30 },
    { from: 40, to: Number.POSITIVE_INFINITY },
  ]
  expect(clip(gaps, { from: 10, to: 25 })).toEqual([{ from: 20, to: 25 }])
  expect(clip(gaps, { from: 5, to: 50 })).toEqual([
    { from: 5, to: 10 },
    { from: 20, to: 30 },
    { from: 40, to: 50 },
  ])
})
