/** Planted faults: what the judge of the readers has to find before its silence means anything. */
import { type Copy, copySources, type PlantedFault } from '../mutants/plant.ts'
import type { FaultName } from './faults.ts'

export type ReaderMutant = PlantedFault & { faults: readonly FaultName[] }

const FORKS: readonly FaultName[] = [
  'fork of a few blocks',
  'fork of up to 64 blocks',
  'back to a branch that was left',
]

/** Five of how the caches of the API follow the tables, two of the ledger. */
export const READER_MUTANTS: readonly ReaderMutant[] = [
  {
    name: 'cache: a candle that lost its trades stays in its chunk',
    file: 'api/market/cache/cache-refresh.ts',
    from: 'groupRows(bytes, { untraded: true })',
    to: 'groupRows(bytes, { untraded: false })',
    faults: FORKS,
  },
  {
    name: 'cache: only the chunks of seconds and minutes are refreshed',
    file: 'api/market/cache/cache-refresh.ts',
    from: 'for (const resolution of resolutions) {',
    to: 'for (const resolution of resolutions.filter((it) => it < 3_600)) {',
    faults: FORKS,
  },
  {
    name: 'cache: rows of a closed range are kept whatever happens to its chunks',
    file: 'api/market/candles/closed-rows.ts',
    from: 'if (known && (await known.reads.isCurrent())) {',
    to: 'if (known) {',
    faults: FORKS,
  },
  {
    name: 'cache: prices and positions of pools are not evicted',
    file: 'api/market/sources.ts',
    from: 'rows.evict(network, changed)',
    to: 'void rows',
    faults: FORKS,
  },
  {
    name: 'cache: the newest ticks are not evicted',
    file: 'api/market/sources.ts',
    from: 'newestTicks.evict(network, changed)',
    to: 'void newestTicks',
    faults: FORKS,
  },
  {
    name: 'ledger: a rollback leaves the ticks of the first block that it takes back',
    file: 'aggregator/ledger/rollback.ts',
    from: 'first: to.number + 1,',
    to: 'first: to.number + 2,',
    faults: FORKS,
  },
  {
    name: 'ledger: a rollback does not recompute candles',
    file: 'aggregator/ledger/rollback.ts',
    from: 'await recompute(client, network, scopeOf(pools), recomputeContext)',
    to: 'void [recompute, scopeOf]',
    faults: FORKS,
  },
]

/** A copy of the sources with the fault in it. */
export async function plant(mutant: ReaderMutant): Promise<Pick<Copy, 'root' | 'remove'>> {
  const copy = await copySources()
  await copy.plant(mutant)
  return copy
}
