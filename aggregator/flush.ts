/** A flush: messages that go on from the tip, into the tables. What the ledger does not show yet goes first, the ledger last. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Message, UnixSeconds } from '../ingest/message.ts'
import { blocksOf, tipOf } from '../ingest/message.ts'
import type { NetworkName } from '../ingest/network.ts'
import type { PoolId } from '../ingest/pool.ts'
import { insertBuckets, readOpenBuckets } from './bucket-rows.ts'
import { recordChanges } from './changes.ts'
import { insertContents } from './contents.ts'
import type { OpenBuckets } from './open-buckets.ts'
import type { CandleVersions } from './owner.ts'
import { recompute, type Touched } from './recompute.ts'
import type { RowBinary } from './row-binary.ts'
import { blockRow, type RowContext } from './rows.ts'
import { insertRows, together } from './store.ts'
import { type Position, rowVersion } from './version.ts'

/** A message and its place in the log, which gives its rows their version. */
export type Placed = { message: Message; position: Position }

/** What an aggregator keeps from one flush to the next. */
export type Keeping = { versions: CandleVersions; open: OpenBuckets }

/** A flush whose ticks are stored. */
export type BegunFlush = {
  /** Candles, then the ledger. */
  finish(): Promise<void>
  /** All of it was folded in memory, so that the next flush can be folded before this one is finished. */
  isFolded: boolean
}

/**
 * May be repeated after a failure at any statement, once memory has forgotten what it held of the buckets: every row is keyed and versioned.
 * Ticks stand before their candles, so that a crash between the two leaves ticks that tell which buckets to make anew.
 */
export async function beginFlush(
  client: ClickHouseClient,
  network: NetworkName,
  placed: readonly Placed[],
  { versions, open }: Keeping,
): Promise<BegunFlush> {
  const contents: RowContext[] = placed.flatMap(({ message, position }) =>
    blocksOf(message).map((block) => ({ network, block, version: rowVersion(position) })),
  )
  const inserted = insertContents(client, contents)
  // Folding goes on while the ticks are on their way.
  inserted.catch(() => undefined)
  const { buckets, unknown } = open.fold(contents.map(({ block }) => block))
  const version = versions.next()
  await inserted
  return {
    isFolded: unknown.length === 0,
    async finish() {
      await together([
        insertBuckets(client, network, buckets, version),
        makeAnew(client, network, unknown, timesOf(contents), { versions, open }),
      ])
      await together([
        insertRows(client, 'blocks', (out) => {
          for (const { message, position } of placed) ledgerRows(out, message, rowVersion(position))
        }),
        recordChanges(client, network, touchedBy(contents), versions),
      ])
    },
  }
}

function touchedBy(contents: readonly RowContext[]): Iterable<Touched> {
  const touched = new Map<PoolId, Touched>()
  for (const { block } of contents) {
    for (const { pool } of block.ticks) {
      const known = touched.get(pool)
      if (known) known.last = Math.max(known.last, block.timestamp)
      else touched.set(pool, { pool, first: block.timestamp, last: block.timestamp })
    }
  }
  return touched.values()
}

function timesOf(contents: readonly RowContext[]): { first: UnixSeconds; last: UnixSeconds } {
  let first = Number.POSITIVE_INFINITY
  let last = Number.NEGATIVE_INFINITY
  for (const { block } of contents) {
    if (block.ticks.length === 0) continue
    first = Math.min(first, block.timestamp)
    last = Math.max(last, block.timestamp)
  }
  return { first, last }
}

/** Has the tables make the buckets that memory knows too little of, and takes them in. */
async function makeAnew(
  client: ClickHouseClient,
  network: NetworkName,
  pools: readonly PoolId[],
  { first, last }: { first: UnixSeconds; last: UnixSeconds },
  { versions, open }: Keeping,
): Promise<void> {
  if (pools.length === 0) return
  await recompute(client, network, { pools, first, last }, versions)
  open.remember(pools, await readOpenBuckets(client, network, pools, last), last)
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
