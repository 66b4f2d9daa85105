/** Virtual time: waits pass in no time, in the order in which they would end. */
import { vi } from 'vitest'

const realImmediate = setImmediate
/** Turns of the event loop after which a task without a timer waits for nothing. */
const IDLE_TURNS = 20
/** A run whose test ran out of time ends where the next one begins. */
let runs = 0

/** Runs `task` with timers and clock under our hand; nothing in it may wait for real sockets or files. */
export async function inVirtualTime<T>(task: () => Promise<T>): Promise<T> {
  const run = ++runs
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'], now: Date.UTC(2025, 0, 1) })
  try {
    let isDone = false
    const running = task().finally(() => {
      isDone = true
    })
    running.catch(() => undefined)
    for (let idle = 0; !isDone; ) {
      // All that is ready runs before time moves on.
      await new Promise<void>((resolve) => realImmediate(resolve))
      if (isDone) break
      if (run !== runs) throw new Error('The simulation ran out of time: the next one has the clock.')
      if (vi.getTimerCount() > 0) {
        idle = 0
        vi.advanceTimersToNextTimer()
      } else if (++idle > IDLE_TURNS) throw new Error('The simulation waits, and nothing will wake it.')
    }
    return await running
  } finally {
    if (run === runs) vi.useRealTimers()
  }
}

/** In virtual time. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
