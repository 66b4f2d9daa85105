/** All stored pools in memory, brought up to date by what was stored since; where something else changed, by the slices of ids in which it did. */
import { setImmediate } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import { pieces } from '../../../ingest/lib/pieces.ts'
import type { Network, NetworkName } from '../../../ingest/model/network.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import { type CachedValue, cachedValue } from '../../lib/cached-value.ts'
import { MAX_POOLS_PER_QUERY, queryRows, readSql } from '../../lib/store.ts'
import { AFTER_DIGITS, type PoolRange, rowsOfPools, rowsOfRange } from './catalogue-rows.ts'
import { readListed, readPool } from './early-pools.ts'
import { type Catalogue, NetworkPools } from './network-pools.ts'
import { TokenNames } from './token-names.ts'

const CUT = readSql(new URL('./catalogue-cut.sql', import.meta.url))
const HALVES = readSql(new URL('./catalogue-halves.sql', import.meta.url))
const SINCE = readSql(new URL('./catalogue-since.sql', import.meta.url))
const SLICES = readSql(new URL('./catalogue-slices.sql', import.meta.url))
const STATE = readSql(new URL('./catalogue-state.sql', import.meta.url))

/** `0x` and two digits: 256 slices a network. */
const PREFIX_LENGTH = 4
/** Rows that one statement reads. */
const ROWS_AT_ONCE = 20_000
/** Pools that are put in without a turn of the event loop: a pool takes 5 µs. */
const PUT_AT_ONCE = 500
/** Read again only while the read of all pools fails or is slow. */
const LISTED_FRESH_MS = 10_000
/** One statement runs while the rows of another are put in. */
const READS_AT_ONCE = 2

/** The number of rows, their highest version, and the sum of the hashes of their versions and blocks modulo 2^64. */
type HalfState = { network: NetworkName; half: string; rows: number; newest: string; sum: string }
type IdSlice = { network: NetworkName; prefix: string; rows: number; state: string }
/** `ids`: of the pools that were read, with or without those that are gone since; `state`: where these were all, empty before. */
type ReadSlice = { pools: NetworkPools; ids: PoolId[]; state: string }

export type CataloguePools = CachedValue<Catalogue> & {
  /** Has the pool on all networks, and the pools that prices in dollars come from; only these before all pools were read once. */
  ofPool(id: PoolId): Promise<Catalogue>
  /** Only the pools of listed tokens before all pools were read once, where these are enough. */
  ofListed(areEnough: (listed: Catalogue) => boolean): Promise<Catalogue>
}

/** Checks the table's state at most every `freshMs`. The catalogue is one object, which changes. */
export function openCatalogue(
  client: ClickHouseClient,
  networks: readonly Network[],
  freshMs: number,
  rowsAtOnce = ROWS_AT_ONCE,
): CataloguePools {
  const reader = new CatalogueReader(client, networks, rowsAtOnce)
  const all = cachedValue(() => reader.read(), freshMs)
  let listed: CachedValue<Catalogue | undefined> | undefined
  return {
    ...all,
    ofPool(id) {
      const read = all.get()
      if (reader.hasRead) return read
      // The next caller repeats a read that fails, and gets its error.
      read.catch(() => undefined)
      return readPool(client, networks, id)
    },
    ofListed(areEnough) {
      const read = all.get()
      if (reader.hasRead) {
        listed = undefined
        return read
      }
      listed ??= cachedValue(() => readListed(client, networks), LISTED_FRESH_MS)
      const early = listed.get().then((pools) => (pools && areEnough(pools) ? pools : read))
      return Promise.any([read, early]).catch(() => read)
    },
  }
}

class CatalogueReader {
  readonly #client: ClickHouseClient
  readonly #rowsAtOnce: number
  readonly #catalogue: ReadonlyMap<NetworkName, NetworkPools>
  readonly #slices = new Map<string, ReadSlice>()
  readonly #names = new TokenNames()
  #state: string | undefined
  #halves: ReadonlyMap<string, HalfState> = new Map()

  constructor(client: ClickHouseClient, networks: readonly Network[], rowsAtOnce: number) {
    this.#client = client
    this.#rowsAtOnce = rowsAtOnce
    this.#catalogue = new Map(networks.map((network) => [network.name, new NetworkPools(network)]))
  }

  /** Whether all pools were read once. */
  get hasRead(): boolean {
    return this.#state !== undefined
  }

