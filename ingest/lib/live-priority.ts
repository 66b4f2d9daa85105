/**
 * Live priority: periodic work waits while a new block is on its way from the chain to the tables, because on a small machine a block uses
 * all cores. The state is shared by everything in the process.
 */

/** Longest wait: with a constant flow of blocks, the work runs anyway. */
const MAX_MS = 200

let underWay = 0
const waiting = new Set<() => void>()

/** Runs `task` with priority over `whenIdle`. */
export async function withLivePriority<T>(task: () => Promise<T>): Promise<T> {
  underWay++
  try {
    return await task()
  } finally {
    underWay--
    if (underWay === 0) for (const goOn of waiting) goOn()
  }
}

/** Resolves when no live task runs, or after `MAX_MS`. */
export async function whenIdle(): Promise<void> {
  if (underWay === 0) return
  await new Promise<void>((resolve) => {
    const goOn = () => {
      clearTimeout(timer)
      waiting.delete(goOn)
      resolve()
    }
    const timer = setTimeout(goOn, MAX_MS)
    waiting.add(goOn)
  })
}
