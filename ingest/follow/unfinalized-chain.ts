/** The newest blocks that were appended, from the newest final one on, to find where a reorg left them. */
import type { Client } from 'viem'
import { ChainReplaced } from '../model/errors.ts'
import type { BlockRef } from '../model/message.ts'
import type { NetworkName } from '../model/network.ts'
import { getHeader } from '../rpc/rpc.ts'
import { BadAnswer } from '../rpc/rpc-error.ts'

/** How many blocks are kept where finality is unknown. */
export const MAX_UNFINALIZED_BLOCKS = 1_024

export class UnfinalizedChain {
  /** Ascending by number, starting with the newest final block; of final history only some blocks are present. */
  #refs: BlockRef[]
  #finalized: number

  /** `finalized`: number of the newest final block; 0 where unknown. */
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

  /** Number of its newest final block; 0 where unknown. */
  get finalized(): number {
    return this.#finalized
  }

  has(ref: BlockRef): boolean {
    return this.#refs.some((other) => isSame(other, ref))
  }

  push(ref: BlockRef): void {
    this.#refs.push({ number: ref.number, hash: ref.hash })
  }

  /** Drops blocks below a final one. A block of another branch is ignored. */
  finalize(block: BlockRef): void {
    const at = this.#refs.findIndex((ref) => isSame(ref, block))
    if (at === -1) return
    this.#cut(at)
    this.#finalized = Math.max(this.#finalized, block.number)
  }

  /** Keeps the newest `count` blocks, where none becomes final. */
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
   * The newest of these blocks that the node has. Throws `ChainReplaced` where the node has other blocks at all of these heights, and
   * `BadAnswer` (`behind`) where the node only lacks the newest ones: a rollback to its head would undo blocks that were not replaced.
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
      // Most reorgs are one or two blocks deep: growing steps from the tip, then bisection.
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
