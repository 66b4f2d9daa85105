/** Heads announced by nodes and not read yet, linked by parent hash: a listener that fell behind requests all of them at once. */
import type { BlockRef } from '../model/message.ts'
import type { Header } from '../rpc/rpc.ts'

/** More than arrive during one poll. Heads beyond it are requested from the node. */
const MAX_HEADS = 64

export class AnnouncedHeads {
  /** By parent hash, in order of arrival: of two children the newer one stays. */
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
