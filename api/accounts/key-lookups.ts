/** Reads keys in batches, one at a time, the addresses in turn: a flood of unknown keys delays a good one by some batches. */
import { setTimeout as sleep } from 'node:timers/promises'
import { overloaded } from '../lib/concurrency-limit.ts'
import type { KeyHash, KeyRecord } from './keys.ts'

export type KeyLookups = {
  /**
   * Undefined for a key that is not stored. Its read starts after this call. Rejects with `overloaded` where too many keys wait and this
   * address has at least its fair share of them.
   */
  find(hash: KeyHash, address: string): Promise<KeyRecord | undefined>
}

/** The valid keys among the hashes. */
export type ReadKeys = (hashes: readonly KeyHash[]) => Promise<ReadonlyMap<KeyHash, KeyRecord>>

type Lookup = { hash: KeyHash; result: Promise<KeyRecord | undefined>; settle(reading: ReturnType<ReadKeys>): void }
/** `next` yields the waiting lookups in the order of their arrival. */
type Turn = { lookups: Map<KeyHash, Lookup>; next: Iterator<Lookup> }

/** Keys of one read. */
export const MAX_BATCH = 4_000
/** Each takes about half a kilobyte. */
const MAX_WAITING = 20_000

/** `pauseMs`: between the end of a read and the next one. */
export function openKeyLookups(read: ReadKeys, pauseMs: number): KeyLookups {
  /** By address, the next one first. */
  const turns = new Map<string, Turn>()
  let waiting = 0
  let isReading = false

  function nextBatch(): Lookup[] {
    const batch: Lookup[] = []
    // An address that has more is added again, and thus visited after all others.
    for (const [address, turn] of turns) {
      if (batch.length === MAX_BATCH) break
      const lookup: Lookup = turn.next.next().value
      batch.push(lookup)
      turn.lookups.delete(lookup.hash)
      turns.delete(address)
      if (turn.lookups.size > 0) turns.set(address, turn)
    }
    waiting -= batch.length
    return batch
  }

  async function readWaiting(): Promise<void> {
    isReading = true
    while (waiting > 0) {
      const batch = nextBatch()
      const reading = read([...new Set(batch.map(({ hash }) => hash))])
      for (const lookup of batch) lookup.settle(reading)
      await reading.catch(() => undefined)
      await sleep(pauseMs, undefined, { ref: false })
    }
    isReading = false
  }

  return {
    async find(hash, address) {
      const turn = turns.get(address) ?? newTurn()
      const known = turn.lookups.get(hash)
      if (known !== undefined) return known.result
      const fairShare = MAX_WAITING / (turns.size + 1)
      if (waiting >= 2 * MAX_WAITING || (waiting >= MAX_WAITING && turn.lookups.size >= fairShare)) throw overloaded()
      const lookup = newLookup(hash)
      turn.lookups.set(hash, lookup)
      turns.set(address, turn)
      waiting += 1
      if (!isReading) void readWaiting()
      return lookup.result
    },
  }
}

function newTurn(): Turn {
  const lookups = new Map<KeyHash, Lookup>()
  return { lookups, next: lookups.values() }
}

function newLookup(hash: KeyHash): Lookup {
  let settle: Lookup['settle'] = () => undefined
  const result = new Promise<KeyRecord | undefined>((resolve) => {
    settle = (reading) => resolve(reading.then((found) => found.get(hash)))
  })
  return { hash, result, settle }
}
