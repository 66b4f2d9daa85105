/** Keeps tips and cached candles as new as the tables: applies the flushes of this process, polls for all other writes. See ../README.md. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { WriteEvent } from '../../../aggregator/candles/changes.ts'
import { serial } from '../../../ingest/lib/serial.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import { cachedValue } from '../../lib/cached-value.ts'
import { readTips, type Tip } from '../model/tip.ts'
import type { BucketCache } from './bucket-cache.ts'
import { type CacheRefresh, openCacheRefresh } from './cache-refresh.ts'
import { openChangeCounter } from './change-counter.ts'
import { type ChangeLog, endsRollback, type OnChange, openChangeLog, readChanges } from './change-log.ts'
import { type NetworkState, openCoverages } from './coverage.ts'
import { type OwnFlushes, openOwnFlushes } from './own-flushes.ts'
import { openStateListeners, type StateListener } from './state-listeners.ts'

/** Polls continue for so long after the last query. */
const ACTIVE_MS = 2_000
/** Rows of `changes` live for an hour: after so long without a poll the whole cache is evicted. */
const MAX_UNPOLLED_MS = 10 * 60_000
/** While own flushes keep the tips fresh, other writes are polled for at least this often. */
const MAX_FLUSHING_MS = 10_000

/**
 * Shares of `freshMs`: older states are polled for, and are not shown. The rest of it is the time of a read that is under way, which later queries
 * share.
 */
const POLLED_SHARE = 1 / 3
const SHOWN_SHARE = 1 / 2

/** As long as a change waits for its block. */
const MAX_FALLEN_MS = 60_000

/** With a rollback between each tips and changes, one poll reads both so many times. */
const MAX_READS = 4

export type NetworkStates = ReadonlyMap<NetworkName, NetworkState>

export type ChangePoller = {
  /** At most half of `freshMs` old. Cached candles are at least as new as these tips. Rejects where the store does not answer. */
  states(): Promise<NetworkStates>
  /** This process has written, or has failed to. */
  onFlush(written: WriteEvent): void
  /** Polls as long as there is a listener. Returns a function that removes it. */
  listen(listener: StateListener): () => void
}

export type PollerOptions = {
  reader: ClickHouseClient
  networks: readonly NetworkName[]
  cache: BucketCache
  freshMs: number
  pollMs: number
  onChange: OnChange
}

export function openChangePoller(options: PollerOptions): ChangePoller {
  const { reader, networks, cache, freshMs, pollMs } = options
  const listeners = openStateListeners()
  const onChange = listeners.noting(options.onChange)
  const { states, setState, setTip } = openStates(onChange, listeners.notify)
  const refresh = openCacheRefresh(reader, cache)
  const logs = openLogs(networks, { cache, refresh, onChange })
  const counter = openChangeCounter(reader)
  const serialize = serial()
  const flushes = openOwnFlushes({ cache, refresh, onChange, serialize, setTip, onRecorded: counter.add })
  const coverages = openCoverages(reader, networks, states, freshMs / 2)
  const polled = cachedValue(poll, freshMs)
  const age = stateAge(networks, flushes, freshMs)
  const fallen = openFallenTips(onChange)

  async function poll(): Promise<NetworkStates> {
    const began = performance.now()
    const isFirst = age.isUnpolled(began)
    if (isFirst) evictWhole(cache, logs, onChange)
    const [newCoverages, writes] = await Promise.all([coverages.get(), readWrites(options, states, logs)])
    const { tips, changes, late } = writes
    for (const { network, rows } of changes) if (isFirst || rows.some(endsRollback)) fallen.end(network)
    await serialize(async () => {
      await Promise.all(changes.map(({ network, log, rows }) => log.apply(rows, tips.get(network))))
      for (const [network, coverage] of newCoverages) {
        const isNewer = flushes.isAhead(network) || (flushes.appliedMs(network) ?? 0) > began
        const own = isNewer ? states.get(network) : undefined
        const tip = own ? own.tip : fallen.shown(network, states.get(network)?.tip, tips.get(network))
        setState(network, { tip, coverage })
      }
      late.forEach(fallen.end)
      age.polled(began)
      networks.forEach(listeners.notify)
    })
    return states
  }

  async function onFlush({ network, flushed }: WriteEvent): Promise<void> {
    // The second notification of a flush completes the first one, also while no query arrives.
    if (!activity.isActive() && !flushes.isAhead(network)) return age.missed(network)
    if (flushed && (age.isFollowed(network) || flushes.isAhead(network, flushed.sequence))) {
      logs.get(network)?.skip(flushed.sequence)
      return flushes.apply({ network, flushed })
    }
    // The poll reads it. A flush on top of it is applied only once that poll has ended.
    age.missed(network)
    // After the flushes before it, so that the poll reads their rows.
    await serialize(async () => undefined)
    await polled.reload()
  }

  /** A poll before a query has to wait for one, or where the count of changes shows another process's write. */
  async function probe(): Promise<void> {
    const isDue = !age.isFresh(POLLED_SHARE) || [...logs.values()].some((log) => log.hasPending())
    if (isDue || (await counter.hasNew(age.isFlushing()))) await polled.reload()
  }

  const activity = whileActive(pollMs, probe, () => !listeners.isEmpty())
  return {
    states() {
      activity.touch()
      return age.isFresh(SHOWN_SHARE) ? Promise.resolve(states) : polled.get()
    },
    onFlush: (written) => void onFlush(written).catch(() => undefined),
    listen(listener) {
      activity.touch()
      return listeners.add(listener)
    },
  }
}

