/** A flush: messages that go on from the tip, into the tables. What the ledger does not show yet goes first, the ledger last. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Message } from '../ingest/message.ts'
import { blocksOf, tipOf } from '../ingest/message.ts'
import type { NetworkName } from '../ingest/network.ts'
import { recordChanges } from './changes.ts'
import { foldContents } from './folding.ts'
import type { Keeping } from './keeping.ts'
import type { Bucket } from './open-buckets.ts'
import type { Touched } from './recompute.ts'
import type { RowBinary } from './row-binary.ts'
import { blockRow, type RowContext } from './rows.ts'
import { insertRows, together } from './store.ts'
import { type Position, rowVersion } from './version.ts'

/** A message and its place in the log, which gives its rows their version. */
export type Placed = { message: Message; position: Position }

/** A flush whose ticks are on their way. */
export type BegunFlush = {
  stored: Promise<void>
  /** Once they are stored: candles, then the ledger. */
  finish(): Promise<void>
  /** The next flush can begin before this one is finished. */
  isFolded: boolean
  touched: readonly Touched[]
  /** See `Folding`. */
  buckets: readonly Bucket[] | undefined
  /** Of what it records as changed. */
  sequence: bigint
  version: bigint
}

/** May be repeated after a failure at any statement, once memory has forgotten what it held of the buckets: every row is keyed and versioned. */
export async function beginFlush(
  client: ClickHouseClient,
  network: NetworkName,
  placed: readonly Placed[],
  keeping: Keeping,
): Promise<BegunFlush> {
  const contents: RowContext[] = placed.flatMap(({ message, position }) =>
    blocksOf(message).map((block) => ({ network, block, version: rowVersion(position) })),
  )
  const folding = await foldContents(client, network, contents, keeping)
  const { stored, storeCandles, touched, buckets, isFolded, version } = folding
  const sequence = keeping.versions.next()
  return {
    stored,
    isFolded,
    touched,
    buckets,
    sequence,
    version,
    async finish() {
      await stored
      const block = Math.max(...placed.map(({ message }) => tipOf(message).number))
      await together([storeCandles(), recordChanges(client, network, touched, { sequence, version, block })])
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
  for (const block of message.blocks) {
    if (block.number === last.number) continue
    blockRow(out, { network, block, parentHash: undefined, first: block.number, version })
  }
  const ticks = message.blocks.find((block) => block.number === last.number)?.ticks ?? []
  const block = { ...last, timestamp: message.timestamp, ticks }
  blockRow(out, { network, block, parentHash: undefined, first: message.from, version })
}
