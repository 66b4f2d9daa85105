/** Networks of which nothing is stored yet: that no token or pool of them is known says nothing of the chain. */
import type { NetworkName } from '../../../ingest/model/network.ts'
import { Problem } from '../../lib/problem.ts'
import type { NetworkState } from '../cache/coverage.ts'

const RETRY_SECONDS = 10

/** Throws where none of the networks that are asked and read has anything stored. `standings` are those of all networks that are read. */
export function requireStored(standings: ReadonlyMap<NetworkName, NetworkState>, asked: readonly NetworkName[]): void {
  const read = asked.flatMap((name) => {
    const standing = standings.get(name)
    return standing ? [{ name, standing }] : []
  })
  if (read.length === 0 || read.some(({ standing }) => isStored(standing))) return
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
