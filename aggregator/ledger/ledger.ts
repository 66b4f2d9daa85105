/** The ledger: which blocks are on the chain, as far as they are stored. The table `blocks` is its memory, and the only checkpoint. */

import type { ClickHouseClient } from '@clickhouse/client'
import type { BlockContent, BlockRef, Message, RangeMessage } from '../../ingest/model/message.ts'
import { blocksOf, tipOf } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import { IrreversibleBlocks } from './irreversible-blocks.ts'
import type { LedgerBlock } from './stored-blocks.ts'
import { readBlocks, storedBlock } from './stored-blocks.ts'

/** How a message relates to the ledger. */
export type Placement =
  | { kind: 'known' }
  | { kind: 'append'; message: Message }
  | { kind: 'rollback'; to: LedgerBlock; message: Message }
  | { kind: 'orphan' }
  /** It is set aside. */
  | { kind: 'refused'; reason: string }

/** A view of the chain: its newest block, and older blocks by number. */
export type KnownChain = {
  readonly tip: LedgerBlock | undefined
  /** The newest block that is known to be final; 0 where none is. */
  readonly finalized: number
  /** The newest block that no message takes back; 0 without one. See `irreversible-blocks.ts`. */
  readonly irreversible: number
  at(number: number): Promise<LedgerBlock | undefined>
}

/** Where the message belongs, by its parent hash alone. A message that would take back an irreversible block is refused. */
export async function place(known: KnownChain, message: Message): Promise<Placement> {
  const placement = await placeByParent(known, message)
  if (placement.kind !== 'rollback' || placement.to.number >= known.irreversible) return placement
  const { number } = tipOf(message)
  const reason = `It would replace the blocks after ${placement.to.number} by a branch with block ${number}, and block ${known.irreversible} is final.`
  return { kind: 'refused', reason }
}

async function placeByParent(known: KnownChain, message: Message): Promise<Placement> {
  const newest = tipOf(message)
  const { tip } = known
  if (!tip) return { kind: 'append', message }
  if ((await known.at(newest.number))?.hash === newest.hash) return { kind: 'known' }
  const first = message.kind === 'range' ? message.from : message.number
  const same = first <= tip.number ? await samePart(known, message) : undefined
  if (same === 'all') return { kind: 'known' }
  if (same) {
    const rest = after(message as RangeMessage, same)
    return same.number === tip.number
      ? { kind: 'append', message: rest }
      : { kind: 'rollback', to: same, message: rest }
  }
  if (message.parentHash === undefined) return { kind: 'orphan' }
  if (tip.number === first - 1 && tip.hash === message.parentHash) return { kind: 'append', message }
  const parent = await known.at(first - 1)
  if (parent && parent.hash === message.parentHash) return { kind: 'rollback', to: parent, message }
  return { kind: 'orphan' }
}

/** Blocks of the message that name pools and that the ledger has already, mostly from another listener: that one may have met other pools in them. */
export function knownSightings(message: Message, placement: Placement): readonly BlockContent[] {
  const blocks = blocksOf(message).filter(({ pools }) => pools.length > 0)
  if (placement.kind === 'known') return blocks
  if (placement.kind === 'orphan' || placement.kind === 'refused' || placement.message === message) return []
  const kept = new Set(blocksOf(placement.message).map(({ number }) => number))
  return blocks.filter(({ number }) => !kept.has(number))
}

/** Blocks of a message that are looked up, from its newest one down. */
const MAX_LOOKUPS = 8

/**
 * How much of a message that begins at or below the tip is stored already: a listener that reads history again cuts its ranges elsewhere, and a
 * stored range names only its blocks with logs and its last one. Either all of it, or a range up to its newest block that is on the
 * ledger. Undefined where the ledger has another block in its place: then the parent decides.
 */
