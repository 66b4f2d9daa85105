/** The market as the API asks it: candles, ticks and pools, each with what the answer cost. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Address } from 'viem'
import type { WriteEvent } from '../../aggregator/candles/changes.ts'
import { type Halt, readHalts } from '../../aggregator/ledger/halts.ts'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { Network, NetworkName } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import type { Report } from '../../ingest/model/report.ts'
import { cachedValue } from '../lib/cached-value.ts'
import { coalesced } from '../lib/coalesced.ts'
import type { ApiFact } from '../lib/fact.ts'
import { type CandleQuery, candleRange, type PoolQuery, type TickQuery, tickRange } from '../query/query.ts'
import { instantOf, wholeSecond } from '../query/time.ts'
import type { TimeRange } from '../query/time-range.ts'
import { BucketCache } from './cache/bucket-cache.ts'
import { openChangePoller } from './cache/change-poller.ts'
import { type Coverage, clip, coveredRuns, gapSinceTip, gapsOf, isComplete } from './cache/coverage.ts'
import { gridOf, readCandles } from './candles/candles.ts'
import { NewestTicks } from './candles/newest-ticks.ts'
import { readTicks, type TickRequest } from './candles/ticks.ts'
import { EXPANDED_NETWORKS, findLead, findPool, inOrderOf, type NamedPair, trustedMatches } from './find/find.ts'
import type { PassedOver } from './find/lead.ts'
import { requireStored } from './find/stored.ts'
import { matchSymbol } from './find/symbol.ts'
import type { CandleView, PairView, TickView } from './model/orientation.ts'
import type { Tip } from './model/tip.ts'
import { openCatalogue } from './pools/catalogue.ts'
import { listedPools, type PairSummary, poolsOfToken, readPairs } from './pools/pairs.ts'
import { openPoolRows } from './pools/pool-rows.ts'
import { type MarketStore, type PoolState, readHeld, readPoolStates } from './pools/pool-state.ts'

export type MarketAnswer<Row> = {
  view: PairView
  /** The pool that would lead by volume alone, where that is another. */
  passedOver: PassedOver | undefined
  rows: readonly Row[]
  /** Credits. */
  cost: number
  /** True where nothing but a reorg can change the answer: the ledger is past the end of the range. */
  closed: boolean
  /** What of the range is not stored: `from ≤ time < to`, ascending. */
  incomplete: readonly TimeRange[]
}

export type PoolsAnswer = { rows: readonly PoolState[]; cost: number }
export type NetworkStatus = { network: Network; tip: Tip | undefined; halts: readonly Halt[] }

export type Market = {
  networks: readonly Network[]
  candles(query: CandleQuery): Promise<MarketAnswer<CandleView>>
  ticks(query: TickQuery): Promise<MarketAnswer<TickView>>
  pools(query: PoolQuery): Promise<PoolsAnswer>
  /** Of trusted tokens, with figures that are a minute old at most. */
  pairs(): Promise<readonly PairSummary[]>
  /** The pools of one token on all networks. */
  pairsOf(token: Address): Promise<readonly PairSummary[]>
  status(): Promise<readonly NetworkStatus[]>
  /** Something was written just now. */
  onFlush(written: WriteEvent): void
}

const DAY = 86_400
const WEEK = 7 * DAY
const MAX_POOLS = 100
const PAIRS_FRESH_MS = 60_000
const NOTHING: Coverage = { ledger: undefined, backfilled: [] }

