/** The tables in memory: what the aggregator would hold, by the placements of its own ledger. */

import { type KnownChain, knownSightings, place } from '../../aggregator/ledger/ledger.ts'
import type { LedgerBlock } from '../../aggregator/ledger/stored-blocks.ts'
import { type BlockContent, blocksOf, type Message, tipOf } from '../../ingest/model/message.ts'
import type { StoredChain, StoredTip } from '../../ingest/model/stored-chain.ts'

/** A store's content as text, so that no bit is lost; in chain order. */
export type Rows = { tip: string; ticks: string[]; pools: string[]; liquidity: string[] }

export class MemoryStore implements KnownChain {
  /** Ascending. */
  #ledger: (LedgerBlock & StoredTip)[] = []
  #contents: BlockContent[] = []
  /** Everything that was taken, of use or not, in order. */
  readonly taken: Message[] = []
  /** Messages whose parent was not known. */
  orphans = 0

  get tip(): (LedgerBlock & StoredTip) | undefined {
    return this.#ledger.at(-1)
  }

  /** The simulated clock is not that of the ledger: any block may still be replaced. */
  readonly irreversible = 0

  get finalized(): number {
    return this.#ledger.reduce((newest, { finalized }) => Math.max(newest, finalized), 0)
  }

  async at(number: number): Promise<LedgerBlock | undefined> {
    return this.#ledger.findLast((block) => block.number === number)
  }

  /** True where it was of use. */
  async take(told: Message): Promise<boolean> {
    this.taken.push(told)
    const placement = await place(this, told)
    if (placement.kind === 'orphan') this.orphans++
    const known = knownSightings(told, placement)
    this.#contents.push(...known.map((block) => ({ ...block, ticks: [], liquidity: [], balances: [] })))
    if (placement.kind === 'known' || placement.kind === 'orphan' || placement.kind === 'refused') return false
    if (placement.kind === 'rollback') this.#rollBack(placement.to.number)
    const { message } = placement
    const contents = blocksOf(message)
    this.#contents.push(...contents)
    const newest = tipOf(message)
    const finalized = message.finalized ?? newest.number
    const below = contents.filter(({ number }) => number < newest.number)
    this.#ledger.push(...below.map(({ number, hash, timestamp }) => ({ number, hash, timestamp, finalized: number })))
    this.#ledger.push({ ...newest, timestamp: message.timestamp, finalized })
    return true
  }

  /** Blocks and contents of final history, in chain order. */
  get final(): { blocks: readonly LedgerBlock[]; contents: readonly BlockContent[] } {
    const { finalized } = this
    const isFinal = ({ number }: { number: number }) => number <= finalized
    return { blocks: this.#ledger.filter(isFinal), contents: this.#contents.filter(isFinal) }
  }

  /** As a repair does: the content of one block in the place of what is stored of it, but for pools, which stay. */
  overwrite(content: BlockContent): void {
    const emptied = (block: BlockContent) => ({ ...block, ticks: [], liquidity: [] })
    this.#contents = this.#contents.map((block) => (block.number === content.number ? emptied(block) : block))
    const next = this.#contents.findIndex(({ number }) => number > content.number)
    this.#contents.splice(next === -1 ? this.#contents.length : next, 0, content)
  }

  #rollBack(to: number): void {
    this.#ledger = this.#ledger.filter(({ number }) => number <= to)
    this.#contents = this.#contents.filter(({ number }) => number <= to)
  }

  /** As a listener asks for it. */
  get stored(): StoredChain {
    return {
      tip: async () => this.tip,
      below: async (number, limit) =>
        this.#ledger
          .filter((block) => block.number < number)
          .slice(-limit)
          .reverse(),
    }
  }

  rows(): Rows {
    const each = <Thing>(things: (content: BlockContent) => readonly Thing[]) =>
      this.#contents.flatMap((content) =>
        things(content).map((thing) => textOf({ block: content.number, time: content.timestamp, ...thing })),
      )
    const pools = this.#contents.flatMap((content) => content.pools)
    return {
      tip: textOf(this.tip && { number: this.tip.number, hash: this.tip.hash, time: this.tip.timestamp }),
      ticks: each(({ ticks }) => ticks),
      liquidity: each(({ liquidity }) => liquidity),
      // A listener that starts again meets a pool again, and then says nothing of its first price.
      pools: [
        ...new Set(pools.map(({ initialSqrtPriceX96: _, ...pool }) => textOf(pool))),
        ...new Set(pools.filter((pool) => pool.initialSqrtPriceX96 > 0n).map((pool) => textOf(pool))),
      ].sort(),
    }
  }
}

function textOf(value: unknown): string {
  return JSON.stringify(value, (_, field: unknown) => (typeof field === 'bigint' ? `${field}n` : field))
}
