import { expect, test } from 'vitest'
import { fillGaps, lastFillable } from '../../../../api/market/candles/fill-gaps.ts'

const traded = (time: number, close: number) => ({ time, open: 1, high: 9, low: 1, close, volume: 5, trades: 2 })
const times = (rows: readonly { time: number }[]) => rows.map((row) => row.time)
const window = { from: 0, to: 600 }
const usual = { window, interval: 60, limit: 100, previous: undefined, lastFilled: 540, gaps: [] }
const before = { from: -600, to: -540, close: 7 }

test('an empty bucket carries the close before it, with no volume', () => {
  const rows = fillGaps({ ...usual, traded: [traded(60, 3), traded(240, 4)] })
  expect(times(rows)).toEqual([60, 120, 180, 240, 300, 360, 420, 480, 540])
  expect(rows[1]).toEqual({ time: 120, open: 3, high: 3, low: 3, close: 3, volume: 0, trades: 0 })
})

test('a close from before the range fills its start', () => {
  expect(times(fillGaps({ ...usual, traded: [traded(120, 3)], previous: before }))[0]).toBe(0)
})

test('nothing is filled before the first trade or after the last fillable bucket', () => {
  expect(fillGaps({ ...usual, traded: [] })).toEqual([])
  expect(times(fillGaps({ ...usual, traded: [traded(60, 3)], lastFilled: 180 }))).toEqual([60, 120, 180])
  expect(times(fillGaps({ ...usual, traded: [traded(60, 3), traded(420, 3)], lastFilled: 180 }))).toEqual([
    60, 120, 180, 420,
  ])
  expect(fillGaps({ ...usual, traded: [], previous: before, lastFilled: Number.NEGATIVE_INFINITY })).toEqual([])
})

test('the newest rows are kept', () => {
  expect(times(fillGaps({ ...usual, traded: [traded(60, 3)], limit: 2 }))).toEqual([480, 540])
})

test('filling ends with the bucket that holds the tip, or with now while the ledger keeps up', () => {
  const tip = { number: 1, hash: '0x', timestamp: 1_000, finalized: 0 }
  expect(lastFillable({ tip, backfilled: [] }, 1_059, 60)).toBe(1_020)
  expect(lastFillable({ tip, backfilled: [] }, 1_060, 60)).toBe(960)
  expect(lastFillable({ tip, backfilled: [] }, 990, 60)).toBe(960)
  expect(lastFillable({ tip: undefined, backfilled: [] }, 1_000, 60)).toBe(Number.NEGATIVE_INFINITY)
})

test('no close is carried over a gap of the coverage', () => {
  const gaps = [{ from: 210, to: 330 }]
  const rows = (...trades: Parameters<typeof traded>[]) =>
    times(fillGaps({ ...usual, gaps, traded: trades.map((trade) => traded(...trade)) }))
  expect(rows([60, 3])).toEqual([60, 120])
  expect(rows([60, 3], [420, 3])).toEqual([60, 120, 420, 480, 540])
  // The trade may lie before or after the gap within its bucket.
  expect(rows([180, 3])).toEqual([180])
  // The gap ends within the bucket, so the buckets after it are complete.
  expect(rows([300, 3])).toEqual([300, 360, 420, 480, 540])
})

test('a close from before the range is not carried over a gap', () => {
  const first = (gap: { from: number; to: number }) =>
    times(fillGaps({ ...usual, gaps: [gap], traded: [traded(120, 3)], previous: before }))[0]
  expect(first({ from: -300, to: -200 })).toBe(120)
  expect(first({ from: -590, to: -550 })).toBe(120)
  expect(first({ from: Number.NEGATIVE_INFINITY, to: -550 })).toBe(0)
})
