/** The trail: the newest blocks that the listener has passed on, so that it sees where the chain left them. */
import type { Client } from 'viem'
import type { BlockRef } from './message.ts'
import { getHeader } from './rpc.ts'
import { BadAnswer } from './rpc-error.ts'

export class Trail {
  /** Ascending by number; not every block needs to be there. */
  #refs: BlockRef[]

  constructor(refs: readonly BlockRef[] = []) {
    this.#refs = [...refs].sort((a, b) => a.number - b.number)
  }

  get tip(): BlockRef | undefined {
    return this.#refs.at(-1)
  }

  has(ref: BlockRef): boolean {
    return this.#refs.some((other) => other.number === ref.number && other.hash === ref.hash)
  }

  push(ref: BlockRef): void {
    this.#refs.push({ number: ref.number, hash: ref.hash })
  }

  /** Drops what no reorg can reach any more; one final block stays as the anchor. */
  finalize(finalized: number): void {
    const anchor = this.#refs.findLastIndex((ref) => ref.number <= finalized)
    if (anchor > 0) this.#refs.splice(0, anchor)
  }

  rollBack(to: BlockRef): void {
    while ((this.tip?.number ?? -1) > to.number) this.#refs.pop()
  }

  /**
   * The newest block of the trail that the node has too; undefined where it has others in their places. A node that only
   * lacks the newest ones, or all, is behind: stepping back to its head would undo blocks that nothing has replaced.
   */
  async commonAncestor(client: Client): Promise<BlockRef | undefined> {
    let lacks: number | undefined
    for (const ref of this.#refs.toReversed()) {
      const header = await getHeader(client, ref.number)
      if (header?.hash === ref.hash) {
        if (lacks === undefined) return ref
        break
      }
      lacks = header ? undefined : ref.number
    }
    if (lacks !== undefined) throw new BadAnswer('behind', `The node does not have block ${lacks} yet.`)
    return undefined
  }
}
