/** The market as routes query it: candles, ticks, pools and pairs, each read top to bottom here. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { WriteEvent } from '../../aggregator/candles/changes.ts'
import { type Halt, readHalts } from '../../aggregator/ledger/halts.ts'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { Network, NetworkName } from '../../ingest/model/network.ts'
import type { Report } from '../../ingest/model/report.ts'
import { cachedValue } from '../lib/cached-value.ts'
import type { ApiFact } from '../lib/fact.ts'
import { orUnavailable } from '../lib/store.ts'
import { type CandleQuery, candleRange, newestHour, type PoolQuery, type TickQuery, tickRange } from '../query/query.ts'
import { type Instant, instantOf, wholeSecond } from '../query/time.ts'
import { findMarket, type MarketAnswer, type NamedMarket, toAnswer } from './answer.ts'
import type { NetworkStates } from './cache/change-poller.ts'
import { isComplete, type PoolCoverage, poolCoverage } from './cache/coverage.ts'
import type { StateListener } from './cache/state-listeners.ts'
import { gridOf, readCandles } from './candles/candles.ts'
import { readTicks } from './candles/ticks.ts'
import { findLeadNow, poolsOfId, poolsOfPair } from './find/find.ts'
import { orderListed } from './find/pair-pools.ts'
import type { Listing } from './model/listing.ts'
import type { CandleView, TickView } from './model/orientation.ts'
import type { Tip } from './model/tip.ts'
import { requireUsd } from './model/usd-price.ts'
import { openPoolLists, type PoolLists } from './pools/pool-lists.ts'
import type { MarketStore } from './pools/pool-state.ts'
import { type RankedPool, readRankedPools } from './pools/ranked-pools.ts'
import { type MarketSources, openSources } from './sources.ts'

export type PoolsAnswer = {
  rows: readonly RankedPool[]
  /** Pools of the pair beside these rows. */
  more: number
  /** The pool with the pair's price. It need not be the most valuable one. */
  lead: Listing | undefined
  cost: number
}

/** A pool, and where all that is stored of it is read, for interfaces that answer more about one pool than the operations. */
export type PoolAtTip = {
  reader: ClickHouseClient
  store: MarketStore
  /** Without rows: its range is the last hour, its cost that of the search. */
  answer: MarketAnswer<never>
  /** At least as new as the tip of this answer. */
  coverage(): Promise<PoolCoverage>
}

export type NetworkStatus = { network: Network; tip: Tip | undefined; halts: readonly Halt[] }

export type Market = {
  networks: readonly Network[]
  candles(query: CandleQuery): Promise<MarketAnswer<CandleView>>
  /** `stored`: past the ticks in memory, for queries that nothing repeats. */
  ticks(query: TickQuery, from?: 'memory' | 'stored'): Promise<MarketAnswer<TickView>>
  pools(query: PoolQuery): Promise<PoolsAnswer>
  /** Finds the pool as `ticks` does without a range. */
  atTip(query: NamedMarket): Promise<PoolAtTip>
  /** Throws `nothing_stored` as queries of these networks do. The lists are of all networks. */
  lists(networks: readonly NetworkName[]): Promise<PoolLists>
  status(): Promise<readonly NetworkStatus[]>
  /** Reads ahead for the first answers: the order of crowded pairs, the overview, pools that traded last. Rejects as they do. */
  warm(): Promise<void>
  /** Tips and coverage; rejects where the store does not answer. */
  states(): Promise<NetworkStates>
  /** Called by the aggregator of this process after each write: its candles reach the cache without a poll. */
  onFlush(written: WriteEvent): void
  /** Called at each change of the tables that answers are read from. Returns a function that removes the listener. */
  listen(listener: StateListener): () => void
}

/** Holds the candles that charts of a thousand pools query. */
const CACHE_BYTES = 256 * 2 ** 20

