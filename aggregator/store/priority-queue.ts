/**
 * A priority queue of tasks: one runs at a time, and tasks of high priority run first. p-queue would replace the class by
 * half of its lines, at 1.6 µs of CPU a task instead of 0.5 µs, and from its version 10 on it needs Node 22.
 */

/** Runs the task in its turn, and resolves with its result. */
export type Enqueue = <T>(task: () => Promise<T>) => Promise<T>

export class PriorityQueue {
  #isBusy = false
  #idleSince = performance.now()
  readonly #high: (() => void)[] = []
  readonly #low: (() => void)[] = []

  /** Next after the running task and earlier ones of high priority. */
  high<T>(task: () => Promise<T>): Promise<T> {
    return this.#run(this.#high, task)
  }

  /** Once no task of high priority waits. */
  low<T>(task: () => Promise<T>): Promise<T> {
    return this.#run(this.#low, task)
  }

  /** For how long no task has run or waited; 0 while one does. */
  get idleMs(): number {
    return this.#isBusy ? 0 : performance.now() - this.#idleSince
  }

  async #run<T>(queue: (() => void)[], task: () => Promise<T>): Promise<T> {
    if (this.#isBusy) await new Promise<void>((resolve) => queue.push(resolve))
    this.#isBusy = true
    try {
      return await task()
    } finally {
      const next = this.#high.shift() ?? this.#low.shift()
      // `#isBusy` stays true while the queue hands over, so that no other task can run in between.
      if (next) next()
      else {
        this.#isBusy = false
        this.#idleSince = performance.now()
      }
    }
  }
}
