/** How many calls an endpoint takes in one batch: learnt from its refusals, and kept. */

const MAX_BATCH = 100
/** A larger batch is tried once in this time: a gateway may have been replaced. */
const WIDEN_MS = 1_800_000
/** Failures that do not say why: a gateway may fail once for any other reason. */
const DOUBTS = 2

export class BatchSize {
  #most = MAX_BATCH
  #widenAt = Number.POSITIVE_INFINITY
  #doubts = 0
  #doubted = MAX_BATCH
  #late = 0

  /** Calls of the next batch at most; 1: they are sent singly. */
  get most(): number {
    if (performance.now() >= this.#widenAt) this.#set(2 * this.#most)
    return this.#most
  }

  answered(length: number): void {
    if (length >= this.#doubted) this.#doubts = 0
    this.#late = 0
  }

  /** The endpoint refused a batch as such. */
  refused(length: number): void {
    this.#set(Math.min(this.#most, Math.max(1, Math.floor(length / 2))))
  }

  /** A batch failed as a whole, and its calls were answered in smaller ones. */
  doubted(length: number): void {
    this.#doubts = length <= this.#doubted ? this.#doubts + 1 : 1
    this.#doubted = length
    if (this.#doubts >= DOUBTS) this.refused(length)
  }

  /** A batch had no answer in time. */
  late(length: number): void {
    this.#late = length
  }

  get isSuspect(): boolean {
    return this.#late > 0
  }

  /** Single calls had an answer after a batch had none. */
  confirmed(): void {
    const length = this.#late
    this.#late = 0
    if (length > 1) this.doubted(length)
  }

  #set(most: number): void {
    this.#most = Math.min(MAX_BATCH, most)
    this.#widenAt = this.#most < MAX_BATCH ? performance.now() + WIDEN_MS : Number.POSITIVE_INFINITY
    this.#doubts = 0
    this.#doubted = MAX_BATCH
  }
}
