/** The rows that a wrong answer shows, and those that it lacks, beside the state that it comes nearest to. */
import type { LedgerHistory } from './ledger-history.ts'
import { expectedPart, type Question } from './question.ts'

/** Older states are tried as well. */
const STATES_BEFORE = 60
const MAX_ROWS = 3

export function differenceOf(
  history: LedgerHistory,
  { question, part, value }: { question: Question; part: string; value: unknown },
  [low, high]: readonly [number, number],
): string {
  const shown = textsOf(value)
  let nearest: { position: number; extra: string[]; missing: string[] } | undefined
  for (let position = Math.max(0, low - STATES_BEFORE); position <= high; position++) {
    const tip = history.states[position]?.tip
    if (!tip) continue
    const expected = textsOf(expectedPart(question, part, tip, history))
    const extra = shown.filter((row) => !expected.includes(row))
    const missing = expected.filter((row) => !shown.includes(row))
    const distance = extra.length + missing.length
    if (!nearest || distance <= nearest.extra.length + nearest.missing.length) nearest = { position, extra, missing }
  }
  if (!nearest) return 'there is no state near it'
  const { position, extra, missing } = nearest
  const tip = history.states[position]?.tip
  const source = part === 'price' ? `; ${swapsWithPrice(history, String(value))}` : ''
  return `nearest to ${position} (block ${tip?.number}, ${tip?.timestamp}): shows ${listed(extra)} and lacks ${listed(missing)}${source}; rollbacks: ${rollbacksIn(history, low, high)}`
}

function rollbacksIn({ states }: LedgerHistory, low: number, high: number): string {
  const found = states.flatMap(({ isRollback, tip }, position) =>
    isRollback && position >= low && position <= high ? [`${position} to block ${tip.number}`] : [],
  )
  return found.join(', ') || 'none'
}

/** Where the topic has swaps with this price, and the states that end with their blocks. */
function swapsWithPrice(history: LedgerHistory, sqrtPrice: string): string {
  const found: string[] = []
  for (const { number, hash, ticks } of history.contents()) {
    for (const { sqrtPriceX96, logIndex } of ticks) {
      if (String(sqrtPriceX96) !== sqrtPrice) continue
      const states = history.states.flatMap(({ tip }, position) => (tip.hash === hash ? [position] : []))
      found.push(`log ${logIndex} of block ${number} ${hash}, states ${states.join(', ') || 'none'}`)
    }
  }
  return `the price is of ${found.join(' and ') || 'no swap in the topic'}`
}

function textsOf(value: unknown): string[] {
  return (Array.isArray(value) ? value : [value]).map((row) => JSON.stringify(row) ?? 'nothing')
}

function listed(rows: readonly string[]): string {
  const more = rows.length > MAX_ROWS ? ` and ${rows.length - MAX_ROWS} more` : ''
  return rows.length === 0 ? 'nothing' : `${rows.slice(0, MAX_ROWS).join(' ')}${more}`
}