export function openMarket(options: {
  /** Read-only rights are enough. */
  reader: ClickHouseClient
  networks: readonly Network[]
  clock: () => Date
  /** Maximum age of the pools, the tips and the cached candles. */
  freshMs?: number
  /** Interval at which changes are polled for, while queries arrive. */
  pollMs?: number
  /** Upper bound of the cached candles. */
  cacheBytes?: number
  report?: Report<ApiFact>
}): Market {
  const { reader, networks, clock, freshMs = 1_000, pollMs = 50, cacheBytes = CACHE_BYTES, report } = options
  const sources = openSources({ reader, networks, freshMs, pollMs, cacheBytes, report })
  const names = networks.map((network) => network.name)
  const now = () => instantOf(clock())
  const halts = cachedValue(() => orUnavailable(() => readHalts(reader, names)), freshMs)
  // Of an empty store the lists are empty.
  const open = async () => (await sources.snapshot([])).store
  const lists = openPoolLists({ reader, open, now: () => wholeSecond(now()), freshMs })

  return {
    networks,
    candles: (query) => answerCandles(sources, query, now()),
    ticks: (query, from = 'memory') => answerTicks(sources, query, now(), from),
    pools: (query) => answerPools(sources, names, query, wholeSecond(now())),
    atTip: (query) => findAtTip(sources, query, now()),
    async lists(asked) {
      await sources.snapshot(asked)
      return lists
    },
    async status() {
      const [states, halted] = await Promise.all([sources.states(), halts.get()])
      return networks.map((network) => ({
        network,
        tip: states.get(network.name)?.tip,
        halts: halted.filter((halt) => halt.network === network.name),
      }))
    },
    async warm() {
      const { store } = await sources.snapshot([])
      await orderListed(store)
      await lists.overview()
      await store.pools.warm()
    },
    states: sources.states,
    onFlush: sources.onFlush,
    listen: sources.listen,
  }
}

/** Tip and coverage, then the pool, then its candles (cache, else SQL), filled where the chain is known to have been silent. */
async function answerCandles(
  sources: MarketSources,
  query: CandleQuery,
  now: Instant,
): Promise<MarketAnswer<CandleView>> {
  const { interval, limit, fill, price } = query
  const range = candleRange(query, now)
  const grid = gridOf(range, interval)
  const end = Math.min(range.to, wholeSecond(now))
  const { states, store } = await sources.snapshot(query.networks)
  const found = await findMarket(store, query, grid, end)
  if (price === 'usd') requireUsd(found.view.listing)
  const coverage = poolCoverage(states, found.view.listing)
  const flow = query.include?.includes('flow') ?? false
  const request = { view: found.view, interval, range, limit, fill, price, flow, coverage }
  const closed = isComplete(grid, coverage)
  const rows = await (closed
    ? sources.closedRows.read(request, now.seconds)
    : readCandles(sources, request, now.seconds))
  const swaps = rows.reduce((sum, candle) => sum + candle.trades, 0)
  return toAnswer(found, rows, { swaps, range, end, closed, coverage, now: now.seconds })
}

async function answerTicks(
  sources: MarketSources,
  query: TickQuery,
  now: Instant,
  from: 'memory' | 'stored',
): Promise<MarketAnswer<TickView>> {
  const { limit, price } = query
  const range = tickRange(query, now)
  const end = Math.min(range.to, wholeSecond(now))
  const { states, store } = await sources.snapshot(query.networks)
  const found = await findMarket(store, query, range, end)
  if (price === 'usd') requireUsd(found.view.listing)
  const coverage = poolCoverage(states, found.view.listing)
  const closed = isComplete(range, coverage)
  const request = { view: found.view, range, limit, price }
  const rows = await (from === 'stored' ? readTicks(sources.reader, request) : sources.ticks(request, closed))
  return toAnswer(found, rows, { swaps: rows.length, range, end, closed, coverage, now: now.seconds })
}

async function findAtTip(sources: MarketSources, query: NamedMarket, now: Instant): Promise<PoolAtTip> {
  const range = newestHour(now)
  const { states, store } = await sources.snapshot(query.networks)
  const found = await findMarket(store, query, range, range.to)
  const { listing } = found.view
  const facts = { swaps: 0, range, end: range.to, closed: false, now: now.seconds }
  return {
    reader: sources.reader,
    store,
    answer: toAnswer<never>(found, [], { ...facts, coverage: poolCoverage(states, listing) }),
    coverage: async () => poolCoverage(await sources.states(), listing),
  }
}

async function answerPools(
  sources: MarketSources,
  networks: readonly NetworkName[],
  query: PoolQuery,
  now: UnixSeconds,
): Promise<PoolsAnswer> {
  const { store } = await sources.snapshot(networks)
  const { listings, count, lead } = await poolsNamed(store, networks, query, now)
  const withDay = query.include?.includes('market') ?? false
  const rows = await readRankedPools(store, listings, { now, withDay })
  return { rows, lead, more: Math.max(0, count - rows.length), cost: 1 + Math.floor(rows.length / 20) }
}

async function poolsNamed(
  store: MarketStore,
  networks: readonly NetworkName[],
  query: PoolQuery,
  now: UnixSeconds,
): Promise<{ listings: readonly Listing[]; count: number; lead?: Listing | undefined }> {
  if ('pool' in query) {
    const listings = await poolsOfId(store, query.pool, networks)
    return { listings, count: listings.length }
  }
  const [pools, lead] = await Promise.all([
    poolsOfPair(store, query.symbol, networks),
    findLeadNow(store, query.symbol, networks, now),
  ])
  return { ...pools, lead }
}
