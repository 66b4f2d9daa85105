/** Caches the keys that are in use: a key is read at its first use, and again after each change of its row. */
import type { ClickHouseClient } from '@clickhouse/client'
import { LRUCache } from 'lru-cache'
import { pieces } from '../../ingest/lib/pieces.ts'
import { cachedValue } from '../lib/cached-value.ts'
import { queryRows, readSql } from '../lib/store.ts'
import { MAX_BATCH, openKeyLookups } from './key-lookups.ts'
import { type KeyHash, type KeyRecord, keysByHash } from './keys.ts'

export type KeyCache = {
  /**
   * Undefined where the key is unknown or revoked. Keys that are not cached are read for one address after the other. Rejects with
   * `store_unavailable`, and with `overloaded` where too many wait.
   */
  find(hash: KeyHash, address: string): Promise<KeyRecord | undefined>
}

const CHANGED = readSql(new URL('./keys-changed.sql', import.meta.url))
/** Maximum age of the keys. */
const FRESH_MS = 1_000
/** ClickHouse accepts 128 kB in a parameter. */
const MAX_HASHES_PER_QUERY = 1_000
/** A change is visible at most so long after its timestamp; a later one is found after MAX_AGE_MS. */
const OVERLAP_MS = 10_000
/** A cached key that is older is read again at its next use. */
const MAX_AGE_MS = 60_000
const FORGET_MS = 3_600_000
/** A cached key takes about half a kilobyte. */
const MAX_CACHED = 10_000
/** Bounds the reads that unknown keys cause to 40 a second. */
const PAUSE_MS = 25
/** Keys that are cached already wait for no address. */
const ANY_ADDRESS = ''

type CachedKey = { record: KeyRecord; since: number }

export function openKeyCache(client: ClickHouseClient): KeyCache {
  const cached = new LRUCache<KeyHash, CachedKey>({ max: MAX_CACHED, ttl: FORGET_MS })
  let refreshedAt = performance.now()
  const changes = cachedValue(refreshChanged, FRESH_MS)
  // Separate, so that unknown keys delay no key that is in use.
  const again = openKeyLookups(read, 0)
  const first = openKeyLookups(read, PAUSE_MS)

  async function read(hashes: readonly KeyHash[]): Promise<ReadonlyMap<KeyHash, KeyRecord>> {
    const since = performance.now()
    const records = await Promise.all(pieces(hashes, MAX_HASHES_PER_QUERY).map((piece) => keysByHash(client, piece)))
    const valid = records.flat().filter(({ revoked }) => revoked === undefined)
    const found = new Map(valid.map((record) => [record.hash, record]))
    for (const hash of hashes) {
      const record = found.get(hash)
      if (record === undefined) cached.delete(hash)
      else cached.set(hash, { record, since })
    }
    return found
  }

  async function refreshChanged(): Promise<void> {
    const now = performance.now()
    cached.purgeStale()
    if (cached.size > 0) {
      const rows = await queryRows<{ hash: KeyHash }>(client, CHANGED, {
        ago_ms: Math.ceil(now - refreshedAt) + OVERLAP_MS,
      })
      const changed = rows.map(({ hash }) => hash).filter((hash) => cached.has(hash))
      for (const hashes of pieces(changed, MAX_BATCH)) await read(hashes)
    }
    refreshedAt = now
  }

  return {
    async find(hash, address) {
      await changes.get()
      const known = cached.get(hash)
      if (known === undefined) return first.find(hash, address)
      return performance.now() - known.since < MAX_AGE_MS ? known.record : again.find(hash, ANY_ADDRESS)
    },
  }
}
