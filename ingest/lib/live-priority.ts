/**
 * Hurry: a new block is on its way from the chain to the tables. On a small machine that takes all of it, so what is only due now and then
 * waits until the block is there. One machine is meant, and all that runs in one process shares it: this is the process's own state.
 */

/** So long at the most: where blocks come without a pause there is always hurry. */
const MOST_MS = 200

let underWay = 0
const waiting = new Set<() => void>()

/** There is hurry while it runs. */
export async function withLivePriority<T>(task: () => Promise<T>): Promise<T> {
  underWay++
  try {
    return await task()
  } finally {
    underWay--
    if (underWay === 0) for (const goOn of waiting) goOn()
  }
}

/** Resolves once there is no hurry, or after a while. */
export async function whenIdle(): Promise<void> {
  if (underWay === 0) return
  await new Promise<void>((resolve) => {
    const goOn = () => {
      clearTimeout(timer)
      waiting.delete(goOn)
      resolve()
    }
    const timer = setTimeout(goOn, MOST_MS)
    waiting.add(goOn)
  })
}
