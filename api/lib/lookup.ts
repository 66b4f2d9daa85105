/** A cache of values by key: read on demand, and kept until an eviction, a maximum age, or the LRU limit. */
import { isDeepStrictEqual } from 'node:util'
import { LRUCache } from 'lru-cache'
import { batched } from './batched.ts'

export type KeyedLookup<Key, Value> = {
  get(key: Key): Promise<Value>
  /** Evicts the value of a key if it `isOld`, always if that is absent. A pending read still answers its callers, and is not kept. */
  evict(key: Key, isOld?: (value: Value) => boolean): void
  /** Evicts all values that are old, and all pending reads. */
  evictAll(isOld?: (value: Value) => boolean): void
}

/** Bounds the age of a value after a missed eviction: a write may become visible very late. */
const MAX_AGE_MS = 600_000

/** `found`: none while the read is pending; `isStale`: asked for once more, it is read again. */
type Kept<Value> = { promise: Promise<Value>; found?: { value: Value }; isStale: boolean }

/** `load`: the values in the order of the keys, at most `maxKeys`. A value that is read again and is equal stays the same object. */
export function openLookup<Key, Value>(options: {
  load(keys: readonly Key[]): Promise<readonly Value[]>
  nameOf(key: Key): string
  maxKeys?: number
  maxValues: number
}): KeyedLookup<Key, Value> {
  const { nameOf, maxKeys, maxValues } = options
  const load = batched(options.load, maxKeys)
  const entries = new LRUCache<string, Kept<Value>>({ max: maxValues, ttl: MAX_AGE_MS })

  function read(key: Key, before: Kept<Value>['found']): Kept<Value> {
    const promise = load(key).then((value) => (before && isDeepStrictEqual(before.value, value) ? before.value : value))
    const entry: Kept<Value> = { promise, isStale: false }
    promise.then(
      (value) => {
        entry.found = { value }
      },
      () => {
        entry.isStale = true
      },
    )
    return entry
  }

  return {
    get(key) {
      const name = nameOf(key)
      const known = entries.get(name)
      if (known && !known.isStale) return known.promise
      const entry = read(key, known?.found)
      entries.set(name, entry)
      return entry.promise
    },
    evict(key, isOld) {
      const entry = entries.peek(nameOf(key))
      if (entry) markStale(entry, isOld)
    },
    evictAll(isOld) {
      for (const entry of entries.values()) markStale(entry, isOld)
    },
  }
}

function markStale<Value>(entry: Kept<Value>, isOld: (value: Value) => boolean = () => true): void {
  if (!entry.found || isOld(entry.found.value)) entry.isStale = true
}
