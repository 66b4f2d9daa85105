/** So many questions are worked on at once, so many wait their turn for a while, and more are sent away before they cost anything. */
import { Problem } from './problem.ts'

export type Crowd = <Answer>(question: () => Promise<Answer>) => Promise<Answer>

export type CrowdLimits = {
  atOnce: number
  waiting: number
  waitMs: number
}

/** What is in memory is answered in no time, so only questions to the store ever wait. */
export const CROWD: CrowdLimits = { atOnce: 64, waiting: 1_024, waitMs: 5_000 }

export function openCrowd({ atOnce, waiting, waitMs }: CrowdLimits = CROWD): Crowd {
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
