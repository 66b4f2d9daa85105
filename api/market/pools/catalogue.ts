/** All stored pools in memory, read again where they changed: in slices by the first digits of their ids, a bounded number in one statement. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Network } from '../../../ingest/model/network.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import { type CachedValue, cachedValue } from '../../lib/cached-value.ts'
import { queryRows, readSql } from '../../lib/store.ts'
import { type Catalogue, NetworkPools, type PoolRow } from './network-pools.ts'

const CATALOGUE = readSql(new URL('./catalogue.sql', import.meta.url))
const CUT = readSql(new URL('./catalogue-cut.sql', import.meta.url))
const SLICES = readSql(new URL('./catalogue-slices.sql', import.meta.url))
const STATE = readSql(new URL('./catalogue-state.sql', import.meta.url))

/** `0x` and two digits: 256 slices a network. */
const PREFIX_LENGTH = 4
/** After every hex digit. */
const AFTER_DIGITS = 'g'
/** Rows that one statement reads. */
const ROWS_AT_ONCE = 20_000
/** One statement runs while the rows of another are put in. */
const READS_AT_ONCE = 2

type IdSlice = { network: string; prefix: string; rows: number; state: string }
/** From `first` to before `end`. */
type PoolRange = { network: string; first: string; end: string }
/** `ids`: of the pools that were read. */
type ReadSlice = { pools: NetworkPools; ids: readonly PoolId[]; state: string }

/** Checks the table's state at most every `freshMs`. The catalogue is one object, which changes. */
export function openCatalogue(
  client: ClickHouseClient,
  networks: readonly Network[],
  freshMs: number,
  rowsAtOnce = ROWS_AT_ONCE,
): CachedValue<Catalogue> {
  const catalogue: ReadonlyMap<string, NetworkPools> = new Map(networks.map((it) => [it.name, new NetworkPools(it)]))
  const read = new Map<string, ReadSlice>()
  let held: string | undefined
  return cachedValue(async () => {
    const [row] = await queryRows<{ state: string }>(client, STATE)
    if (row?.state !== held) {
      await readChanged()
      held = row?.state
    }
    return catalogue as Catalogue
  }, freshMs)

  async function readChanged(): Promise<void> {
    const slices = await queryRows<IdSlice>(client, SLICES, { length: PREFIX_LENGTH })
    const stored = new Set(slices.map(sliceKey))
    for (const [key, slice] of read) {
      if (stored.has(key)) continue
      removeAllBut([], slice)
      read.delete(key)
    }
    const hasChanged = (slice: IdSlice) =>
      catalogue.has(slice.network) && read.get(sliceKey(slice))?.state !== slice.state
    const runs = runsOf(slices, hasChanged, rowsAtOnce).values()
    const reads = Array.from({ length: READS_AT_ONCE }, async () => {
      for (const run of runs) await readRun(run)
    })
    // A read that outlived the error of the other one could put old rows over those of the next try.
    const ended = await Promise.allSettled(reads)
    for (const read of ended) if (read.status === 'rejected') throw read.reason
  }

  /** Slices of one network without an unchanged one between. */
  async function readRun(run: readonly IdSlice[]): Promise<void> {
    const [first, last] = [run[0], run.at(-1)]
    if (first === undefined || last === undefined) return
    const pools = catalogue.get(first.network)
    if (pools === undefined) return
    const found = new Map<string, PoolId[]>(run.map(({ prefix }) => [prefix, []]))
    const range = { network: first.network, first: first.prefix, end: last.prefix + AFTER_DIGITS }
    for await (const piece of first.rows > rowsAtOnce ? piecesOf(range) : [range]) {
      for (const row of await queryRows<PoolRow>(client, CATALOGUE, piece)) {
        const ids = found.get(row.pool.slice(0, PREFIX_LENGTH))
        // The next state tells of a slice that was empty a moment ago.
        const id = ids && pools.put(row)
        if (id !== undefined) ids?.push(id)
      }
    }
    for (const slice of run) {
      const ids = found.get(slice.prefix) ?? []
      removeAllBut(ids, read.get(sliceKey(slice)))
      read.set(sliceKey(slice), { pools, ids, state: slice.state })
    }
  }

  /** Ids can be made to begin alike, so a slice can have any number of rows. */
  async function* piecesOf({ network, first, end }: PoolRange): AsyncGenerator<PoolRange> {
    for (let from = first; ; ) {
      const [next] = await queryRows<{ pool: string }>(client, CUT, { network, first: from, end, rows: rowsAtOnce })
      yield { network, first: from, end: next?.pool ?? end }
      if (next === undefined) return
      from = next.pool
    }
  }
}

function removeAllBut(ids: readonly PoolId[], slice: ReadSlice | undefined): void {
  const kept = new Set(ids)
  for (const id of slice?.ids ?? []) if (!kept.has(id)) slice?.pools.remove(id)
}

function sliceKey({ network, prefix }: Pick<IdSlice, 'network' | 'prefix'>): string {
  return `${network}:${prefix}`
}

/** Neighbours that changed, up to a number of rows, of one network. */
function runsOf(
  slices: readonly IdSlice[],
  hasChanged: (slice: IdSlice) => boolean,
  rowsAtOnce: number,
): readonly (readonly IdSlice[])[] {
  const runs: IdSlice[][] = []
  let rows = 0
  let before: IdSlice | undefined
  for (const slice of slices) {
    if (hasChanged(slice)) {
      const run = runs.at(-1)
      rows += slice.rows
      if (run && run.at(-1) === before && before?.network === slice.network && rows <= rowsAtOnce) run.push(slice)
      else {
        runs.push([slice])
        rows = slice.rows
      }
    }
    before = slice
  }
  return runs
}