  async read(): Promise<Catalogue> {
    const [[row]] = await Promise.all([
      queryRows<{ state: string }>(this.#client, STATE),
      this.#names.read(this.#client, this.#catalogue),
    ])
    if (row?.state !== this.#state) {
      const rows = await queryRows<HalfState>(this.#client, HALVES)
      const halves = new Map(rows.map((state) => [state.half, state]))
      if (!(await this.#readNew(halves))) await this.#readChanged()
      this.#halves = halves
      this.#state = row?.state
    }
    return this.#catalogue
  }

  /** False where the states differ by more than rows of newer versions, which is all that live blocks and rollbacks store. */
  async #readNew(halves: ReadonlyMap<string, HalfState>): Promise<boolean> {
    if (this.#halves.size !== halves.size) return false
    for (const [half, state] of halves) {
      const { network } = state
      const known = this.#halves.get(half)
      const pools = this.#catalogue.get(network)
      if (known === undefined) return false
      if (pools === undefined || (known.rows === state.rows && known.sum === state.sum)) continue
      const added = state.rows - known.rows
      if (added <= 0 || added > ROWS_AT_ONCE) return false
      const rows = await queryRows<{ pool: PoolId; hash: string }>(this.#client, SINCE, {
        network,
        after: known.newest,
        newest: state.newest,
        rows: added + 1,
      })
      const sum = rows.reduce((sum, { hash }) => sum + BigInt(hash), BigInt(known.sum))
      if (rows.length !== added || BigInt.asUintN(64, sum) !== BigInt(state.sum)) return false
      const ids = [...new Set(rows.map(({ pool }) => pool))].toSorted()
      for (const piece of pieces(ids, MAX_POOLS_PER_QUERY)) await this.#readPools(pools, piece)
    }
    return true
  }

  /** `ids`: in their order, at most MAX_POOLS_PER_QUERY. */
  async #readPools(pools: NetworkPools, ids: readonly PoolId[]): Promise<void> {
    const rows = await rowsOfPools(this.#client, pools.network.name, ids)
    const gone = new Set(ids)
    for (const row of rows) {
      const isNew = pools.pool(row.pool as PoolId) === undefined
      const id = pools.put(row)
      if (id === undefined) continue
      gone.delete(id)
      if (isNew) this.#sliceOf(pools, id).ids.push(id)
    }
    for (const id of gone) pools.remove(id)
  }

  #sliceOf(pools: NetworkPools, id: PoolId): ReadSlice {
    const key = sliceKey({ network: pools.network.name, prefix: id.slice(0, PREFIX_LENGTH) })
    const slice = this.#slices.get(key) ?? { pools, ids: [], state: '' }
    this.#slices.set(key, slice)
    return slice
  }

  async #readChanged(): Promise<void> {
    const slices = await queryRows<IdSlice>(this.#client, SLICES, { length: PREFIX_LENGTH })
    const stored = new Set(slices.map(sliceKey))
    for (const [key, slice] of this.#slices) {
      if (stored.has(key)) continue
      removeAllBut([], slice)
      this.#slices.delete(key)
    }
    const hasChanged = (slice: IdSlice) =>
      this.#catalogue.has(slice.network) && this.#slices.get(sliceKey(slice))?.state !== slice.state
    const runs = runsOf(slices, hasChanged, this.#rowsAtOnce).values()
    const reads = Array.from({ length: READS_AT_ONCE }, async () => {
      for (const run of runs) await this.#readRun(run)
    })
    // A read that outlived the error of the other one could put old rows over those of the next try.
    const ended = await Promise.allSettled(reads)
    for (const read of ended) if (read.status === 'rejected') throw read.reason
  }

  /** Slices of one network without an unchanged one between. */
  async #readRun(run: readonly IdSlice[]): Promise<void> {
    const [first, last] = [run[0], run.at(-1)]
    if (first === undefined || last === undefined) return
    const pools = this.#catalogue.get(first.network)
    if (pools === undefined) return
    const found = new Map<string, PoolId[]>(run.map(({ prefix }) => [prefix, []]))
    const range = { network: first.network, first: first.prefix, end: last.prefix + AFTER_DIGITS }
    for await (const piece of first.rows > this.#rowsAtOnce ? this.#piecesOf(range) : [range]) {
      for (const [index, row] of (await rowsOfRange(this.#client, piece)).entries()) {
        if (index % PUT_AT_ONCE === 0) await setImmediate()
        const ids = found.get(row.pool.slice(0, PREFIX_LENGTH))
        // The next state tells of a slice that was empty a moment ago.
        const id = ids && pools.put(row)
        if (id !== undefined) ids?.push(id)
      }
    }
    for (const slice of run) {
      const ids = found.get(slice.prefix) ?? []
      removeAllBut(ids, this.#slices.get(sliceKey(slice)))
      this.#slices.set(sliceKey(slice), { pools, ids, state: slice.state })
    }
  }

  /** Ids can be made to begin alike, so a slice can have any number of rows. */
  async *#piecesOf({ network, first, end }: PoolRange): AsyncGenerator<PoolRange> {
    for (let from = first; ; ) {
      const range = { network, first: from, end }
      const [next] = await queryRows<{ pool: string }>(this.#client, CUT, { ...range, rows: this.#rowsAtOnce })
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
