/**
 * Finality of a network: the newest final block that the leading endpoint reports and no other voice contradicts, and a fallback where none is
 * plausible.
 */
import type { Hash } from 'viem'
import type { BlockRef, UnixSeconds } from '../model/message.ts'
import type { Network, NetworkName } from '../model/network.ts'
import type { RetryPolicy } from './retry-policy.ts'

/** The block at a height that all voices have that answer, or most of three or more; else undefined. */
export type AgreeAt = (number: number) => Promise<AgreedBlock | undefined>

export type AgreedBlock = {
  hash: Hash
  timestamp: UnixSeconds
  /** The oldest head of the voices that have the block, of which at least one is honest; absent where one has told none. */
  headTime?: UnixSeconds | undefined
}

/** Distance below the head that is read as history where no endpoint has the tag `finalized`. It never counts as final. */
export const FALLBACK_FINALITY_BLOCKS = 256

/** A restarted node has no final block for a while: fewer refusals than these do not prove that the tag is unknown. */
const MIN_REFUSALS = 3

/**
 * A final block further below the head is not believed: after a restart a node may report one that is millions of blocks old. Several times the
 * longest lag that each network has had or allows.
 */
const MAX_FINALITY_LAG_BLOCKS: Readonly<Record<NetworkName, number>> = {
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

/**
 * A younger block is not final: where finality is that of Ethereum, two epochs of 384 s come after it, less 168 s for clocks and for heads of nodes
 * that lag. Polygon's milestones take seconds.
 */
const MIN_FINALITY_SECONDS: Readonly<Record<NetworkName, number>> = {
  ethereum: 600,
  polygon: 0,
  arbitrum: 600,
  base: 600,
  optimism: 600,
}

/** More blocks than these are read as one range, once they are known to be final. */
const FAR_BLOCKS = 64
const FIRST_STEP_BLOCKS = 8

type PlacedBlock = { number: number; timestamp: UnixSeconds }

export type FinalityOptions = {
  maxLagBlocks?: number | undefined
  minSeconds?: number | undefined
  /** Finality that stays implausible for this time counts as lost: the fallback is used then, and no block becomes final by it. */
  lostMs?: number
  /** Asks the voices, where there are several. */
  agreeAt?: AgreeAt | undefined
}

export class Finality {
  readonly #maxLagBlocks: number
  readonly #minSeconds: number
  readonly #lostMs: number
  readonly #agreeAt: AgreeAt | undefined
  /** The newest block that was confirmed, or reported where nothing confirms it. */
  #named: BlockRef | undefined
  #confirming: Promise<void> | undefined
  #wasNamed = false
  #refusals = 0
  #namedMs = Number.NEGATIVE_INFINITY
  #namedBy: string | undefined
  #doubtedSinceMs: number | undefined

  constructor(options: FinalityOptions = {}) {
    this.#maxLagBlocks = options.maxLagBlocks ?? Number.POSITIVE_INFINITY
    this.#minSeconds = options.minSeconds ?? 0
    this.#lostMs = options.lostMs ?? Number.POSITIVE_INFINITY
    this.#agreeAt = options.agreeAt
  }

  /** Waits for the other voices while no block is confirmed, or one far below; else they are asked meanwhile. */
  async setNamed({ number, hash }: BlockRef, voice?: string): Promise<void> {
    this.#namedBy = voice
    this.#wasNamed = true
    this.#doubtedSinceMs = undefined
    this.#namedMs = performance.now()
    if (number <= (this.#named?.number ?? -1)) return
    if (!this.#agreeAt) this.#named = { number, hash }
    else this.#confirming ??= this.#settle({ number, hash }, this.#agreeAt)
    if (number - (this.#named?.number ?? -FAR_BLOCKS) >= FAR_BLOCKS) await this.#confirming
  }

  /**
   * Where the voices disagree on the reported block, they may agree on one below it, which is final too, where it is old enough: the report is of one
   * voice, and blocks below its own may be new to the others.
   */
  async #settle(block: BlockRef, agreeAt: AgreeAt): Promise<void> {
    try {
      let step = FIRST_STEP_BLOCKS
      for (let { number } = block; number > (this.#named?.number ?? -1); number -= step, step *= 2) {
        const agreed = await agreeAt(number)
        if (!agreed || (number === block.number && agreed.hash !== block.hash)) continue
        if (!this.#isOld(agreed.timestamp, agreed.headTime)) continue
        this.#named = { number, hash: agreed.hash }
        return
      }
    } finally {
      this.#confirming = undefined
    }
  }

  /** The final block for a node with this head that reports `named`. Without voices to ask it is `named`, even if older than the one before. */
  finalFor(named: BlockRef | undefined, head: number): BlockRef | undefined {
    return named && !this.#agreeAt ? named : this.below(head)
  }

  refused(): void {
    this.#refusals++
  }

  /** Whether a node with this head may report that block as final; false is noted. */
  isPlausible({ number, timestamp }: PlacedBlock, head: PlacedBlock): boolean {
    if (head.number - number <= this.#maxLagBlocks && this.#isOld(timestamp, head.timestamp)) return true
    this.#doubtedSinceMs ??= performance.now()
    return false
  }

  /** By the head where the clock is behind it. */
  #isOld(timestamp: UnixSeconds, headTime = 0): boolean {
    return Math.max(headTime, Date.now() / 1_000) - timestamp >= this.#minSeconds
  }

  /** The stored chain was final up to `block` when it was read: the tag worked then. */
  wasKnown(block: number | undefined): void {
    if (block) this.#wasNamed = true
  }

  /** The newest final block that a node with this head may have. */
  below(head: number): BlockRef | undefined {
    return this.#named && this.#named.number <= head ? this.#named : undefined
  }

  /** Whether a block was reported within this time, by this voice where one is given. */
  isRecent(maxAgeMs: number, voice?: string): boolean {
    const isOther = voice !== undefined && voice !== this.#namedBy
    return !isOther && performance.now() - this.#namedMs < maxAgeMs
  }

  /** Whether no endpoint has ever reported a final block, or none that is plausible for long. */
  get isUnknownTag(): boolean {
    const since = this.#doubtedSinceMs
    if (since !== undefined && performance.now() - since >= this.#lostMs) return true
    return !this.#wasNamed && this.#refusals >= MIN_REFUSALS
  }
}

/** `isReal`: the chain is the network's own, not that of a development node, which reports a block as final after some further ones. */
export function finalityOf(
  network: Network | undefined,
  { finalityLostMs: lostMs, minFinalitySeconds }: Pick<RetryPolicy, 'finalityLostMs' | 'minFinalitySeconds'>,
  isReal: boolean,
  agreeAt: AgreeAt | undefined,
): Finality {
  const least = network && isReal && !network.devnet ? MIN_FINALITY_SECONDS[network.name] : 0
  const maxLagBlocks = network && MAX_FINALITY_LAG_BLOCKS[network.name]
  return new Finality({ maxLagBlocks, minSeconds: minFinalitySeconds ?? least, lostMs, agreeAt })
}
