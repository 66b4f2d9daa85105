/** The trail: the newest blocks that the listener has passed on, so that it sees where the chain left them. */
import type { Client } from 'viem'
import { ChainReplaced } from '../model/errors.ts'
import type { BlockRef } from '../model/message.ts'
import type { NetworkName } from '../model/network.ts'
import { getHeader } from '../rpc/rpc.ts'
import { BadAnswer } from '../rpc/rpc-error.ts'

/** How far back a listener can step where it is not known what is final. */
export const MAX_UNFINALIZED_BLOCKS = 1_024

export class UnfinalizedChain {
  /** Ascending by number, from the newest one that is final on; of final history not every block is there. */
  #refs: BlockRef[]
  #finalized: number

  /** `finalized`: the newest block known to be final; 0 where none is. */
  constructor(refs: readonly BlockRef[] = [], finalized = 0) {
    this.#refs = [...refs].sort((a, b) => a.number - b.number)
    this.#finalized = finalized
    this.#cut(this.#refs.findLastIndex((ref) => ref.number <= finalized))
  }

  get oldest(): BlockRef | undefined {
    return this.#refs[0]
  }

  get tip(): BlockRef | undefined {
    return this.#refs.at(-1)
  }

  /** The newest block of it that no reorg replaces any more; 0 where none is known. */
  get finalized(): number {
    return this.#finalized
  }

  has(ref: BlockRef): boolean {
    return this.#refs.some((other) => isSame(other, ref))
  }

  push(ref: BlockRef): void {
    this.#refs.push({ number: ref.number, hash: ref.hash })
  }

  /** Drops what lies below a block that no reorg can reach any more. One that is not of this branch says nothing about it. */
  finalize(block: BlockRef): void {
    const at = this.#refs.findIndex((ref) => isSame(ref, block))
    if (at === -1) return
    this.#cut(at)
    this.#finalized = Math.max(this.#finalized, block.number)
  }

  /** Keeps the newest `count` blocks, where none of them becomes final. */
  keep(count: number): void {
    this.#cut(this.#refs.length - count)
  }

  #cut(first: number): void {
    if (first > 0) this.#refs.splice(0, first)
  }

  rollBack(to: BlockRef): void {
    while ((this.tip?.number ?? -1) > to.number) this.#refs.pop()
  }

  /**
   * The newest block of the trail that the node has too. Throws `ChainReplaced` where it has others in the places of all of
   * them. A node that only lacks the newest ones, or all, is behind: stepping back to its head would undo blocks that
   * nothing has replaced.
   */
  async ancestorOn(client: Client, network: NetworkName): Promise<BlockRef | undefined> {
    const [refs, oldest, tip] = [this.#refs, this.#refs[0], this.tip]
    if (!oldest || !tip) return undefined
    const [atOldest, atTip] = await Promise.all([oldest, tip].map(({ number }) => getHeader(client, number)))
    if (atTip?.hash === tip.hash) return tip
    if (!atOldest) throw missing(oldest)
    if (atOldest.hash !== oldest.hash) {
      throw new ChainReplaced(network, {
        stored: oldest,
        found: atOldest.hash,
        wasFinal: oldest.number <= this.#finalized,
      })
    }
    // The node has the block at `low`, and not the one at `high`.
    let [low, high, isReplaced] = [0, refs.length - 1, atTip !== undefined]
    for (let misses = 0; low + 1 < high; ) {
      // Most reorgs are a block or two deep: from the tip on in growing steps, then by halves.
      const at = Math.max((low + high) >> 1, high - 2 ** misses)
      const header = await getHeader(client, refs[at]?.number ?? 0)
      if (header && header.hash === refs[at]?.hash) low = at
      else {
        high = at
        isReplaced = header !== undefined
        misses++
      }
    }
    if (!isReplaced) throw missing(refs[high] ?? tip)
    return refs[low]
  }
}

function isSame(one: BlockRef, other: BlockRef): boolean {
  return one.number === other.number && one.hash === other.hash
}

function missing({ number }: BlockRef): BadAnswer {
  return new BadAnswer('behind', `The node does not have block ${number} yet.`)
}
