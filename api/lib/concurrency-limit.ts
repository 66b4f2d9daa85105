/** So many questions are worked on at once, so many wait their turn for a while, and more are sent away before they cost anything. */
import { Problem } from './problem.ts'

export type ConcurrencyLimit = <Answer>(question: () => Promise<Answer>) => Promise<Answer>

export type ConcurrencyBounds = {
  maxRunning: number
  maxQueued: number
  maxWaitMs: number
}

/** What is in memory is answered in no time, so only questions to the store ever wait. */
export const DEFAULT_BOUNDS: ConcurrencyBounds = { maxRunning: 64, maxQueued: 1_024, maxWaitMs: 5_000 }

export function limitConcurrency({
  maxRunning: atOnce,
  maxQueued: waiting,
  maxWaitMs: waitMs,
}: ConcurrencyBounds = DEFAULT_BOUNDS): ConcurrencyLimit {
  let working = 0
  const queue = new Set<() => void>()

  function turn(): Promise<void> {
    if (queue.size >= waiting) throw overloaded()
    return new Promise((resolve, reject) => {
      const go = () => {
        clearTimeout(timer)
        resolve()
      }
      const timer = setTimeout(() => {
        queue.delete(go)
        reject(overloaded())
      }, waitMs)
      queue.add(go)
    })
  }

  return async function inTurn(question) {
    // A turn that is handed on stays counted.
    if (working >= atOnce) await turn()
    else working++
    try {
      return await question()
    } finally {
      const [next] = queue
      if (next) {
        queue.delete(next)
        next()
      } else working--
    }
  }
}

export function overloaded(): Problem {
  return new Problem('overloaded', 'More is asked at the moment than can be answered. Ask again in a second.', {
    headers: { 'Retry-After': '1' },
  })
}
