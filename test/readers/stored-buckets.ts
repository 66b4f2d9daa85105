/** Candles of an interval that is not stored are put together from stored ones, each of which may be of another state of a write under way. */
import type { FoldCandle } from '../support/fold.ts'
import type { LedgerHistory } from './ledger-history.ts'
import { expectedPart, type Question } from './question.ts'

const STORED_SECONDS = [86_400, 3_600, 60, 1]
const MAX_TRIED = 1_000
/** A volume is rounded once, and the sum of rounded ones a few times. */
const PRECISION = 1e-12

/** True where the row is the fold of stored candles, each as it is at one of the positions. */
export function isFoldOfStoredBuckets(
  history: LedgerHistory,
  question: Question,
  row: FoldCandle,
  positions: readonly number[],
): boolean {
  if (question.kind !== 'candles') return false
  const stored = STORED_SECONDS.find((seconds) => question.interval % seconds === 0) ?? 1
  if (stored === question.interval) return false
  const from = Date.parse(row.time) / 1_000
  const buckets: Question = {
    ...question,
    interval: stored,
    from,
    to: from + question.interval,
    newest: undefined,
    fill: 'none',
  }
  const states = positions.flatMap((position) => {
    const tip = history.states[position]?.tip
    return tip ? [expectedPart(buckets, 'candles', tip, history) as FoldCandle[]] : []
  })
  let folds: (FoldCandle | undefined)[] = [undefined]
  for (const time of [...new Set(states.flat().map((bucket) => bucket.time))].sort()) {
    const versions = distinct(states.map((state) => state.find((bucket) => bucket.time === time)))
    const parts = versions.filter((version) => version === undefined || isWithin(version, row))
    const all = folds.flatMap((fold) => parts.map((version) => joined(fold, version)))
    folds = distinct(all.filter((fold) => fold === undefined || (fold.open === row.open && isWithin(fold, row))))
    if (folds.length > MAX_TRIED) return false
  }
  return folds.some((fold) => fold !== undefined && isSame(fold, row))
}

function distinct(versions: readonly (FoldCandle | undefined)[]): (FoldCandle | undefined)[] {
  return [...new Map(versions.map((version) => [JSON.stringify(version), version])).values()]
}

function joined(fold: FoldCandle | undefined, next: FoldCandle | undefined): FoldCandle | undefined {
  if (!fold || !next) return fold ?? next
  return {
    time: fold.time,
    open: fold.open,
    high: Math.max(fold.high, next.high),
    low: Math.min(fold.low, next.low),
    close: next.close,
    volume: fold.volume + next.volume,
  }
}

/** True where the row can be the fold of this one and of others. */
function isWithin({ high, low, volume }: FoldCandle, row: FoldCandle): boolean {
  return high <= row.high && low >= row.low && volume <= row.volume * (1 + PRECISION)
}

function isSame(fold: FoldCandle, row: FoldCandle): boolean {
  const prices = ['open', 'high', 'low', 'close'] as const
  return (
    prices.every((name) => fold[name] === row[name]) && Math.abs(fold.volume - row.volume) <= PRECISION * fold.volume
  )
}
