/**
 * The last gate before rows: rules that every flush of the stream keeps. Each is checked by an earlier step as well, or follows from it, so a
 * breach is a bug, of the listener or of this process: the stage halts before the ledger has any of these blocks.
 */

import { type BlockContent, blocksOf, type Message, tipOf } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import { rowVersion } from '../store/version.ts'
import type { PlacedMessage } from './rows.ts'
import type { FlushMark, WriterState } from './writer-state.ts'

export class BrokenInvariant extends Error {
  override readonly name = 'BrokenInvariant'
  /** No repetition of the same rows helps. */
  readonly retryable = false

  constructor(network: NetworkName, block: number, rule: string, facts: string) {
    super(
      `Block ${block} of ${network} breaks the rule that ${rule}: ${facts}. Nothing of it is on the ledger. Report a bug; a rewind or another endpoint may help.`,
    )
  }
}

/**
 * Reads each log once, without an object per tick and without a statement. Times may decrease: a block has the time that its node answered,
 * and a job corrects it (history/overwrite-range.ts). Messages that are placed again because a later one builds on them have its version.
 */
export function checkFlush(network: NetworkName, placed: readonly PlacedMessage[]): void {
  let before: PlacedMessage | undefined
  for (const one of placed) {
    const { message, parent, position } = one
    const first = firstOf(message)
    const fail = (rule: string, facts: string) => new BrokenInvariant(network, first, rule, facts)
    if (before) {
      const tip = tipOf(before.message)
      if (parent?.number !== tip.number || parent.hash !== tip.hash)
        throw fail('a flush has the blocks of the ledger in their order', `block ${tip.number} comes before it`)
      if (rowVersion(position) < rowVersion(before.position))
        throw fail(
          'versions of rows do not fall',
          `its message is at ${position.offset}, the one before at ${before.position.offset}`,
        )
    }
    if (parent) {
      if (first !== parent.number + 1)
        throw fail('a block follows the tip of the ledger', `the tip is block ${parent.number}`)
      if (message.parentHash !== parent.hash)
        throw fail(
          'its parent is the block before it on the ledger',
          `that is ${parent.hash}, its parent is ${message.parentHash ?? 'not stated'}`,
        )
    }
    checkBlocks(network, message)
    before = one
  }
}

function checkBlocks(network: NetworkName, message: Message): void {
  const tip = tipOf(message)
  let number = firstOf(message) - 1
  for (const block of blocksOf(message)) {
    if (block.number <= number || block.number > tip.number)
      throw new BrokenInvariant(
        network,
        block.number,
        'blocks of a message ascend within its range',
        `it comes after block ${number}, in a message up to block ${tip.number}`,
      )
    checkLogs(network, block, block.ticks)
    checkLogs(network, block, block.liquidity)
    number = block.number
  }
}

function checkLogs(network: NetworkName, { number }: BlockContent, logs: readonly { logIndex: number }[]): void {
  let before = -1
  for (const { logIndex } of logs) {
    if (logIndex <= before)
      throw new BrokenInvariant(network, number, 'log indexes grow', `log ${logIndex} comes after log ${before}`)
    before = logIndex
  }
}

/** The same ticks three times: in the blocks, as rows, and in candles or left to ClickHouse. `first`: the first of the blocks. */
export function checkCounts(
  network: NetworkName,
  first: number,
  { ticks, encoded, folded }: { ticks: number; encoded: number; folded: number },
): void {
  if (encoded === ticks && folded === ticks) return
  const facts = `${ticks} ticks, ${encoded} rows, ${folded} in candles`
  throw new BrokenInvariant(network, first, 'each tick is one row and counts once in candles', facts)
}

/** Called right before the ledger is written: each flush must have higher versions than the one recorded before. */
export function checkVersions(
  network: NetworkName,
  placed: readonly PlacedMessage[],
  version: bigint,
  { flushed }: Pick<WriterState, 'flushed'>,
): FlushMark {
  const [first, last] = [placed[0], placed.at(-1)]
  if (!first || !last) throw new Error('A flush has messages.')
  if (flushed && (version <= flushed.version || rowVersion(first.position) < flushed.row))
    throw new BrokenInvariant(
      network,
      firstOf(first.message),
      'versions of a flush are not below those of the flush before',
      `candles ${version} after ${flushed.version}, rows ${rowVersion(first.position)} after ${flushed.row}`,
    )
  return { version, row: rowVersion(last.position) }
}

function firstOf(message: Message): number {
  return message.kind === 'range' ? message.from : message.number
}
