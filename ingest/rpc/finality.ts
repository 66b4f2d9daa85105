/** Finality of a network: the newest final block that its endpoints report, and a fallback where none reports one that is plausible. */
import type { BlockRef } from '../model/message.ts'
import type { NetworkName } from '../model/network.ts'

/** Distance below the head that is read as history where no endpoint has the tag `finalized`. It never counts as final. */
export const FALLBACK_FINALITY_BLOCKS = 256

/** A restarted node has no final block for a while: fewer refusals than these do not prove that the tag is unknown. */
const MIN_REFUSALS = 3

/**
 * A final block further below the head is not believed: after a restart a node may report one that is millions of blocks old. Several times the
 * longest lag that each network has had or allows.
 */
export const MAX_FINALITY_LAG_BLOCKS: Readonly<Record<NetworkName, number>> = {
  // 12 h. Usually two epochs, 64 to 96 blocks; an hour in May 2023.
  ethereum: 3_600,
  // 12 h. Usually seconds by milestones; some hours where Heimdall stood still.
  polygon: 21_600,
  // 24 h at four blocks a second, after which a silent sequencer is overruled. Usually 15 to 20 minutes.
  arbitrum: 345_600,
  // 24 h, twice the sequencing window. Usually 15 to 30 minutes.
  base: 43_200,
  optimism: 43_200,
}

export class Finality {
  readonly #maxLagBlocks: number
  readonly #lostMs: number
  /** The newest reported block. */
  #named: BlockRef | undefined
  #wasNamed = false
  #refusals = 0
  #namedMs = Number.NEGATIVE_INFINITY
  #doubtedSinceMs: number | undefined

  /** Where finality stays implausible for `lostMs`, the network has lost it: then the fallback is used, by which nothing becomes final. */
  constructor(maxLagBlocks = Number.POSITIVE_INFINITY, lostMs = Number.POSITIVE_INFINITY) {
    this.#maxLagBlocks = maxLagBlocks
    this.#lostMs = lostMs
  }

  setNamed(block: BlockRef): void {
    this.#wasNamed = true
    this.#doubtedSinceMs = undefined
    this.#namedMs = performance.now()
    if (block.number > (this.#named?.number ?? -1)) this.#named = { number: block.number, hash: block.hash }
  }

  refused(): void {
    this.#refusals++
  }

  /** Whether a node with this head may report that block as final; false is noted. */
  isPlausible({ number }: BlockRef, head: number): boolean {
    if (head - number <= this.#maxLagBlocks) return true
    this.#doubtedSinceMs ??= performance.now()
    return false
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

  /** Whether no endpoint has ever reported a final block, or none that is plausible for long. */
  get isUnknownTag(): boolean {
    const since = this.#doubtedSinceMs
    if (since !== undefined && performance.now() - since >= this.#lostMs) return true
    return !this.#wasNamed && this.#refusals >= MIN_REFUSALS
  }
}
