/** Everything that answers are read from: the pools, the ledgers' tips, and rows in memory where they are cached, else in ClickHouse. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { WriteEvent } from '../../aggregator/candles/changes.ts'
import type { Network, NetworkName } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import type { Report } from '../../ingest/model/report.ts'
import { coalesced } from '../lib/coalesced.ts'
import type { ApiFact } from '../lib/fact.ts'
import { Problem } from '../lib/problem.ts'
import { BucketCache } from './cache/bucket-cache.ts'
import { type NetworkStates, openChangePoller } from './cache/change-poller.ts'
import type { NetworkState } from './cache/coverage.ts'
import type { StateListener } from './cache/state-listeners.ts'
import { type ClosedRows, openClosedRows } from './candles/closed-rows.ts'
import { NewestTicks } from './candles/newest-ticks.ts'
import { readTicks, type TickRequest } from './candles/ticks.ts'
import { openUsdCandles, type UsdCandles } from './candles/usd-candles.ts'
import { EXPANDED_NETWORKS } from './find/find.ts'
import type { TickView } from './model/orientation.ts'
import { openPools } from './pools/pool-lookups.ts'
import { openPoolRows } from './pools/pool-rows.ts'
import type { MarketStore } from './pools/pool-state.ts'
import { openTopPools } from './pools/top-pools.ts'

export type MarketSources = {
  reader: ClickHouseClient
  cache: BucketCache
  closedRows: ClosedRows
  usd: UsdCandles
  /**
   * Tips, read before any row: so the tables have all blocks up to a tip when rows are read. Throws `nothing_stored` if no network of
   * `networks` has stored blocks; an empty list never throws.
   */
  snapshot(networks?: readonly NetworkName[]): Promise<{ states: NetworkStates; store: MarketStore }>
  states(): Promise<NetworkStates>
  /** `closed`: the ledger is past the end of the range, so that new blocks do not change the answer. */
  ticks(request: TickRequest, closed: boolean): Promise<readonly TickView[]>
  /** Called by the aggregator of this process after each write, see cache/. */
  onFlush(written: WriteEvent): void
  listen(listener: StateListener): () => void
}

/** Kept rows of closed ranges take at most this fraction of the bytes that cached candles may take, in addition to them. */
const CLOSED_SHARE = 4

export type SourceOptions = {
  /** Read-only rights are enough. */
  reader: ClickHouseClient
  networks: readonly Network[]
  /** Maximum age of the pools, the tips and the cached candles. */
  freshMs: number
  /** Interval at which changes are polled for, while queries arrive. */
  pollMs: number
  /** Upper bound of the cached candles. */
  cacheBytes: number
  report: Report<ApiFact> | undefined
}

export function openSources(options: SourceOptions): MarketSources {
  const { reader, networks, freshMs, pollMs, cacheBytes, report } = options
  const pools = openPools(reader, networks, freshMs)
  const onRead = (isCached: boolean) => report?.({ kind: 'cache-read', isCached, bytes: cache.bytes })
  const cache = new BucketCache(reader, cacheBytes, onRead)
  const rows = openPoolRows(reader, cache)
  const top = openTopPools(reader, pools, freshMs)
  const usd = openUsdCandles(reader, freshMs)
  const newestTicks = new NewestTicks((request) => readTicks(reader, request))
  const closedTicks = coalesced<readonly TickView[]>(freshMs)
  const onChange = (network: NetworkName, changed?: Iterable<PoolId>) => {
    // A rewind deletes rows, and a read of written rows does not find that.
    if (changed === undefined) pools.evict(network)
    rows.evict(network, changed)
    top.touch(network, changed)
    newestTicks.evict(network, changed)
  }
  const names = networks.map((network) => network.name)
  const poller = openChangePoller({ reader, networks: names, cache, freshMs, pollMs, onChange })

  return {
    reader,
    cache,
    closedRows: openClosedRows({ reader, cache, usd }, cacheBytes / CLOSED_SHARE),
    usd,
    async snapshot(asked = EXPANDED_NETWORKS) {
      const [states] = await Promise.all([poller.states(), pools.refresh()])
      requireStored(states, asked)
      return { states, store: { cache, rows, top, pools } }
    },
    states: poller.states,
    ticks(request, closed) {
      if (!closed) return newestTicks.read(request)
      const { view, range, limit, price } = request
      const { network, pool } = view.listing
      const key = `${network.name} ${pool.id} ${view.forward} ${range.from} ${range.to} ${limit} ${price}`
      return closedTicks(key, () => readTicks(reader, request))
    },
    onFlush: poller.onFlush,
    listen: poller.listen,
  }
}

/** Throws `nothing_stored` if no `asked` network that this service reads has stored blocks. */
function requireStored(states: NetworkStates, asked: readonly NetworkName[]): void {
  const read = asked.flatMap((name) => {
    const state = states.get(name)
    return state ? [{ name, state }] : []
  })
  // An unknown token or pool would say nothing about the chain.
  const isStored = ({ tip, coverage }: NetworkState) => tip !== undefined || coverage.backfilled.length > 0
  if (read.length === 0 || read.some(({ state }) => isStored(state))) return
  const names = read.map(({ name }) => name).join(', ')
  throw new Problem(
    'nothing_stored',
    `Nothing is stored of ${names} yet, so that no pool or token of it is known. /v0/health says how far each network is.`,
    { headers: { 'Retry-After': '10' } },
  )
}
