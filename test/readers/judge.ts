/**
 * Whether answers are those of a ledger that only moves forward through its history. Each answer has to be exact for one state that the ledger
 * was in between a second before the request was sent and the moment at which its answer was there, or since the tip that it names; and no
 * reader is shown an older state of a subject than before.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Hash } from 'viem'
import { ancestorOf } from '../simulation/block.ts'
import { differenceOf } from './difference.ts'
import type { LedgerHistory, LedgerState } from './ledger-history.ts'
import { expectedPart, type Parts, partsOf, type Question, subjectOf } from './question.ts'
import { isOfWriteUnderWay, isRollbackUnderWay } from './under-way.ts'

/** Moments in ms of one clock. */
export type Answer = {
  /** Asks one question after the other, of one API process. */
  reader: string
  question: Question
  asked: number
  answered: number
  body: unknown
  /** The block up to which everything is told, as a stream says. */
  tip?: Hash
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
  /** From the nearest state. */
  difference: string
}

/** `judged`: parts of answers; `underWay`: those of them with rows of both states of a write that was under way. */
export type Verdict = { judged: number; underWay: number; violations: readonly Violation[] }

/** Position of the ledger before its first state: of the first write, some rows may be there. */
const EMPTY = -1

/** An answer may be so much older than the ledger. */
export const STALENESS_MS = 1_000

export function judge(
  history: LedgerHistory,
  { answers, tips, servedAt }: { answers: readonly Answer[]; tips: readonly TipSeen[]; servedAt(hash: Hash): number },
): Verdict {
  const applied = appliedStates(history, tips)
  const earliest = lowerBounds(applied)
  const latest = upperBounds(history, servedAt)
  const reached = new Map<string, number>()
  const violations: Violation[] = []
  const ordered = [...answers].sort((one, other) => one.answered - other.answered)
  const compared = comparisons(history)
  const named = namedStates(history)
  let [judged, underWay] = [0, 0]
  for (const answer of ordered) {
    const { question, reader, answered, body, tip } = answer
    const high = latest(answered)
    const low = tip === undefined ? earliest(answer) : named(reader, tip, high)
    if (low === undefined) {
      judged++
      violations.push({
        kind: 'back',
        part: 'tip',
        answer,
        allowed: [EMPTY, high],
        matched: undefined,
        difference: `the tip is ${tip}`,
      })
      continue
    }
    const { parts, isExactAt } = compared(question, body)
    for (const [part, value] of Object.entries(parts)) {
      judged++
      const isExact = (position: number) => isExactAt(part, position)
      const key = `${reader} ${subjectOf(question)} ${part}`
      const from = Math.max(low, reached.get(key) ?? EMPTY)
      const found = firstOf(from, high, isExact)
      if (found !== undefined) {
        // Rows of a flush that is not on the ledger go again where its writer dies.
        reached.set(key, Math.max(reached.get(key) ?? EMPTY, Math.min(found, applied.at(answered)?.position ?? EMPTY)))
        continue
      }
      const older = firstOf(low, from - 1, isExact)
      const isTakenBack = (position: number) => isExact(position) && isRollbackUnderWay(history, position, from)
      // Rows of both sides of a write may equal an older state.
      const isOfWrite =
        (older !== undefined && firstOf(older, from - 1, isTakenBack) !== undefined) ||
        isOfWriteUnderWay(history, { question, part, value }, { low, from, high })
      if (isOfWrite) {
        underWay++
        continue
      }
      const matched = older ?? lastOf(0, low - 1, isExact)
      const kind = older !== undefined ? 'back' : matched !== undefined ? 'stale' : 'impossible'
      const difference = differenceOf(history, { question, part, value }, [Math.min(low, matched ?? low), high])
      violations.push({ kind, part, answer, allowed: [from, high], matched, difference })
    }
  }
  return { judged, underWay, violations }
}

/** The state with the tip that a stream names, which never goes back; undefined where there is none. */
function namedStates(history: LedgerHistory) {
  const positions = new Map<Hash, number[]>()
  for (const [position, { tip }] of history.states.entries())
    positions.set(tip.hash, [...(positions.get(tip.hash) ?? []), position])
  const told = new Map<string, number>()
  return (reader: string, tip: Hash, high: number): number | undefined => {
    const before = told.get(reader) ?? EMPTY
    const position = positions.get(tip)?.find((one) => one >= before && one <= high)
    if (position === undefined) return undefined
    told.set(reader, position)
    // A process that knows no other tip shows that of a rollback before its rows are taken back.
    return history.states[position]?.isRollback ? Math.max(before, position - 1) : position
  }
}

