/** Heads that nodes have told of and that are not read yet, linked by their parents: a listener that fell behind asks for all of them at once. */
import type { BlockRef } from '../model/message.ts'
import type { Header } from '../rpc/rpc.ts'

/** More than come while one look takes; of those beyond, the node is asked. */
const MAX_HEADS = 64

export class AnnouncedHeads {
  /** By the hash of the parent, in the order in which they were told: of two children the newer one counts. */
  readonly #byParent = new Map<string, Header>()

  add(head: Header): void {
    this.#byParent.delete(head.parentHash)
    this.#byParent.set(head.parentHash, head)
    for (const oldest of this.#byParent.keys()) {
      if (this.#byParent.size <= MAX_HEADS) break
      this.#byParent.delete(oldest)
    }
  }

  /** The unbroken chain of heads on top of `tip`, at most `count`, ascending. */
  after(tip: BlockRef | undefined, count: number): Header[] {
    const chain: Header[] = []
    for (let parent = tip; parent && chain.length < count; parent = chain.at(-1)) {
      const child = this.#byParent.get(parent.hash)
      if (child?.number !== parent.number + 1) break
      chain.push(child)
    }
    return chain
  }
}
