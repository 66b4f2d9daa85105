/** The keys that are in use, as new as the tables: a key is read when it is first used, and then again when it was changed. */
import type { ClickHouseClient } from '@clickhouse/client'
import DataLoader from 'dataloader'
import { cachedValue } from '../lib/cached-value.ts'
import { chunksOf } from '../lib/group.ts'
import { queryRows, readSql } from '../lib/store.ts'
import { type KeyHash, type KeyRecord, keysByHash } from './keys.ts'

export type KeyCache = {
  /** `eager`: a key that is not held is read at once, else together with others within a second. Undefined where it is unknown or revoked. */
  find(hash: KeyHash, eager: boolean): Promise<KeyRecord | undefined>
}

const CHANGED = readSql(new URL('./keys-changed.sql', import.meta.url))
const HASHES_PER_QUESTION = 1_000
/** A change is stored at most so long after the time that it bears; what took longer is found by HELD_MS. */
const OVERLAP_MS = 10_000
/** A key is read again at the latest after this time, if it is used. */
const MAX_AGE_MS = 60_000
/** Keys of addresses that failed too often are read this rarely, and so many at once. */
const DEFERRED_MS = 1_000
const MAX_DEFERRED = 1_000

type CachedKey = { record: KeyRecord; since: number }

export function openKeyCache(client: ClickHouseClient, freshMs: number): KeyCache {
  /** In the order in which they were read. */
  const held = new Map<KeyHash, CachedKey>()
  let refreshedAt = performance.now()
  let deferredCount = 0
  let lastRead: Promise<unknown> = Promise.resolve()
  const changes = cachedValue(refreshChanged, freshMs)
  // One statement at a time: what is asked for meanwhile goes out together.
  const immediate = new DataLoader(read, {
    cache: false,
    maxBatchSize: HASHES_PER_QUESTION,
    batchScheduleFn: (send) => void lastRead.then(send),
  })
  const deferred = new DataLoader(read, {
    cache: false,
    maxBatchSize: HASHES_PER_QUESTION,
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
      for (const hashes of chunksOf(changed, HASHES_PER_QUESTION)) await read(hashes)
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