const MAX_KNOWN = 20_000

type Compared = { parts: Parts; isExactAt(part: string, position: number): boolean }

/** Whether a part of an answer is that of a state. A question has the same answer again and again: each is compared with a state once. */
function comparisons(history: LedgerHistory): (question: Question, body: unknown) => Compared {
  let known = new Map<Question, Map<unknown, Compared>>()
  let count = 0
  return (question, body) => {
    const ofQuestion = known.get(question) ?? new Map<unknown, Compared>()
    const before = ofQuestion.get(body)
    if (before) return before
    if (++count % MAX_KNOWN === 0) known = new Map()
    const compared = compare(history, question, partsOf(question, body))
    known.set(question, ofQuestion.set(body, compared))
    return compared
  }
}

function compare(history: LedgerHistory, question: Question, parts: Parts): Compared {
  const known = new Map<string, boolean>()
  return {
    parts,
    isExactAt(part, position) {
      const tip = history.states[position]?.tip
      if (!tip) return false
      const key = `${part} ${position}`
      const isExact = known.get(key) ?? isDeepStrictEqual(parts[part], expectedPart(question, part, tip, history))
      known.set(key, isExact)
      return isExact
    },
  }
}

function firstOf(from: number, to: number, isIt: (position: number) => boolean): number | undefined {
  for (let position = from; position <= to; position++) if (isIt(position)) return position
  return undefined
}

function lastOf(from: number, to: number, isIt: (position: number) => boolean): number | undefined {
  for (let position = to; position >= from; position--) if (isIt(position)) return position
  return undefined
}

/** States by what the table of the ledger said at a moment. */
type AppliedStates = {
  at(moment: number): { at: number; position: number } | undefined
  rollbacks: readonly TipSeen[]
}

function appliedStates({ states }: LedgerHistory, tips: readonly TipSeen[]): AppliedStates {
  const applied: { at: number; position: number }[] = []
  const rollbacks: TipSeen[] = []
  let position = 0
  for (const tip of [...tips].sort((one, other) => one.answered - other.answered)) {
    if (tip.hash === undefined) continue
    const found = states.findIndex((state, index) => index >= position && state.tip.hash === tip.hash)
    if (found === -1) throw new Error(`The ledger's tip ${tip.hash} is in none of its states from ${position} on.`)
    const before = states[applied.at(-1)?.position ?? found]
    position = found
    if (isTakenBack(before, states[found])) rollbacks.push(tip)
    else applied.push({ at: tip.answered, position })
  }
  return { at: (moment) => applied[countUntil(applied, (one) => one.at > moment) - 1], rollbacks }
}

/** A range may repeat blocks of the branch before it: then the ledger goes back no further than to the last of them. */
function isTakenBack(before: LedgerState | undefined, state: LedgerState | undefined): boolean {
  if (!before || !state) return false
  const isBelow = state.tip !== before.tip && ancestorOf(before.tip, state.tip.number) === state.tip
  return state.isRollback || isBelow
}

/**
 * The oldest state that an answer may be of. A rollback that is not over counts as not begun, and time stands still in it: until it is over,
 * nothing newer than the branch that it takes back is there to be shown.
 */
function lowerBounds({ at, rollbacks }: AppliedStates): (answer: Pick<Answer, 'asked' | 'answered'>) => number {
  return ({ asked, answered }) => {
    const bound = at(asked - STALENESS_MS)
    if (!bound) return EMPTY
    const next = rollbacks[countUntil(rollbacks, (one) => one.answered > bound.at)]
    return next && next.asked <= answered
      ? (at(Math.min(asked, next.asked) - STALENESS_MS)?.position ?? EMPTY)
      : bound.position
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
  return (moment) => countUntil(times, (at) => at > moment) - 1
}

/** How many come before the first that `isPast`, as all after it are. */
function countUntil<Item>(items: readonly Item[], isPast: (item: Item) => boolean): number {
  let [low, high] = [0, items.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (isPast(items[middle] as Item)) high = middle
    else low = middle + 1
  }
  return low
}
