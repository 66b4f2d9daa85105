/** The keys that are in use, as new as the tables: a key is read when it is first used, and then again when it was changed. */
import type { ClickHouseClient } from '@clickhouse/client'
import DataLoader from 'dataloader'
import { refreshed } from '../lib/cached-value.ts'
import { chunksOf } from '../lib/group.ts'
import { ask, readSql } from '../lib/store.ts'
import { type KeyHash, type KeyRecord, keysByHash } from './keys.ts'

export type KeyRing = {
  /** `eager`: a key that is not held is read at once, else together with others within a second. Undefined where it is unknown or revoked. */
  find(hash: KeyHash, eager: boolean): Promise<KeyRecord | undefined>
}

const CHANGED = readSql(new URL('./keys-changed.sql', import.meta.url))
const HASHES_PER_QUESTION = 1_000
/** A change is stored at most so long after the time that it bears; what took longer is found by HELD_MS. */
const OVERLAP_MS = 10_000
/** A key is read again at the latest after this time, if it is used. */
const HELD_MS = 60_000
/** Keys of addresses that failed too often are read this rarely, and so many at once. */
const PATIENT_MS = 1_000
const MAX_PATIENT = 1_000

type Held = { record: KeyRecord; since: number }

export function openKeyRing(client: ClickHouseClient, freshMs: number): KeyRing {
  /** In the order in which they were read. */
  const held = new Map<KeyHash, Held>()
  let lookedAt = performance.now()
  let patient = 0
  let lastRead: Promise<unknown> = Promise.resolve()
  const changes = refreshed(look, freshMs)
  // One statement at a time: what is asked for meanwhile goes out together.
  const eagerly = new DataLoader(read, {
    cache: false,
    maxBatchSize: HASHES_PER_QUESTION,
    batchScheduleFn: (send) => void lastRead.then(send),
  })
  const patiently = new DataLoader(read, {
    cache: false,
    maxBatchSize: HASHES_PER_QUESTION,
    batchScheduleFn: (send) => void setTimeout(send, PATIENT_MS),
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

  async function look(): Promise<void> {
    const now = performance.now()
    for (const [hash, { since }] of held) {
      if (now - since < HELD_MS) break
      held.delete(hash)
    }
    if (held.size > 0) {
      const rows = await ask<{ hash: KeyHash }>(client, CHANGED, { ago_ms: Math.ceil(now - lookedAt) + OVERLAP_MS })
      const changed = rows.map(({ hash }) => hash).filter((hash) => held.has(hash))
      for (const hashes of chunksOf(changed, HASHES_PER_QUESTION)) await read(hashes)
    }
    lookedAt = now
  }

  return {
    async find(hash, eager) {
      await changes.get()
      const known = held.get(hash)
      if (known !== undefined && performance.now() - known.since < HELD_MS) return known.record
      if (eager) return eagerly.load(hash)
      if (patient >= MAX_PATIENT) return undefined
      patient += 1
      return patiently.load(hash).finally(() => {
        patient -= 1
      })
    },
  }
}
