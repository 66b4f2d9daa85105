/** A flush: messages that go on from the tip, into the tables. What the ledger does not show yet goes first, the ledger last. */
import type { ClickHouseClient } from '@clickhouse/client'
import { blocksOf, type Message, ticksIn, tipOf, type UnixSeconds } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import { type FlushEvent, recordChanges } from '../candles/changes.ts'
import type { AggregatorFact } from '../ledger/fact.ts'
import type { RowBinary } from '../store/row-binary.ts'
import { insertRows, together } from '../store/store.ts'
import { type LogPosition, rowVersion } from '../store/version.ts'
import { type FoldedBlocks, foldBlocks } from './fold-blocks.ts'
import { insertBalances } from './insert-blocks.ts'
import { blockRow, type VersionedBlock } from './rows.ts'
import type { WriterState } from './writer-state.ts'

/** A message and its place in the log, which gives its rows their version. */
export type PlacedMessage = { message: Message; position: LogPosition }

/** A flush whose rows are on their way. */
export type StartedFlush = Omit<FoldedBlocks, 'stored' | 'storeCandles' | 'storeFolded' | 'unknown' | 'makeAnew'> &
  Omit<FlushEvent, 'isRecorded'> & {
    /** Resolves once its ticks and candles are in the tables, and `before` has come about. Ends, also in failure, once nothing is under way any more. */
    store(before?: Promise<void>): Promise<void>
    /** Then: tells of it, stores its balances, and puts it on the ledger. */
    record(): Promise<void>
  }

/** May be repeated after a failure at any statement, once memory has forgotten what it held of the buckets: every row is keyed and versioned. */
export async function startFlush(
  client: ClickHouseClient,
  network: NetworkName,
  placed: readonly PlacedMessage[],
  state: WriterState,
): Promise<StartedFlush> {
  const contents: VersionedBlock[] = placed.flatMap(({ message, position }) =>
    blocksOf(message).map((block) => ({ network, block, version: rowVersion(position) })),
  )
  const { stored, storeCandles, ...folded } = await foldBlocks(client, network, contents, state)
  const { touched, version, isFolded } = folded
  const sequence = state.versions.next()
  const last = placed.at(-1)?.message
  if (!last) throw new Error('A flush has messages.')
  const tip = { ...tipOf(last), timestamp: last.timestamp }
  // Candles of memory need no ticks: where a crash leaves only them, they are found as ticks would be.
  const underWay = together([stored, ...(isFolded ? [storeCandles()] : [])])
  // Whoever finishes it sees the failure.
  underWay.catch(() => undefined)
  return {
    ...folded,
    sequence,
    tip,
    balances: contents.flatMap(({ block }) => block.balances.map(({ pool }) => pool)),
    async store(before = Promise.resolve()) {
      await together([before, underWay])
      if (!isFolded) await storeCandles()
    },
    async record() {
      const told = { sequence, version, block: tip.number }
      await together([recordChanges(client, network, touched, told), insertBalances(client, contents)])
      await insertRows(client, 'blocks', (out) => {
        for (const { message, position } of placed) ledgerRows(out, message, rowVersion(position))
      })
    },
  }
}

/** A block leaves itself; a range leaves its blocks with content and its last one. */
function ledgerRows(out: RowBinary, message: Message, version: bigint): void {
  const { network, parentHash } = message
  if (message.kind === 'block') {
    blockRow(out, { network, block: message, parentHash, first: message.number, version })
    return
  }
  const last = tipOf(message)
  const final = message.finalized === undefined ? {} : { finalized: message.finalized }
  for (const { number, hash, timestamp, ticks } of message.blocks) {
    if (number === last.number) continue
    const block = { number, hash, timestamp, ticks, ...final }
    blockRow(out, { network, block, parentHash: undefined, first: number, version })
  }
  const ticks = message.blocks.find((block) => block.number === last.number)?.ticks ?? []
  const block = { ...last, timestamp: message.timestamp, ticks, ...final }
  blockRow(out, { network, block, parentHash: undefined, first: message.from, version })
}

/** Of the first block with content. */
export function firstTime(placed: readonly PlacedMessage[]): UnixSeconds {
  return Math.min(...placed.map(({ message }) => blocksOf(message)[0]?.timestamp ?? message.timestamp))
}

export function flushedFact(network: NetworkName, placed: readonly PlacedMessage[], ms: number): AggregatorFact {
  const first = placed[0]?.message
  const last = placed.at(-1)?.message
  return {
    kind: 'flushed',
    network,
    from: first ? (first.kind === 'range' ? first.from : first.number) : 0,
    to: last ? tipOf(last).number : 0,
    blocks: placed.length,
    ticks: placed.reduce((sum, { message }) => sum + ticksIn(message), 0),
    tipTimestamp: last?.timestamp ?? 0,
    ms,
  }
}