async function samePart(known: KnownChain, message: Message): Promise<'all' | LedgerBlock | undefined> {
  const tip = known.tip?.number ?? -1
  const newest = tipOf(message)
  // Single blocks are all on the ledger: one that is not, below the tip, lies inside a range, and is final.
  const isInside = newest.number < tip && (await known.at(newest.number)) === undefined
  if (message.kind === 'block') {
    const parent = await known.at(message.number - 1)
    // The block is not final, and a range may claim that it is: the later message counts until the range is irreversible.
    const isDoubtful = parent !== undefined && message.number > known.irreversible && message.finalized > 0
    return isInside && !isDoubtful && (!parent || parent.hash === message.parentHash) ? 'all' : undefined
  }
  const stated = message.blocks.filter(({ number }) => number <= tip && number < newest.number)
  let isDoubtful = false
  for (const { number, hash, ticks } of stated.slice(-MAX_LOOKUPS).toReversed()) {
    const stored = await known.at(number)
    if (!stored) {
      // A range keeps its blocks with content: the one that is stored had no swap here.
      isDoubtful ||= ticks.length > 0 && number > known.irreversible
      continue
    }
    if (stored.hash !== hash) return undefined
    if (isInside) return 'all'
    return newest.number <= tip ? undefined : known.finalized >= tip ? known.tip : stored
  }
  const parent = await known.at(message.from - 1)
  const isReplaced = parent !== undefined && message.parentHash !== undefined && parent.hash !== message.parentHash
  if (isReplaced || (isDoubtful && parent !== undefined && message.parentHash !== undefined)) return undefined
  if (isInside) return 'all'
  return newest.number > tip && known.finalized >= tip ? known.tip : undefined
}

/** The part of a range above one of its blocks. */
function after(range: RangeMessage, { number, hash }: BlockRef): RangeMessage {
  const blocks = range.blocks.filter((block) => block.number > number)
  return { ...range, from: number + 1, parentHash: hash, blocks }
}

/** Blocks held in memory; older ones are queried. */
const BLOCKS_IN_MEMORY = 4_096

export class Ledger implements KnownChain {
  readonly #client: ClickHouseClient
  readonly #network: NetworkName
  readonly #recent = new Map<number, LedgerBlock>()
  #tip: LedgerBlock | undefined
  #finality = new IrreversibleBlocks()

  private constructor(client: ClickHouseClient, network: NetworkName) {
    this.#client = client
    this.#network = network
  }

  static async load(client: ClickHouseClient, network: NetworkName): Promise<Ledger> {
    const ledger = new Ledger(client, network)
    const newest = await readBlocks(client, network, Number.MAX_SAFE_INTEGER, BLOCKS_IN_MEMORY)
    for (const entry of newest.toReversed()) ledger.#add(entry)
    ledger.#finality = new IrreversibleBlocks(
      newest.reduce((highest, { finalized }) => Math.max(highest, finalized), 0),
    )
    return ledger
  }

  get tip(): LedgerBlock | undefined {
    return this.#tip
  }

  get finalized(): number {
    return this.#finality.named
  }

  get irreversible(): number {
    return this.#finality.irreversible
  }

  place(message: Message): Promise<Placement> {
    return place(this, message)
  }

  append(message: Message): void {
    for (const { number, hash, timestamp } of blocksOf(message)) this.#add({ number, hash, timestamp })
    this.#add({ ...tipOf(message), timestamp: message.timestamp })
    const newest = tipOf(message).number
    this.#finality.name(message.finalized ?? newest, newest)
    for (const number of this.#recent.keys()) {
      if (this.#recent.size <= BLOCKS_IN_MEMORY) break
      this.#recent.delete(number)
    }
  }

  rollBack(to: LedgerBlock): void {
    for (const number of this.#recent.keys()) if (number > to.number) this.#recent.delete(number)
    this.#tip = to
    this.#finality.rollBack(to.number)
  }

  /** Blocks that were stored under another time. */
  retime(blocks: readonly LedgerBlock[]): void {
    for (const block of blocks) {
      if (this.#recent.get(block.number)?.hash !== block.hash) continue
      this.#recent.set(block.number, block)
      if (this.#tip?.number === block.number) this.#tip = block
    }
  }

  #add(entry: LedgerBlock): void {
    this.#recent.set(entry.number, entry)
    this.#tip = entry
  }

  async at(number: number): Promise<LedgerBlock | undefined> {
    if (!this.#tip || number > this.#tip.number) return undefined
    const known = this.#recent.get(number)
    const [oldest] = this.#recent.keys()
    if (known || (oldest !== undefined && number >= oldest)) return known
    return storedBlock(this.#client, this.#network, number)
  }
}
