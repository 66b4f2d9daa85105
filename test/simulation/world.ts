/** The simulated world: one chain that grows and forks above its finality, and nodes that see it each in their own way. */
import { vi } from 'vitest'
import { ancestorOf, type Block, type Genesis, isAncestor, mine, mineHistory, OLDEST, remine } from './block.ts'
import { type Endpoint, openEndpoint, SimulatedNode } from './endpoint.ts'
import type { Happened } from './fault.ts'
import { NETWORK } from './market.ts'
import type { Random } from './random.ts'

/**
 * Follows the chain, some blocks behind it; sits on a branch of its own, where it is left alone for good if it is `lost`; or is
 * of another chain altogether.
 */
export type Place = { lag: number } | { branch: Block; isLost?: boolean } | { foreign: Block }

const secondsNow = () => Date.now() / 1_000

export type WorldOptions = {
  random: Random
  happened: Happened
  /** One address with a load balancer before the nodes, or an address for each node. */
  isBalanced: boolean
  /** Blocks above finality, at least. */
  finalityLag: number
  genesis?: Genesis
  /** Two where absent. */
  nodes?: number
}

export class World {
  readonly endpoints: readonly Endpoint[]
  readonly nodes: readonly SimulatedNode[]
  readonly finalityLag: number
  /** No younger block is final; 0 where blocks come at random times. */
  readonly minFinalitySeconds: number
  readonly #random: Random
  readonly #places: Place[] = []
  #head: Block
  #finalized: Block

  constructor({ random, happened, isBalanced, finalityLag, genesis, nodes = 2 }: WorldOptions) {
    this.#random = random
    this.finalityLag = finalityLag
    this.minFinalitySeconds = (finalityLag - 0.5) * (genesis?.blockSeconds ?? 0)
    this.#head = mineHistory(random, genesis)
    this.#finalized = this.#head
    this.nodes = Array.from({ length: nodes }, () => new SimulatedNode(this.#head, this.#finalized))
    const open = (name: string, nodes: SimulatedNode[]) => openEndpoint(name, nodes, random, happened)
    this.endpoints = isBalanced
      ? [open('balanced', [...this.nodes])]
      : this.nodes.map((node, index) => open(`node-${index}`, [node]))
  }

  get head(): Block {
    return this.#head
  }

  get finalized(): Block {
    return this.#finalized
  }

  /** Blocks that a fork may replace: none is final, and where blocks have an age, none is old enough to be. */
  get maxDepth(): number {
    const depth = this.#head.number - this.#finalized.number
    if (this.minFinalitySeconds === 0) return depth
    const isYoung = (block: Block | undefined) => block && secondsNow() - block.timestamp < this.minFinalitySeconds
    let young = 0
    while (young < depth && isYoung(ancestorOf(this.#head, this.#head.number - young))) young++
    return young
  }

  grow(count: number): void {
    for (let left = count; left > 0; left--) this.#head = mine(this.#head, this.#random)
    this.#publish()
  }

  /** Takes `depth` blocks away and puts `length` others in their place; returns the branch that was left. */
  fork(depth: number, length: number, how: 'new' | 're-mined' = 'new'): Block {
    const left = this.#head
    let head = ancestorOf(left, left.number - depth) ?? left
    for (let added = 0; added < length; added++) {
      const old = how === 're-mined' ? ancestorOf(left, head.number + 1) : undefined
      head = old ? remine(old, head, this.#random) : mine(head, this.#random)
    }
    this.#head = head
    this.#publish()
    return left
  }

  /** The chain goes back to a branch that it has left. */
  switchTo(head: Block): void {
    this.#head = head
    this.#publish()
  }

  put(node: number, place: Place): void {
    this.#places[node] = place
    this.#publish()
  }

  /** A branch that a node sits on grows as well. */
  growBranch(node: number): void {
    const place = this.#places[node]
    if (place && 'branch' in place) this.put(node, { ...place, branch: mine(place.branch, this.#random) })
  }

  /** The head of a chain that has nothing in common with this one but its oldest block. */
  mineForeign(): Block {
    let block = ancestorOf(this.#head, OLDEST) ?? this.#head
    while (block.number < this.#head.number) block = mine(block, this.#random)
    return block
  }

  /** Nothing that a node still sits on is cut off, unless it is lost. */
  finalize(lag = this.finalityLag): void {
    const next = ancestorOf(this.#head, Math.max(this.#finalized.number, this.#head.number - lag))
    const isSafe = this.#places.every(
      (place) => !('branch' in place) || place.isLost || (next && isAncestor(next, place.branch)),
    )
    if (next && isSafe) this.#finalized = next
    this.#publish()
  }

  /** Nodes agree again, and answer. */
  calm(): void {
    this.#places.length = 0
    for (const { faults } of this.endpoints) faults.clear()
    this.#publish()
  }

  #publish(): void {
    // Blocks that have an age are mined in no time: the clock follows them.
    if (this.minFinalitySeconds > 0 && this.#head.timestamp > secondsNow())
      vi.setSystemTime(this.#head.timestamp * 1_000)
    for (const [index, node] of this.nodes.entries()) {
      const place = this.#places[index] ?? { lag: 0 }
      if ('foreign' in place) {
        node.follow(place.foreign, place.foreign, NETWORK.chainId + 1)
        continue
      }
      const head = 'branch' in place ? place.branch : ancestorOf(this.#head, this.#head.number - place.lag)
      node.follow(head ?? this.#head, this.#finalized)
    }
  }
}
