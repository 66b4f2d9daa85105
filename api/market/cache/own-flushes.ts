/** Writes of this process's aggregator: their candles are put into the cache as they are written, without a query. */
import type { FlushEvent, WriteEvent } from '../../../aggregator/candles/changes.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import { listingKey } from '../model/listing.ts'
import type { Tip } from '../model/tip.ts'
import type { BucketCache } from './bucket-cache.ts'
import type { CacheRefresh } from './cache-refresh.ts'
import type { OnChange } from './change-log.ts'

/** `sequence`: the position of the write in `changes`. */
type FlushNotice = WriteEvent & { flushed: FlushEvent }

export type OwnFlushes = {
  /** Called in the order of the notifications; `work` runs after that of all earlier ones. */
  apply(notice: FlushNotice): Promise<void>
  /**
   * True from the first notification of a flush, of this one where `sequence` is given, until its ledger row is recorded: the tip in memory is
   * newer than the stored one.
   */
  isAhead(network: NetworkName, sequence?: bigint): boolean
  /** When the newest flush was applied, on the clock of `performance.now`. */
  appliedMs(network: NetworkName): number | undefined
}

export function openOwnFlushes(options: {
  cache: BucketCache
  refresh: CacheRefresh
  onChange: OnChange
  /** Runs one piece of work at a time, shared with the polls. */
  serialize<Result>(work: () => Promise<Result>): Promise<Result>
  /** Returns false while the network has no state yet. */
  setTip(network: NetworkName, tip: Tip | undefined): boolean
  /** So many rows of `changes` are recorded and applied. */
  onRecorded(rows: number): void
}): OwnFlushes {
  const { cache, refresh, onChange, serialize, setTip, onRecorded } = options
  const applied = new Map<NetworkName, bigint>()
  const ahead = new Map<NetworkName, bigint>()
  const appliedMs = new Map<NetworkName, number>()

  async function put(network: NetworkName, flushed: FlushEvent): Promise<void> {
    const { tip, touched, buckets, sequence, version } = flushed
    const now = performance.now()
    const cached = touched.filter(({ pool }) => cache.has(listingKey(network, pool)))
    for (const { pool } of cached) cache.markStale(listingKey(network, pool))
    if (buckets) refresh.put(network, buckets)
    else await refresh.readChanged(network, new Map(cached.map((change) => [change.pool, { ...change, version }])))
    onChange(
      network,
      touched.map(({ pool }) => pool),
    )
    applied.set(network, sequence)
    if (setTip(network, tip)) appliedMs.set(network, now)
  }

  return {
    async apply({ network, flushed }) {
      const { sequence, isRecorded, touched, balances } = flushed
      ahead.set(network, sequence)
      await serialize(async () => {
        try {
          if ((applied.get(network) ?? 0n) < sequence) await put(network, flushed)
        } catch (error) {
          // The change log skips this sequence, so that no poll would repair the cache.
          cache.evictAll()
          onChange(network)
          throw error
        } finally {
          if (isRecorded && ahead.get(network) === sequence) ahead.delete(network)
        }
        if (!isRecorded) return
        appliedMs.set(network, performance.now())
        onRecorded(touched.length)
        // Balances are valid from the recorded block on.
        if (balances.length > 0) onChange(network, balances)
      })
    },
    isAhead: (network, sequence = ahead.get(network)) => ahead.has(network) && ahead.get(network) === sequence,
    appliedMs: (network) => appliedMs.get(network),
  }
}
