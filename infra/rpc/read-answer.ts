/** The JSON of an answer, with its lists of logs read apart: most bytes of history are logs. */
import { randomBytes } from 'node:crypto'
import { answerBytes, type ScannedLogs, scanLogs } from '../../ingest/rpc/scan-logs.ts'
import { parseBounded } from '../lib/bounded-json.ts'

/** The list begins with the first bracket. */
const LIST_OF_LOGS = Buffer.from('"result":[{')
const BEFORE_LIST = LIST_OF_LOGS.length - '[{'.length
/** More are worth no search. */
const MAX_LISTS = 128
/** Stands for a list while the rest is parsed: no node knows it. A letter comes first: it is no JSON outside of quotes. */
const MARK = `x${randomBytes(8).toString('hex')}`

type List = ScannedLogs & { start: number }

/** As `parseBounded`, whose values and errors it has for every input. */
export function readAnswer(bytes: Buffer): unknown {
  const lists = listsIn(bytes)
  const answer = lists.length > 0 ? parsedAround(bytes, lists) : undefined
  return answer === undefined ? parseBounded(bytes) : answer
}

function listsIn(bytes: Buffer): List[] {
  const lists: List[] = []
  const first = bytes.indexOf(LIST_OF_LOGS)
  if (first === -1) return lists
  const answer = answerBytes(bytes)
  for (let at = first; at !== -1; at = bytes.indexOf(LIST_OF_LOGS, at)) {
    const start = at + BEFORE_LIST
    const list = lists.length < MAX_LISTS ? scanLogs(answer, start) : undefined
    if (!list) return []
    lists.push({ ...list, start })
    at = list.end
  }
  return lists
}

/**
 * Undefined where it has to be parsed as a whole. A list of logs has fewer parts for its length than the limits allow, and may stand wherever
 * the list of the mark may: the rest decides whether the whole is valid.
 */
function parsedAround(bytes: Buffer, lists: readonly List[]): unknown {
  const rest: Uint8Array[] = []
  let from = 0
  for (const [index, { start, end }] of lists.entries()) {
    rest.push(bytes.subarray(from, start), Buffer.from(`["${MARK}${index}"]`))
    from = end
  }
  rest.push(bytes.subarray(from))
  try {
    const answer = parseBounded(Buffer.concat(rest))
    return putBack(answer, lists) === lists.length ? answer : undefined
  } catch {
    return undefined
  }
}

/** Puts the lists in the place of their marks; returns how many it found. Elsewhere than as the result of a call, there is no list of logs. */
function putBack(answer: unknown, lists: readonly List[]): number {
  const byMark = new Map(lists.map(({ logs }, index) => [`${MARK}${index}`, logs]))
  let found = 0
  for (const call of Array.isArray(answer) ? answer : [answer]) {
    const { result } = (call ?? {}) as { result?: unknown }
    const logs = Array.isArray(result) && result.length === 1 ? byMark.get(result[0]) : undefined
    if (!logs) continue
    call.result = logs
    found++
  }
  return found
}
