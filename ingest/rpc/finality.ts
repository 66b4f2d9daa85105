/** Finality of a network: the newest final block that its endpoints report, and a fallback where none supports the tag. */
import type { BlockRef } from '../model/message.ts'

/** Distance below the head that is read as history where no endpoint has the tag `finalized`. It never counts as final. */
export const FALLBACK_FINALITY_BLOCKS = 256

/** A restarted node has no final block for a while: fewer refusals than these do not prove that the tag is unknown. */
const MIN_REFUSALS = 3

export class Finality {
  /** The newest reported block. */
  #named: BlockRef | undefined
  #wasNamed = false
  #refusals = 0
  #namedMs = Number.NEGATIVE_INFINITY

  setNamed(block: BlockRef): void {
    this.#wasNamed = true
    this.#namedMs = performance.now()
    if (block.number > (this.#named?.number ?? -1)) this.#named = { number: block.number, hash: block.hash }
  }

  refused(): void {
    this.#refusals++
  }

  /** The stored chain was final up to `block` when it was read: the tag worked then. */
  wasKnown(block: number | undefined): void {
    if (block) this.#wasNamed = true
  }

  /** The newest reported block that a node with this head may have. */
  below(head: number): BlockRef | undefined {
    return this.#named && this.#named.number <= head ? this.#named : undefined
  }

  /** Whether an endpoint has reported a block within this time. */
  isRecent(maxAgeMs: number): boolean {
    return performance.now() - this.#namedMs < maxAgeMs
  }

  /** Whether no endpoint has ever reported a final block. */
  get isUnknownTag(): boolean {
    return !this.#wasNamed && this.#refusals >= MIN_REFUSALS
  }
}
