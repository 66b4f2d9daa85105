/** Reads the `changes` of networks from one position of each on, and keeps a pool's change pending until the ledger shows its block. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import { groupBy } from '../../lib/group.ts'
import { networkPlaces, queryRows, readSql } from '../../lib/store.ts'
import { listingKey } from '../model/listing.ts'
import type { Tip } from '../model/tip.ts'
import type { BucketCache } from './bucket-cache.ts'
import type { CacheRefresh, PoolChange } from './cache-refresh.ts'

const CHANGES = readSql(new URL('./changes.sql', import.meta.url))
const NEWEST = readSql(new URL('./newest-change.sql', import.meta.url))

/** A change is dropped after this time if its block does not reach the ledger, as when its writer died. */
const MAX_PENDING_MS = 60_000

export type ChangeRow = {
  number: string
  pool: PoolId
  first: UnixSeconds
  last: UnixSeconds
  /** 0 for a write that does not name all pools that it touches, such as a rollback. */
  block: string
  version: string
}

/** True where the change ends a rollback, or another write that names no block. */
export function endsRollback({ block }: ChangeRow): boolean {
  return block === '0'
}

/** Called with the pools whose rows outside of the candle cache are stale; without pools: all of the network. */
export type OnChange = (network: NetworkName, pools?: Iterable<PoolId>) => void

export type ChangeLog = {
  /** The sequence of the last change that was applied; undefined before `begin`. */
  position(): string | undefined
  begin(position: string): void
  /** Refreshes the cache by these changes and by the pending ones; `tip` was read before them. */
  apply(changes: readonly ChangeRow[], tip: Tip | undefined): Promise<void>
  /** This process applies the change itself: its rows are skipped. */
  skip(sequence: bigint): void
  hasPending(): boolean
  /** The next read is a first one. */
  reset(): void
}

/** The changes of a network since the last read. */
export type NetworkChanges = { network: NetworkName; log: ChangeLog; rows: readonly ChangeRow[] }

/** By one statement for all networks. The first read of one only takes its newest position. */
export async function readChanges(
  reader: ClickHouseClient,
  logs: ReadonlyMap<NetworkName, ChangeLog>,
): Promise<readonly NetworkChanges[]> {
  const unbegun = [...logs].filter(([, log]) => log.position() === undefined)
  const [rows] = await Promise.all([
    rowsSince(reader, logs),
    ...unbegun.map(([network, log]) => begin(reader, network, log)),
  ])
  return [...logs].map(([network, log]) => ({ network, log, rows: rows.get(network) ?? [] }))
}

/** Changes after each network's position. A network without a position has none. */
async function rowsSince(reader: ClickHouseClient, logs: ReadonlyMap<NetworkName, ChangeLog>) {
  const positions = [...logs].flatMap(([network, log]) => {
    const position = log.position()
    return position === undefined ? [] : [{ network, position: BigInt(position) }]
  })
  const read = await Promise.all(
    networkPlaces(positions).map((places) =>
      queryRows<ChangeRow & { network: NetworkName }>(reader, CHANGES, {
        networks: places.map(({ network }) => network),
        after: places.map(({ position }) => position),
      }),
    ),
  )
  return groupBy(read.flat(), ({ network }) => network)
}

async function begin(reader: ClickHouseClient, network: NetworkName, log: ChangeLog): Promise<void> {
  const [newest] = await queryRows<{ number: string }>(reader, NEWEST, { network })
  log.begin(newest?.number ?? '0')
}

type PendingChange = PoolChange & { block: number; since: number }

function withChange(known: PendingChange | undefined, { pool, first, last, ...change }: ChangeRow): PendingChange {
  const [block, version] = [Number(change.block), BigInt(change.version)]
  return {
    pool,
    first: Math.min(first, known?.first ?? first),
    last: Math.max(last, known?.last ?? last),
    block: Math.max(block, known?.block ?? 0),
    version: known && known.version < version ? known.version : version,
    since: performance.now(),
  }
}

export function openChangeLog(options: {
  network: NetworkName
  cache: BucketCache
  refresh: CacheRefresh
  onChange: OnChange
}): ChangeLog {
  const { network, cache, refresh, onChange } = options
  const pending = new Map<PoolId, PendingChange>()
  const skipped = new Set<bigint>()
  let position: string | undefined
  /** The tip of the last `apply` may be of a branch that its changes took back: the tip was read before them. */
  let isTipDoubtful = false

  /** Merges the change into the pool's pending one. A change that the ledger shows already matters only to cached candles. */
  function add(change: ChangeRow, tip: Tip | undefined): void {
    const known = pending.get(change.pool)
    const isAwaited = known !== undefined || Number(change.block) > (tip?.number ?? 0)
    if (isAwaited || cache.has(listingKey(network, change.pool))) pending.set(change.pool, withChange(known, change))
  }

  function dropSkipped(): void {
    const reached = BigInt(position ?? 0)
    for (const sequence of skipped) if (sequence <= reached) skipped.delete(sequence)
  }

  return {
    position: () => position,
    begin(newest) {
      position = newest
    },
    async apply(changes, tip) {
      const changed = new Set(pending.keys())
      let isOfAnyPool = false
      for (const change of changes) {
        position = change.number
        if (skipped.has(BigInt(change.number))) continue
        changed.add(change.pool)
        if (endsRollback(change)) isOfAnyPool = true
        add(change, tip)
      }
      dropSkipped()
      const evicted = isOfAnyPool || isTipDoubtful ? undefined : changed
      onChange(network, evicted)
      isTipDoubtful = isOfAnyPool
      if (pending.size === 0) return
      for (const pool of pending.keys()) cache.markStale(listingKey(network, pool))
      const isDone = ({ block, since }: PendingChange) =>
        block <= (tip?.number ?? 0) || performance.now() - since > MAX_PENDING_MS
      const done = [...pending].filter(([, change]) => isDone(change))
      await refresh.readChanged(network, pending)
      // Prices that were read meanwhile may be of the hour before, which the candles in memory had as a pool's last one.
      onChange(network, evicted)
      for (const [pool] of done) pending.delete(pool)
    },
    skip: (sequence) => void skipped.add(sequence),
    hasPending: () => pending.size > 0,
    reset() {
      position = undefined
    },
  }
}
