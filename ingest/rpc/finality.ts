/** Finality: which block no reorg replaces any more, as a network's endpoints name it, and where none of them does. */
import type { BlockRef } from '../model/message.ts'

/** Below the head, where no endpoint knows the tag `finalized`: deep enough to be read as history, never final by that. */
export const FALLBACK_FINALITY_BLOCKS = 256

/** A node that is started again knows no final block for a while: fewer refusals than these do not show that the tag is unknown. */
const MIN_REFUSALS = 3

export class Finality {
  /** The newest block that an endpoint has named. */
  #named: BlockRef | undefined
  #wasNamed = false
  #refusals = 0

  setNamed(block: BlockRef): void {
    this.#wasNamed = true
    if (block.number > (this.#named?.number ?? -1)) this.#named = { number: block.number, hash: block.hash }
  }

  refused(): void {
    this.#refusals++
  }

  /** What is stored was final up to `block` when it was read: the tag worked then. */
  wasKnown(block: number | undefined): void {
    if (block) this.#wasNamed = true
  }

  /** The newest block that was named, as far as a node with this head may have it. */
  below(head: number): BlockRef | undefined {
    return this.#named && this.#named.number <= head ? this.#named : undefined
  }

  /** No endpoint has ever named a block. */
  get isUnknownTag(): boolean {
    return !this.#wasNamed && this.#refusals >= MIN_REFUSALS
  }
}