export function openMarket(options: {
  /** Needs no more than to read. */
  reader: ClickHouseClient
  networks: readonly Network[]
  clock: () => Date
  /** How old may be what is not asked for anew: pools, the ledgers' tips, candles in memory. */
  freshMs?: number
  /** How often to look for what was written, where nobody says so. */
  everyMs?: number
  /** Of memory for candles at most: what the charts of a thousand pools ask for lately. */
  cacheBytes?: number
  report?: Report<ApiFact>
}): Market {
  const { reader, networks, clock, freshMs = 1_000, everyMs = 50, cacheBytes = 256 * 2 ** 20, report } = options
  const names = networks.map((network) => network.name)
  const catalogue = openCatalogue(reader, networks, freshMs)
  const onRead = (isHeld: boolean) => report?.({ kind: 'cache-read', isHeld, bytes: cache.bytes })
  const cache = new BucketCache(reader, cacheBytes, onRead)
  const rows = openPoolRows(reader, cache)
  const ticks = coalesced<readonly TickView[]>(freshMs)
  const newest = new NewestTicks((asked) => readTicks(reader, asked))
  const onChange = (network: NetworkName, pools?: Iterable<PoolId>) => {
    rows.evict(network, pools)
    newest.evict(network, pools)
  }
  const halted = cachedValue(() => readHalts(reader, names), freshMs)
  const watch = openChangePoller({ reader, networks: names, cache, freshMs, everyMs, onChange })

  /** What is held is as new as the standings, so these are read before. */
  async function present(asked: readonly NetworkName[] = EXPANDED_NETWORKS) {
    const [standings, known] = await Promise.all([watch.states(), catalogue.get()])
    requireStored(standings, asked)
    return { standings, store: { cache, rows, catalogue: known } }
  }

  const pairs = cachedValue(
    async () => {
      // An empty list says that nothing is stored.
      const { store } = await present([])
      return readPairs(store, listedPools(store.catalogue), wholeSecond(instantOf(clock())))
    },
    Math.min(60 * freshMs, PAIRS_FRESH_MS),
  )

  /** The pool that answers, and what finding it cost. */
  async function find(
    store: MarketStore,
    question: NamedMarket,
    range: TimeRange,
    end: UnixSeconds,
  ): Promise<FoundPool> {
    const scope = { networks: question.networks, range, day: { from: end - DAY, to: end } }
    const { symbol, pool } = question
    if (pool !== undefined) {
      const view = await findPool(store, pool, scope)
      return { view: symbol ? inOrderOf(store.catalogue, symbol, view) : view, probed: 0, passedOver: undefined }
    }
    if (symbol !== undefined) return findLead(store, symbol, scope)
    throw new Error('A question names a symbol or a pool: the query rules see to it.')
  }

  function closedTicks(asked: TickRequest): Promise<readonly TickView[]> {
    const { view, range, limit, price } = asked
    const { network, pool } = view.listing
    const key = `${network.name} ${pool.id} ${view.forward} ${range.from} ${range.to} ${limit} ${price}`
    return ticks(key, () => readTicks(reader, asked))
  }

  return {
    networks,
    async candles(query) {
      const now = instantOf(clock())
      const { interval, limit, fill, price } = query
      const range = candleRange(query, now)
      const grid = gridOf(range, interval)
      // The tip is read first: what it vouches for is in the tables by the time that they are read.
      const end = Math.min(range.to, wholeSecond(now))
      const { standings, store } = await present(query.networks)
      const { view, probed, passedOver } = await find(store, query, grid, end)
      const { network, pool, created } = view.listing
      const { tip, coverage: known = NOTHING } = standings.get(network.name) ?? {}
      const unknown = gapsOf(known, tip, pool, created)
      const covered = coveredRuns(known, pool)
      const asked = { view, interval, range, limit, fill, price, gaps: unknown, covered }
      const rows = await readCandles({ reader, cache }, asked, tip, now.seconds)
      const swaps = rows.reduce((sum, candle) => sum + candle.trades, 0)
      const cost = costOf({ probed, swaps, oldest: rows[0]?.time, end })
      const incomplete = clip([...unknown, ...gapSinceTip(tip, now.seconds, covered)], { from: range.from, to: end })
      return { view, passedOver, rows, cost, closed: isComplete(grid, tip, covered), incomplete }
    },
    async ticks(query) {
      const now = instantOf(clock())
      const range = tickRange(query, now)
      const end = Math.min(range.to, wholeSecond(now))
      const { standings, store } = await present(query.networks)
      const { view, probed, passedOver } = await find(store, query, range, end)
      const { network, pool, created } = view.listing
      const { tip, coverage: known = NOTHING } = standings.get(network.name) ?? {}
      const { limit, price } = query
      const covered = coveredRuns(known, pool)
      const closed = isComplete(range, tip, covered)
      const asked = { view, range, limit, price }
      const rows = await (closed ? closedTicks(asked) : newest.read(asked))
      const cost = costOf({ probed, swaps: rows.length, oldest: rows[0]?.time, end })
      const unknown = gapsOf(known, tip, pool, created)
      const incomplete = clip([...unknown, ...gapSinceTip(tip, now.seconds, covered)], { from: range.from, to: end })
      return { view, passedOver, rows, cost, closed, incomplete }
    },
    async pools({ symbol }) {
      const { store } = await present(names)
      const matches = await trustedMatches(store, matchSymbol(store.catalogue, symbol.splits, names))
      const listings = matches.map((match) => match.listing)
      const now = wholeSecond(instantOf(clock()))
      const [states, held] = await Promise.all([readPoolStates(store, listings), readHeld(store, listings, now)])
      const rows = states
        .map((state, index) => ({ state, heldUsd: held[index] ?? 0 }))
        .sort(byHeld)
        .slice(0, MAX_POOLS)
        .map(({ state }) => state)
      return { rows, cost: 1 + Math.floor(rows.length / 20) }
    },
    pairs: pairs.get,
    async pairsOf(token) {
      const { store } = await present([])
      return readPairs(store, poolsOfToken(store.catalogue, token), wholeSecond(instantOf(clock())))
    },
    async status() {
      const standings = await watch.states()
      const halts = await halted.get()
      return networks.map((network) => ({
        network,
        tip: standings.get(network.name)?.tip,
        halts: halts.filter((it) => it.network === network.name),
      }))
    },
    onFlush: watch.onFlush,
  }
}

/** The pool that answers, and over how many networks it was looked for. */
type FoundPool = { view: PairView; probed: number; passedOver: PassedOver | undefined }

type NamedMarket = {
  symbol?: NamedPair | undefined
  pool?: PoolId | undefined
  networks?: readonly NetworkName[] | undefined
}

/** What the question is sure to cost, whatever it finds. */
export function knownCost(question: NamedMarket): number {
  return 1 + (question.symbol === undefined || question.pool !== undefined ? 0 : (question.networks?.length ?? 1))
}

/** One credit, one for each network looked through for a symbol, one for each 1,000 swaps and for each week. */
function costOf(parts: { probed: number; swaps: number; oldest: number | undefined; end: number }): number {
  const { probed, swaps, oldest, end } = parts
  const weeks = oldest === undefined ? 0 : Math.max(0, Math.floor((end - oldest) / WEEK))
  return 1 + probed + Math.floor(swaps / 1_000) + weeks
}

type HeldState = { state: PoolState; heldUsd: number }

/** What a pool held over the day leads, so that what was put there for a moment does not. */
function byHeld(one: HeldState, other: HeldState): number {
  return other.heldUsd - one.heldUsd || byValue(one.state, other.state)
}

function byValue(one: PoolState, other: PoolState): number {
  if (one.valueUsd !== other.valueUsd) return other.valueUsd - one.valueUsd
  if (one.volumeUsd !== other.volumeUsd) return Number(other.volumeUsd) - Number(one.volumeUsd)
  return one.listing.pool.id < other.listing.pool.id ? -1 : 1
}
