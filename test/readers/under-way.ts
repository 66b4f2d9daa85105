/**
 * Answers that were read while a write was under way. The tables have no snapshot over their statements: the ledger shows a flush of many blocks
 * once its ticks and candles are stored, and shows a rollback to the readers once its candles are recomputed. In between each row is of a state
 * before the write or after it, and so is each term of a sum. Where a rollback begins right after a flush, the tip may be that of before both.
 * Prices and tips have no such excuse.
 */
import { ancestorOf, type Block } from '../simulation/block.ts'
import type { LedgerHistory } from './ledger-history.ts'
import { expectedPart, type Question, type SumPart, sumText, type Terms, termsOf } from './question.ts'
import { isFoldOfStoredBuckets } from './stored-buckets.ts'

type Row = Readonly<Record<string, unknown>> | string
type CandleRow = { time: string; open: number; high: number; low: number; close: number; volume: number }

/** A rollback takes rows back one pool after the other, and what is kept of them in memory may be shown once more: true where it leads to `reached`. */
export function isRollbackUnderWay(history: LedgerHistory, before: number, reached: number): boolean {
  return history.states[before + 1]?.isRollback === true && endOfWrite(history, before, reached) === reached
}

/**
 * True where all rows are of the states of one write, and none that they all have is missing. `low` to `high`: the states that the answer may be of;
 * `from`: the newest that the reader saw, before which only a rollback is under way for it.
 */
export function isOfWriteUnderWay(
  history: LedgerHistory,
  { question, part, value }: { question: Question; part: string; value: unknown },
  { low, from, high }: { low: number; from: number; high: number },
): boolean {
  const isMix = mixTest(history, { question, part, value })
  if (!isMix) return false
  // Swaps and changes of liquidity are counted by two statements, each at any of these states.
  if (part === 'transactions') return isMix(Array.from({ length: high - low + 1 }, (_, index) => low + index))
  for (let before = low; before < high; before++) {
    const after = endOfWrite(history, Math.max(0, before), high)
    if (after === before) continue
    if (before < from && !isRollbackUnderWay(history, before, Math.min(from, after))) continue
    // The rollback that follows may begin before any reader has looked at the end of this write.
    const end = after < high && history.states[after + 1]?.isRollback ? after + 1 : after
    if (isMix(Array.from({ length: end - before + 1 }, (_, index) => before + index))) return true
  }
  return false
}

/** Whether the value is a mixture of states, the first of which is that before the write; undefined where no mixture is excused. */
function mixTest(
  history: LedgerHistory,
  { question, part, value }: { question: Question; part: string; value: unknown },
): ((positions: readonly number[]) => boolean) | undefined {
  const tipsAt = (positions: readonly number[]) => positions.flatMap((position) => history.states[position]?.tip ?? [])
  if (question.kind === 'pools' && (part === 'volume' || part === 'transactions')) {
    const termsAt = (tip: Block) => termsOf(part, question.pool, tip, history)
    return (positions) => isSumOfTerms(part, String(value), tipsAt(positions).map(termsAt))
  }
  if (!Array.isArray(value) || (part !== 'candles' && part !== 'ticks')) return undefined
  const shown = shownRange(question, value as Row[])
  const isFull = question.kind === 'ticks' && value.length === question.newest
  const rowsAt = memoized((position: number) => rowsOf(history, shown, part, position))
  return (positions) => {
    const shownTo = tipsAt(positions.slice(0, 1))[0]?.timestamp ?? 0
    const isShown = (row: Row) => typeof row === 'string' || Date.parse(String(row['time'])) <= shownTo * 1_000
    const isFold = (row: Row) =>
      typeof row === 'object' && isFoldOfStoredBuckets(history, question, row as CandleRow, positions)
    return isMixOf(value as Row[], positions.map(rowsAt), { isShown, isFold, isFull })
  }
}

/**
 * The newest rows of a stream are others in each state, and what a rollback has taken back is replaced by rows below: the states are asked for the
 * time that is shown, or for all ticks.
 */
function shownRange(question: Question, rows: readonly Row[]): Question {
  const [first, last] = [rows[0], rows.at(-1)]
  if (question.kind === 'ticks') return { ...question, newest: undefined }
  if (question.kind !== 'candles' || question.newest === undefined || question.fill === 'none') return question
  if (first === undefined || last === undefined) return question
  const secondOf = (row: Row) => Date.parse(timeOf(row)) / 1_000
  return { ...question, from: secondOf(first), to: secondOf(last) + question.interval, newest: undefined }
}

