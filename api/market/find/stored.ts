/** Refuses queries to networks without stored blocks: an unknown token or pool would say nothing about the chain. */
import type { NetworkName } from '../../../ingest/model/network.ts'
import { Problem } from '../../lib/problem.ts'
import type { NetworkState } from '../cache/coverage.ts'

const RETRY_SECONDS = 10

/** Throws `nothing_stored` where none of the `asked` networks that this service reads has anything stored. */
export function requireStored(states: ReadonlyMap<NetworkName, NetworkState>, asked: readonly NetworkName[]): void {
  const read = asked.flatMap((name) => {
    const state = states.get(name)
    return state ? [{ name, state }] : []
  })
  if (read.length === 0 || read.some(({ state }) => isStored(state))) return
  const names = read.map(({ name }) => name).join(', ')
  throw new Problem(
    'nothing_stored',
    `Nothing is stored of ${names} yet, so that no pool or token of it is known. /v0/health says how far each network is.`,
    { headers: { 'Retry-After': String(RETRY_SECONDS) } },
  )
}

function isStored({ tip, coverage: known }: NetworkState): boolean {
  return tip !== undefined || known.backfilled.length > 0
}
