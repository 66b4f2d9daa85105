/** Caches the keys that are in use: a key is read at its first use, and again after each change of its row. */
import type { ClickHouseClient } from '@clickhouse/client'
import DataLoader from 'dataloader'
import { pieces } from '../../ingest/lib/pieces.ts'
import { cachedValue } from '../lib/cached-value.ts'
import { queryRows, readSql } from '../lib/store.ts'
import { type KeyHash, type KeyRecord, keysByHash } from './keys.ts'

export type KeyCache = {
  /** Undefined where the key is unknown or revoked. `eager`: a key that is not cached is read at once, else in a batch within a second. */
  find(hash: KeyHash, eager: boolean): Promise<KeyRecord | undefined>
}

const CHANGED = readSql(new URL('./keys-changed.sql', import.meta.url))
const MAX_HASHES_PER_QUERY = 1_000
/** A change is visible at most so long after its timestamp; a later one is found after MAX_AGE_MS. */
const OVERLAP_MS = 10_000
const MAX_AGE_MS = 60_000
/** Addresses with too many failures share one read of keys in this time. */
const DEFERRED_MS = 1_000
const MAX_DEFERRED = 1_000

type CachedKey = { record: KeyRecord; since: number }

export function openKeyCache(client: ClickHouseClient, freshMs: number): KeyCache {
  /** In the order of their reads. */
  const held = new Map<KeyHash, CachedKey>()
  let refreshedAt = performance.now()
  let deferredCount = 0
  let lastRead: Promise<unknown> = Promise.resolve()
  const changes = cachedValue(refreshChanged, freshMs)
  // One statement at a time: keys that are requested meanwhile share the next one.
  const immediate = new DataLoader(read, {
    cache: false,
    maxBatchSize: MAX_HASHES_PER_QUERY,
    batchScheduleFn: (send) => void lastRead.then(send),
  })
  const deferred = new DataLoader(read, {
    cache: false,
    maxBatchSize: MAX_HASHES_PER_QUERY,
    batchScheduleFn: (send) => void setTimeout(send, DEFERRED_MS),
  })

  async function read(hashes: readonly KeyHash[]): Promise<(KeyRecord | undefined)[]> {
    const since = performance.now()
    const reading = keysByHash(client, [...new Set(hashes)])
    lastRead = reading.catch(() => undefined)
    const good = (await reading).filter(({ revoked }) => revoked === undefined)
    const found = new Map(good.map((record) => [record.hash, record]))
    for (const hash of hashes) {
      held.delete(hash)
      const record = found.get(hash)
      if (record !== undefined) held.set(hash, { record, since })
    }
    return hashes.map((hash) => found.get(hash))
  }

  async function refreshChanged(): Promise<void> {
    const now = performance.now()
    for (const [hash, { since }] of held) {
      if (now - since < MAX_AGE_MS) break
      held.delete(hash)
    }
    if (held.size > 0) {
      const rows = await queryRows<{ hash: KeyHash }>(client, CHANGED, {
        ago_ms: Math.ceil(now - refreshedAt) + OVERLAP_MS,
      })
      const changed = rows.map(({ hash }) => hash).filter((hash) => held.has(hash))
      for (const hashes of pieces(changed, MAX_HASHES_PER_QUERY)) await read(hashes)
    }
    refreshedAt = now
  }

  return {
    async find(hash, eager) {
      await changes.get()
      const known = held.get(hash)
      if (known !== undefined && performance.now() - known.since < MAX_AGE_MS) return known.record
      if (eager) return immediate.load(hash)
      if (deferredCount >= MAX_DEFERRED) return undefined
      deferredCount += 1
      return deferred.load(hash).finally(() => {
        deferredCount -= 1
      })
    },
  }
}
