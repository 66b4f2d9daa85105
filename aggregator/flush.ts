/** A flush: messages that go on from the tip, into the tables. What the ledger does not show yet goes first, the ledger last. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Message } from '../ingest/message.ts'
import { blocksOf, tipOf } from '../ingest/message.ts'
import type { NetworkName } from '../ingest/network.ts'
import type { PoolId } from '../ingest/pool.ts'
import { insertContents } from './contents.ts'
import type { CandleVersions } from './owner.ts'
import { recompute } from './recompute.ts'
import type { RowBinary } from './row-binary.ts'
import { blockRow, type RowContext } from './rows.ts'
import { insertRows } from './store.ts'
import { type Position, rowVersion } from './version.ts'

/** A message and its place in the log, which gives its rows their version. */
export type Placed = { message: Message; position: Position }

/** May be repeated after a failure at any statement: every row is keyed and versioned. */
export async function flush(
  client: ClickHouseClient,
  network: NetworkName,
  placed: readonly Placed[],
  versions: CandleVersions,
): Promise<void> {
  const contents: RowContext[] = placed.flatMap(({ message, position }) =>
    blocksOf(message).map((block) => ({ network, block, version: rowVersion(position) })),
  )
  await insertContents(client, contents)
  const scope = touchedBy(contents)
  if (scope) await recompute(client, network, scope, versions)
  await insertRows(client, 'blocks', (out) => {
    for (const { message, position } of placed) ledgerRows(out, message, rowVersion(position))
  })
}

function touchedBy(contents: readonly RowContext[]) {
  const pools = new Set<PoolId>()
  let first = Number.POSITIVE_INFINITY
  let last = Number.NEGATIVE_INFINITY
  for (const { block } of contents) {
    if (block.ticks.length === 0) continue
    for (const tick of block.ticks) pools.add(tick.pool)
    first = Math.min(first, block.timestamp)
    last = Math.max(last, block.timestamp)
  }
  return pools.size === 0 ? undefined : { pools: [...pools], first, last }
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
