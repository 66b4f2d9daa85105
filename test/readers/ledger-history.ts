/**
 * All states that a ledger can have gone through, in their order: from the messages of its topic, and the tree of blocks that the node has served.
 * A range has a state for each of its blocks with content, as its rows are readable before the ledger has its end: an insert adds them partition
 * by partition, and a price is read up to the last hour that has candles.
 */
import type { Hash } from 'viem'
import { type BlockContent, blocksOf, type Message, tipOf } from '../../ingest/model/message.ts'
import { ancestorOf, type Block } from '../simulation/block.ts'

/** A prefix of the ledger: the chain from its first block to the tip. */
export type LedgerState = {
  tip: Block
  /** True between a rollback and the first block of the new branch. */
  isRollback: boolean
}

export type LedgerHistory = {
  states: readonly LedgerState[]
  /** Number of the first block. */
  first: number
  /** Content of a block as the listener decoded it; undefined where it has none. */
  contentOf(hash: Hash): BlockContent | undefined
  /** One for each block in the topic. */
  contents(): Iterable<BlockContent>
}

export function historyOf(messages: readonly Message[], blocks: ReadonlyMap<Hash, Block>): LedgerHistory {
  const contents = new Map<Hash, BlockContent>()
  const states: LedgerState[] = []
  for (const message of messages) {
    for (const content of blocksOf(message)) contents.set(content.hash, content)
    const { number, hash } = tipOf(message)
    const tip = blocks.get(hash)
    if (!tip) throw new Error(`Block ${number} ${hash} is in the topic, and the node never served it.`)
    const before = states.at(-1)
    if (before) {
      if (ancestorOf(before.tip, number)?.hash === hash) continue
      const from = message.kind === 'block' ? number : message.from
      const parent = ancestorOf(before.tip, from - 1)
      // A message of a branch whose beginning is missing is skipped.
      if (parent?.hash !== message.parentHash) continue
      if (parent && parent !== before.tip) states.push({ tip: parent, isRollback: true })
    }
    for (const block of blocksOf(message)) {
      const inside = block.hash === hash ? undefined : ancestorOf(tip, block.number)
      if (inside) states.push({ tip: inside, isRollback: false })
    }
    states.push({ tip, isRollback: false })
  }
  const [opening] = messages
  const first = opening === undefined ? 0 : opening.kind === 'range' ? opening.from : opening.number
  return { states, first, contentOf: (hash) => contents.get(hash), contents: () => contents.values() }
}
