/** Turns: one at a time, and who is in a hurry goes first. */

type Waiting = () => void

/** Runs a task in a turn, and gives what it gives. */
export type Enqueue = <T>(task: () => Promise<T>) => Promise<T>

export class PriorityQueue {
  #busy = false
  readonly #urgent: Waiting[] = []
  readonly #patient: Waiting[] = []

  /** Before everything patient that waits, as soon as what is under way is done. */
  high<T>(task: () => Promise<T>): Promise<T> {
    return this.#take(this.#urgent, task)
  }

  /** While nothing urgent waits. */
  low<T>(task: () => Promise<T>): Promise<T> {
    return this.#take(this.#patient, task)
  }

  async #take<T>(queue: Waiting[], task: () => Promise<T>): Promise<T> {
    if (this.#busy) await new Promise<void>((resolve) => queue.push(resolve))
    this.#busy = true
    try {
      return await task()
    } finally {
      const next = this.#urgent.shift() ?? this.#patient.shift()
      // Whoever is next takes over without a gap in which a third could slip in.
      if (next) next()
      else this.#busy = false
    }
  }
}