/**
 * The ledger shrinks first in a rollback, and its change comes last: in between a lower tip would stand beside candles of the branch that is
 * being taken back. The tip of before is shown until then, or until a writer that died has been waited for. Ticks go in the meantime: kept
 * rows would be shown again after an answer without them, so that `onChange` is called each time.
 */
function openFallenTips(onChange: OnChange) {
  const since = new Map<NetworkName, number>()
  const ended = new Set<NetworkName>()
  return {
    /** The changes that were read end a rollback. Call it before any statement that can fail: the next poll does not read them again. */
    end: (network: NetworkName) => void ended.add(network),
    shown(network: NetworkName, before: Tip | undefined, read: Tip | undefined): Tip | undefined {
      const isLower = before !== undefined && (read?.number ?? -1) < before.number
      const fellAt = since.get(network) ?? performance.now()
      if (!isLower || ended.has(network) || performance.now() - fellAt > MAX_FALLEN_MS) {
        since.delete(network)
        ended.delete(network)
        return read
      }
      since.set(network, fellAt)
      onChange(network)
      return before
    },
  }
}

/**
 * Tips before changes: every block up to a tip has its change in the table by then. A rollback that ends between the two may have taken the tips
 * back, so both are read again. `late`: networks of which the last reads had one between them, too: the next poll reads the tips that it has left, and
 * not its change.
 */
async function readWrites(
  { reader, networks }: Pick<PollerOptions, 'reader' | 'networks'>,
  states: NetworkStates,
  logs: ReadonlyMap<NetworkName, ChangeLog>,
) {
  let known = new Map<NetworkName, number>()
  for (let reads = 1; ; reads++) {
    const tips = await readTips(reader, networks, states)
    const changes = await readChanges(reader, logs)
    const ends = new Map(changes.map(({ network, rows }) => [network, rows.filter(endsRollback).length]))
    const late = networks.filter((network) => (ends.get(network) ?? 0) > (known.get(network) ?? 0))
    if (late.length === 0 || reads === MAX_READS) return { tips, changes, late }
    known = ends
  }
}

function openLogs(
  networks: readonly NetworkName[],
  options: { cache: BucketCache; refresh: CacheRefresh; onChange: OnChange },
): ReadonlyMap<NetworkName, ChangeLog> {
  return new Map(networks.map((network) => [network, openChangeLog({ network, ...options })]))
}

function evictWhole(cache: BucketCache, logs: ReadonlyMap<NetworkName, ChangeLog>, onChange: OnChange): void {
  cache.evictAll()
  for (const [network, log] of logs) {
    onChange(network)
    log.reset()
  }
}

/** The age of the states, from the newest poll and the flushes of this process since then. All times are of `performance.now`. */
function stateAge(networks: readonly NetworkName[], flushes: Pick<OwnFlushes, 'appliedMs'>, freshMs: number) {
  let polledMs = Number.NEGATIVE_INFINITY
  const missedMs = new Map<NetworkName, number>()
  const isUnpolled = (now: number) => now - polledMs > MAX_UNPOLLED_MS
  return {
    polled(began: number): void {
      polledMs = began
      for (const [network, at] of missedMs) if (at <= began) missedMs.delete(network)
    },
    /** A write of this process is not applied: a rollback or an overwrite, a flush on top of one, or any while no query comes. A poll that begins later reads it. */
    missed: (network: NetworkName) => void missedMs.set(network, performance.now()),
    isUnpolled,
    /** A write may be applied as it is: all writes before it are. */
    isFollowed: (network: NetworkName) => !isUnpolled(performance.now()) && !missedMs.has(network),
    /** Every state is younger than this share of its maximum age. */
    isFresh(share: number): boolean {
      const now = performance.now()
      const ageOf = (network: NetworkName) => now - Math.max(polledMs, flushes.appliedMs(network) ?? polledMs)
      return now - polledMs < share * MAX_FLUSHING_MS && networks.every((network) => ageOf(network) < share * freshMs)
    },
    isFlushing(): boolean {
      const since = performance.now() - MAX_FLUSHING_MS
      return networks.some((network) => (flushes.appliedMs(network) ?? Number.NEGATIVE_INFINITY) > since)
    },
  }
}

function openStates(onChange: OnChange, onShown: (network: NetworkName) => void) {
  const states = new Map<NetworkName, NetworkState>()
  function setState(network: NetworkName, state: NetworkState): void {
    // A rollback: rows of the abandoned blocks are evicted before the lower tip is shown.
    if ((state.tip?.number ?? 0) < (states.get(network)?.tip?.number ?? 0)) onChange(network)
    states.set(network, state)
  }
  function setTip(network: NetworkName, tip: NetworkState['tip']): boolean {
    const coverage = states.get(network)?.coverage
    if (!coverage) return false
    setState(network, { tip, coverage })
    onShown(network)
    return true
  }
  return { states, setState, setTip }
}

/** Runs `work` every so often until no query has come for ACTIVE_MS and nothing keeps it up. */
function whileActive(everyMs: number, work: () => Promise<void>, isKept: () => boolean) {
  let touchedMs = Number.NEGATIVE_INFINITY
  let timer: NodeJS.Timeout | undefined
  const isActive = () => isKept() || performance.now() - touchedMs < ACTIVE_MS

  function schedule(): void {
    if (timer) return
    timer = setTimeout(async () => {
      // The next query repeats a failed poll, and rejects with its error.
      await work().catch(() => undefined)
      timer = undefined
      if (isActive()) schedule()
    }, everyMs).unref()
  }

  return {
    isActive,
    touch() {
      touchedMs = performance.now()
      schedule()
    },
  }
}
