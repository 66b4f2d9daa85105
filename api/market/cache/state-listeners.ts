/** Notifies listeners once queries see a network's new state, with the pools that changed since the last notification. */
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import type { OnChange } from './change-log.ts'

export type ChangedPools = ReadonlySet<PoolId> | 'all'

/** Called after each poll and each flush of this process, with an empty set where nothing changed. */
export type StateListener = (network: NetworkName, changed: ChangedPools) => void

export function openStateListeners() {
  const listeners = new Set<StateListener>()
  const changed = new Map<NetworkName, Set<PoolId> | 'all'>()
  return {
    isEmpty: () => listeners.size === 0,
    add(listener: StateListener): () => void {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    /** Calls `onChange`, and keeps the pools until the state is shown. */
    noting(onChange: OnChange): OnChange {
      return (network, pools) => {
        onChange(network, pools)
        if (listeners.size === 0) return
        const known = changed.get(network) ?? new Set()
        if (pools !== undefined && known !== 'all') for (const pool of pools) known.add(pool)
        changed.set(network, pools === undefined ? 'all' : known)
      }
    },
    notify(network: NetworkName): void {
      const pools = changed.get(network) ?? new Set()
      changed.delete(network)
      for (const listener of listeners) listener(network, pools)
    },
  }
}
