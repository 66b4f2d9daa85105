/**
 * Whether answers are those of a ledger that only moves forward through its history. Each answer has to be exact for one state that the ledger
 * was in between a second before the request was sent and the moment at which its answer was there; and no
 * reader is shown an older state of a subject than before.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Hash } from 'viem'
import { ancestorOf, type Block } from '../simulation/block.ts'
import type { LedgerHistory } from './ledger-history.ts'
import { expectedPart, partsOf, type Question, subjectOf } from './question.ts'

/** Moments in ms of one clock. */
export type Answer = {
  /** Asks one question after the other, of one API process. */
  reader: string
  question: Question
  asked: number
  answered: number
  body: unknown
}

/** The tip as the table of the ledger has it. */
export type TipSeen = { asked: number; answered: number; hash: Hash | undefined }

export type Violation = {
  /** `impossible`: exact for no state up to then. `stale`: exact for one that is over for more than a second. `back`: for an older one than before. */
  kind: 'impossible' | 'stale' | 'back'
  part: string
  answer: Answer
  /** Positions in the history: allowed ones, and the newest that would have matched. */
  allowed: readonly [number, number]
  matched: number | undefined
}

/** `judged`: parts of answers; `ahead`: those of them whose newest bucket has trades of blocks that are being recorded. */
export type Verdict = { judged: number; ahead: number; violations: readonly Violation[] }

/** An answer may be so much older than the ledger. */
export const STALENESS_MS = 1_000

export function judge(
  history: LedgerHistory,
  { answers, tips, servedAt }: { answers: readonly Answer[]; tips: readonly TipSeen[]; servedAt(hash: Hash): number },
): Verdict {
  const earliest = lowerBounds(history, tips)
  const latest = upperBounds(history, servedAt)
  const reached = new Map<string, number>()
  const violations: Violation[] = []
  const ordered = [...answers].sort((one, other) => one.answered - other.answered)
  let [judged, ahead] = [0, 0]
  for (const answer of ordered) {
    const { question, reader, answered, body } = answer
    const [low, high] = [earliest(answer), latest(answered)]
    for (const [part, value] of Object.entries(partsOf(question, body))) {
      judged++
      const isExact = (position: number) => {
        const tip = history.states[position]?.tip
        return tip !== undefined && isDeepStrictEqual(value, expectedPart(question, part, tip, history))
      }
      const key = `${reader} ${subjectOf(question)} ${part}`
      const from = Math.max(low, reached.get(key) ?? 0)
      const found = firstOf(from, high, isExact)
      if (found !== undefined) {
        reached.set(key, found)
        continue
      }
      if (question.kind === 'candles' && isAhead(history, question, value, [from, high])) {
        ahead++
        continue
      }
      const older = firstOf(low, from - 1, isExact)
      const matched = older ?? lastOf(0, low - 1, isExact)
      const kind = older !== undefined ? 'back' : matched !== undefined ? 'stale' : 'impossible'
      violations.push({ kind, part, answer, allowed: [from, high], matched })
    }
  }
  return { judged, ahead, violations }
}

/**
 * Blocks are recorded after their candles are stored, and buckets after the tip's are not shown until then. Where blocks of several buckets are
 * stored at once, as in catching up, the tip's own bucket has their trades for a moment. True where an answer is of this kind.
 */
function isAhead(
  history: LedgerHistory,
  question: Question & { kind: 'candles' },
  value: unknown,
  [from, to]: readonly [number, number],
): boolean {
  const endsWithin = (tip: Block) => ({ ...question, to: Math.min(question.to, tip.timestamp + 1) })
  for (let position = from; position <= to; position++) {
    const tip = history.states[position]?.tip
    for (let next = position + 1; tip && next <= to; next++) {
      const later = history.states[next]?.tip
      if (!later || ancestorOf(later, tip.number) !== tip) break
      if (isDeepStrictEqual(value, expectedPart(endsWithin(tip), 'candles', later, history))) return true
    }
  }
  return false
}

function firstOf(from: number, to: number, isIt: (position: number) => boolean): number | undefined {
  for (let position = from; position <= to; position++) if (isIt(position)) return position
  return undefined
}

function lastOf(from: number, to: number, isIt: (position: number) => boolean): number | undefined {
  for (let position = to; position >= from; position--) if (isIt(position)) return position
  return undefined
}

/**
 * The oldest state that an answer may be of, by what the table of the ledger said before it was asked for. A rollback that is not over counts as not
 * begun, and time stands still in it: until it is over, nothing newer than the branch that it takes back is there to be shown.
 */
function lowerBounds(
  { states }: LedgerHistory,
  tips: readonly TipSeen[],
): (answer: Pick<Answer, 'asked' | 'answered'>) => number {
  const applied: { at: number; position: number }[] = []
  const rollbacks: TipSeen[] = []
  let position = 0
  for (const tip of [...tips].sort((one, other) => one.answered - other.answered)) {
    if (tip.hash === undefined) continue
    const found = states.findIndex((state, index) => index >= position && state.tip.hash === tip.hash)
    if (found === -1) throw new Error(`The ledger's tip ${tip.hash} is in none of its states from ${position} on.`)
    position = found
    if (states[position]?.isRollback) rollbacks.push(tip)
    else applied.push({ at: tip.answered, position })
  }
  const at = (moment: number) => applied.findLast((one) => one.at <= moment)
  return ({ asked, answered }) => {
    const bound = at(asked - STALENESS_MS)
    if (!bound) return 0
    const next = rollbacks.find((one) => one.answered > bound.at && one.asked <= answered)
    return next ? (at(Math.min(asked, next.asked) - STALENESS_MS)?.position ?? 0) : bound.position
  }
}

/** The newest state that the ledger can have been in at a moment: its blocks must have been there. */
function upperBounds({ states }: LedgerHistory, servedAt: (hash: Hash) => number): (moment: number) => number {
  let newest = 0
  const times = states.map(({ tip, isRollback }) => {
    if (!isRollback) newest = Math.max(newest, servedAt(tip.hash))
    return newest
  })
  // A rollback begins when the first block of the new branch is there.
  states.forEach(({ isRollback }, index) => {
    if (isRollback) times[index] = times[index + 1] ?? times[index] ?? 0
  })
  return (moment) => times.findLastIndex((at) => at <= moment)
}