/** Whether a value is the sum of its terms, each as it is in one of these states. */
function isSumOfTerms(part: SumPart, value: string, states: readonly Terms[]): boolean {
  let sums = new Set([0n])
  for (const term of new Set(states.flatMap((terms) => [...terms.keys()]))) {
    const values = new Set(states.map((terms) => terms.get(term) ?? 0n))
    sums = new Set([...sums].flatMap((sum) => [...values].map((value) => sum + value)))
  }
  return [...sums].some((sum) => sumText(part, sum) === value)
}

/** The last state that follows without another rollback; a rollback right after `before` is of the same write as the branch on it. */
function endOfWrite({ states }: LedgerHistory, before: number, to: number): number {
  let below: Block | undefined = states[before]?.tip
  let after = before
  for (let next = before + 1; below && next <= to; next++) {
    const state = states[next]
    if (!state) break
    if (state.isRollback && next > before + 1) break
    if (!state.isRollback && ancestorOf(state.tip, below.number) !== below) break
    below = state.tip
    after = next
  }
  return after
}

type StateRows = {
  traded: ReadonlySet<string>
  opening: string | undefined
  last: string | undefined
  rows: readonly Row[]
}

function rowsOf(history: LedgerHistory, question: Question, part: string, position: number): StateRows {
  const tip = history.states[position]?.tip
  if (!tip) return { traded: new Set(), opening: undefined, last: undefined, rows: [] }
  const filled = expectedPart(question, part, tip, history) as Row[]
  const rows = question.kind === 'candles' ? tradedRows(filled) : filled
  const [first] = expectedPart(question, part, tip, history, Number.POSITIVE_INFINITY) as Row[]
  const last = filled.at(-1)
  return { rows, traded: new Set(rows.map(textOf)), opening: first && textOf(first), last: last && timeOf(last) }
}

/** `isFull`: rows below the first one are not shown. */
type RowTests = { isShown(row: Row): boolean; isFold(row: Row): boolean; isFull: boolean }

function isMixOf(value: readonly Row[], states: readonly StateRows[], { isShown, isFold, isFull }: RowTests): boolean {
  const [first] = value
  const last = value.at(-1)
  const isFilled = value.length !== tradedRows(value).length
  if (isFilled && last && !states.some((state) => state.last === timeOf(last))) return false
  const isOpening = (row: Row) => row === first && states.some(({ opening }) => opening === textOf(row))
  const rows = tradedRows(value)
  const isKnown = (row: Row) => isOpening(row) || states.some(({ traded }) => traded.has(textOf(row))) || isFold(row)
  const lowest = isFull ? states.find(({ traded }) => first !== undefined && traded.has(textOf(first))) : undefined
  const within = lowest ? lowest.rows.slice(lowest.rows.indexOf(first as Row)) : (states[0]?.rows ?? [])
  const common = within.filter((row) => states.every(({ traded }) => traded.has(textOf(row))))
  const shown = new Set(value.map(textOf))
  // A fold takes by far the longest to look for.
  return common.filter(isShown).every((row) => shown.has(textOf(row))) && rows.every((row) => isKnown(row))
}

/** Without the candles that repeat the close before them. */
function tradedRows(rows: readonly Row[]): readonly Row[] {
  return rows.filter((row, index) => {
    const before = rows[index - 1]
    if (typeof row === 'string' || typeof before !== 'object') return true
    const { open, high, low, close, volume } = row as CandleRow
    const isFlat = volume === 0 && [open, high, low, close].every((price) => price === before['close'])
    return !isFlat
  })
}

function textOf(row: Row): string {
  return typeof row === 'string' ? row : JSON.stringify(row)
}

function timeOf(row: Row): string {
  return typeof row === 'string' ? row : String(row['time'])
}

function memoized<Key, Value>(compute: (key: Key) => Value): (key: Key) => Value {
  const known = new Map<Key, Value>()
  return (key) => {
    const found = known.get(key)
    if (found !== undefined) return found
    const made = compute(key)
    known.set(key, made)
    return made
  }
}
