/** A cache of values by key: read on demand, and kept until an eviction, a maximum age, or the LRU limit. */
import { isDeepStrictEqual } from 'node:util'
import { LRUCache } from 'lru-cache'
import { batched } from './batched.ts'

export type KeyedLookup<Key, Value> = {
  get(key: Key): Promise<Value>
  /** Evicts the value of a name if it `isOld`, always if that is absent. A pending read still answers its callers, and is not kept. */
  evict(name: string, isOld?: (value: Value) => boolean): void
  /** Evicts all values that are old, and all pending reads. */
  evictAll(isOld?: (value: Value) => boolean): void
}

/** Bounds the age of a value after a missed eviction: a write may become visible very late. */
const MAX_AGE_MS = 600_000

/** `found`: none while the read is pending; `isStale`: asked for once more, it is read again. */
type Kept<Key, Value> = { key: Key; promise: Promise<Value>; found?: { value: Value }; isStale: boolean }

/**
 * `load`: the values in the order of the keys, at most `maxKeys`. A value that is read again and is equal stays the same object. `isSame`: whether
 * the value of one key answers for another of its name; by default it does.
 */
export function openLookup<Key, Value>(options: {
  load(keys: readonly Key[]): Promise<readonly Value[]>
  nameOf(key: Key): string
  isSame?(one: Key, other: Key): boolean
  maxKeys?: number
  maxValues: number
}): KeyedLookup<Key, Value> {
  const { nameOf, isSame = () => true, maxKeys, maxValues } = options
  const load = batched(options.load, maxKeys)
  const entries = new LRUCache<string, Kept<Key, Value>>({ max: maxValues, ttl: MAX_AGE_MS })

  function read(key: Key, before: Kept<Key, Value>['found']): Kept<Key, Value> {
    const promise = load(key).then((value) => (before && isDeepStrictEqual(before.value, value) ? before.value : value))
    const entry: Kept<Key, Value> = { key, promise, isStale: false }
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
      if (known && !known.isStale && isSame(known.key, key)) return known.promise
      const entry = read(key, known?.found)
      entries.set(name, entry)
      return entry.promise
    },
    evict(name, isOld) {
      const entry = entries.peek(name)
      if (entry) markStale(entry, isOld)
    },
    evictAll(isOld) {
      for (const entry of entries.values()) markStale(entry, isOld)
    },
  }
}

function markStale<Key, Value>(entry: Kept<Key, Value>, isOld: (value: Value) => boolean = () => true): void {
  if (!entry.found || isOld(entry.found.value)) entry.isStale = true
}
