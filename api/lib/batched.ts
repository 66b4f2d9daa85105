/** Loads by key, in batches: the keys of one turn of the event loop. */
import DataLoader from 'dataloader'
import { MAX_POOLS_PER_QUERY } from './store.ts'

/** Concurrent statements of one kind. */
const MAX_QUERIES = 2

/** `load`: the values in the order of the keys. Keys that are asked for while MAX_QUERIES statements run share the next one. */
export function batched<Key, Value>(
  load: (keys: readonly Key[]) => Promise<readonly Value[]>,
  maxKeys = MAX_POOLS_PER_QUERY,
): (key: Key) => Promise<Value> {
  const waiting: (() => void)[] = []
  let running = 0
  const sendNext = () => {
    if (running < MAX_QUERIES) waiting.shift()?.()
  }
  const send = async (keys: readonly Key[]) => {
    running++
    try {
      return await load(keys)
    } finally {
      running--
      sendNext()
    }
  }
  const loader = new DataLoader<Key, Value>(send, {
    cache: false,
    maxBatchSize: maxKeys,
    batchScheduleFn(dispatch) {
      waiting.push(dispatch)
      // All pools of a pair are requested within one turn of the event loop.
      setImmediate(sendNext)
    },
  })
  return (key) => loader.load(key)
}
