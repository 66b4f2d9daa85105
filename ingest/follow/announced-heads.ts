/**
 * Heads announced by nodes and not read yet, linked by parent hash: a listener that fell behind requests all of them at once. The times of
 * their arrival tell when a poll without an announcement is due.
 */
import type { BlockRef } from '../model/message.ts'
import type { Header } from '../rpc/rpc.ts'

/** More than arrive during one poll. Heads beyond it are requested from the node. */
const MAX_HEADS = 64
/** Weight of the newest interval in the mean one. */
const NEWEST_SHARE = 0.2
/** A subscription may end without a sign: then polls begin after so many mean intervals, and at most after so long. */
const MAX_QUIET_INTERVALS = 1.5
const MAX_QUIET_MS = 20_000

/** The head of a node is requested once in this time, however many blocks are announced, and at once where two of them contradict each other. */
const POLL_MS = 6_000
/** After a reorg it is requested with each block: an endpoint may announce more blocks that no other one has. */
const DISTRUST_MS = 600_000

/** No block is further ahead of the clock. */
const MAX_AHEAD_SECONDS = 120

/** `isProven`: its fields have its hash. That says nothing of the chain. */
export type AnnouncedHead = Header & { isProven?: boolean }

export class AnnouncedHeads {
  /** By parent hash, in order of arrival: of two children the newer one stays. */
  readonly #byParent = new Map<string, AnnouncedHead>()
  #arrivedMs: number | undefined
  #intervalMs: number | undefined
  readonly #pollMs: number
  #polledMs = Number.NEGATIVE_INFINITY
  #distrustedUntilMs = Number.NEGATIVE_INFINITY

  constructor(pollMs = POLL_MS) {
    this.#pollMs = pollMs
  }

  /** How long from now on the next head is expected to be announced; 0 where it is late, or where nodes announce none. */
  get quietMs(): number {
    if (this.#arrivedMs === undefined || this.#intervalMs === undefined) return 0
    const expected = Math.min(MAX_QUIET_MS, this.#intervalMs * MAX_QUIET_INTERVALS)
    return Math.max(0, this.#arrivedMs + expected - performance.now())
  }

  get isPollDue(): boolean {
    const now = performance.now()
    return now < this.#distrustedUntilMs || now - this.#polledMs >= this.#pollMs
  }

  /** A node was polled for its head. `isOnTop`: the head is on top of the blocks that were read. */
  notePoll(isOnTop: boolean): void {
    this.#polledMs = performance.now()
    if (!isOnTop) this.#distrustedUntilMs = this.#polledMs + DISTRUST_MS
  }

  add(head: AnnouncedHead): void {
    if (head.timestamp > Date.now() / 1_000 + MAX_AHEAD_SECONDS) return
    // Each endpoint announces it.
    if (this.#byParent.get(head.parentHash)?.hash !== head.hash) this.#noteArrival(performance.now())
    if (this.#isContradicted(head)) this.#polledMs = Number.NEGATIVE_INFINITY
    this.#byParent.delete(head.parentHash)
    this.#byParent.set(head.parentHash, head)
    for (const oldest of this.#byParent.keys()) {
      if (this.#byParent.size <= MAX_HEADS) break
      this.#byParent.delete(oldest)
    }
  }

  /** Whether another announced head of its number, or of its parent's, is of another branch. */
  #isContradicted({ number, hash, parentHash }: Header): boolean {
    return [...this.#byParent.values()].some(
      (other) =>
        (other.number === number && other.hash !== hash) || (other.number === number - 1 && other.hash !== parentHash),
    )
  }

  #noteArrival(now: number): void {
    if (this.#arrivedMs !== undefined) {
      const interval = now - this.#arrivedMs
      this.#intervalMs = interval * NEWEST_SHARE + (this.#intervalMs ?? interval) * (1 - NEWEST_SHARE)
    }
    this.#arrivedMs = now
  }

  /** The unbroken chain of heads on top of `tip`, at most `count`, ascending. */
  after(tip: BlockRef | undefined, count: number): AnnouncedHead[] {
    const chain: AnnouncedHead[] = []
    for (let parent = tip; parent && chain.length < count; parent = chain.at(-1)) {
      const child = this.#byParent.get(parent.hash)
      if (child?.number !== parent.number + 1) break
      chain.push(child)
    }
    return chain
  }
}
