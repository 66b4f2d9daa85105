/**
 * Blocks and their swaps as columns, for history: what `assemble` does, without an object a swap. A first pass writes swaps as rows and decodes the
 * other events; after pools are known, a second one prices the rows and merges both in the order of the chain.
 */
import {
  firstRows,
  HASH_BYTES,
  isZeroWord,
  LIQUIDITY_LANES,
  readSigned,
  readWord,
  SENDER_BYTES,
  WORD_LANES,
} from '../columns/tick-columns.ts'
import { V3_SWAP } from '../decode/decode-v3.ts'
import { V4_SWAP } from '../decode/decode-v4.ts'
import type { MetEvent, PoolEvent } from '../decode/event.ts'
import { type SwapLayout, SwapRows } from '../decode/swap-rows.ts'
import { quantity } from '../lib/hex-bytes.ts'
import { lower } from '../lib/lower.ts'
import type { BlockContent, BlockHeader } from '../model/message.ts'
import type { Pool, PoolId } from '../model/pool.ts'
import type { TickColumns } from '../model/tick.ts'
import { isV3 } from '../pools/registry.ts'
import { PoolPrices } from '../pricing/column-prices.ts'
import type { RpcLog } from '../rpc/rpc.ts'
import { eventFeesOf, venuesOf } from '../venues/venues.ts'
import {
  addEvent,
  addPool,
  type Draft,
  decode,
  draftsOf,
  isOfHook,
  meetPools,
  type Placed,
  reportNoPrice,
  type Sources,
} from './events.ts'
import { readHookAmounts } from './hook-amounts.ts'

export type ColumnContent = { blocks: BlockContent[]; ticks: TickColumns }

/** As `Assembler.assembleColumns`. */
export async function assembleColumns(
  sources: Sources,
  logs: readonly RpcLog[],
  headers: readonly BlockHeader[],
): Promise<ColumnContent> {
  const read = readLogs(sources, logs)
  await meetPools(sources, read.met, logs.at(-1))
  // No await follows: a call that failed above has changed no state and can be repeated.
  const drafts = draftsOf(headers)
  const ticks = new Merge(sources, read.rows, drafts).run(read.others)
  const hookAmounts = readHookAmounts(sources, logs, read.hookLogs)
  return { blocks: [...drafts.values()], ticks: { ...ticks, hookAmounts } }
}

/** An event that is no swap, and how many rows are before it. */
type Other = Placed<PoolEvent> & { row: number }

type ReadLogs = {
  rows: SwapRows
  others: Other[]
  /** The other events, and the first swap of each pool. */
  met: Placed<MetEvent>[]
  /** Places of the logs that are events of hooks. */
  hookLogs: number[]
}

function readLogs(sources: Sources, logs: readonly RpcLog[]): ReadLogs {
  const layoutOf = layoutsOf(sources)
  const rows = new SwapRows(logs.length)
  const others: Other[] = []
  const met: Placed<MetEvent>[] = []
  /** By place in `rows.pools`. */
  const isAsked: boolean[] = []
  const hookLogs: number[] = []
  let [text, block] = ['', 0]
  for (let index = 0; index < logs.length; index++) {
    const log = logs[index] as RpcLog
    if (log.blockNumber !== text) [text, block] = [log.blockNumber, quantity(log.blockNumber)]
    const layout = layoutOf(log)
    if (!layout || !(rows.write(log, layout) || rows.write(inLowerCase(log), layout))) {
      const event = decode(sources, log)
      if (event && isOfHook(event)) hookLogs.push(index)
      else if (event) {
        others.push({ block, event, row: rows.length })
        met.push({ block, event })
      }
      continue
    }
    const { columns, length, pools } = rows
    const place = columns.pool[length] as number
    const pool = pools[place] as PoolId
    const isNew = isAsked[place] === undefined
    isAsked[place] ??= sources.isAsked(pool)
    if (!isAsked[place]) continue
    if (isNew) met.push({ block, event: { kind: 'swap', pool } })
    columns.block[length] = block
    rows.keep()
  }
  return { rows, others, met, hookLogs }
}

/** Nodes write lower case, nearly all of them. */
function inLowerCase(log: RpcLog): RpcLog {
  const { topics, data, transactionHash } = log
  const small = <T extends string>(text: T) => text.toLowerCase() as T
  return { ...log, topics: topics.map(small), data: small(data), transactionHash: small(transactionHash) }
}

/** The layout of a log that is a swap; undefined for any other. */
function layoutsOf({ network }: Sources): (log: RpcLog) => SwapLayout | undefined {
  const layouts = new Map<string, SwapLayout>()
  for (const layout of [V3_SWAP, V4_SWAP, ...venuesOf(network).flatMap(({ swap = [] }) => swap)])
    layouts.set(layout.topic, layout)
  const manager = lower(network.v4.poolManager)
  let [topic, layout] = ['', layouts.get('')]
  return (log) => {
    const [first = ''] = log.topics
    if (first !== topic) [topic, layout] = [first, layouts.get(first)]
    return layout?.isV4 && lower(log.address) !== manager ? undefined : layout
  }
}

/** A pool as its rows need it. */
type MetPool = {
  pool: Pool
  prices: PoolPrices
  isWanted: boolean
  isV3: boolean
  isReference: boolean
  hasEventFees: boolean
  /** Place in the pools of the result; −1 until it has a tick. */
  place: number
  isAdded: boolean
}

const MIN_AMOUNT = -(2n ** 255n)

/** The second pass. Rows that are no ticks are dropped, and those after them move up. */
class Merge {
  readonly #sources: Sources
  readonly #rows: SwapRows
  readonly #drafts: ReadonlyMap<number, Draft>
  /** By place in the pools of the rows; null where its swaps are not read. */
  readonly #met: (MetPool | null)[] = []
  readonly #pools: PoolId[] = []
  #length = 0
  #touched: Pool | undefined

  constructor(sources: Sources, rows: SwapRows, drafts: ReadonlyMap<number, Draft>) {
    this.#sources = sources
    this.#rows = rows
    this.#drafts = drafts
  }

  run(others: readonly Other[]): TickColumns {
    const { length, columns } = this.#rows
    let draft: Draft | undefined
    let next = 0
    for (let row = 0; row < length; row++) {
      for (; next < others.length && (others[next] as Other).row <= row; next++) this.#addOther(others[next] as Other)
      const block = columns.block[row] as number
      if (draft?.number !== block) draft = this.#drafts.get(block)
      if (draft) this.#addSwap(draft, row)
    }
    for (; next < others.length; next++) this.#addOther(others[next] as Other)
    return { ...firstRows(columns, this.#length), pools: this.#pools }
  }

  #addOther({ block, event }: Other): void {
    const draft = this.#drafts.get(block)
    this.#touched = undefined
    if (draft) addEvent(this.#sources, draft, event)
  }

  #addSwap(draft: Draft, row: number): void {
    const { columns } = this.#rows
    const met = this.#metAt(columns.pool[row] as number)
    if (!met) return
    const { pool } = met
    const { usd, balances } = this.#sources
    // As in `addEvent`: the price changes before the swap is priced.
    if (met.isReference) usd.observe(pool, readWord(columns.sqrtPrice, row * WORD_LANES, WORD_LANES), draft.number)
    if (!met.isWanted) return
    if (!met.isAdded) addPool(this.#sources, draft, pool, 0n)
    met.isAdded = true
    const fee = this.#feeOf(met, row)
    if (isZeroWord(columns.sqrtPrice, row * WORD_LANES)) {
      reportNoPrice(this.#sources, draft.number, columns.logIndex[row] as number)
    } else this.#keep(met, row, fee, draft.timestamp)
    if (met.isV3 && this.#touched !== pool) balances.touch(pool)
    this.#touched = pool
  }

  #keep(met: MetPool, row: number, fee: number, time: number): void {
    const { columns } = this.#rows
    const to = this.#length++
    if (to !== row) moveRow(columns, row, to)
    if (met.place === -1) met.place = this.#pools.push(met.pool.id) - 1
    columns.pool[to] = met.place
    columns.time[to] = time
    columns.fee[to] = fee
    met.prices.write(columns, to)
  }

  #feeOf({ pool, isV3, hasEventFees }: MetPool, row: number): number {
    const { columns, plugins } = this.#rows
    if (!isV3) return columns.fee[row] as number
    if (!hasEventFees) return pool.fee
    const amount0 = readSigned(columns.amount0, row * WORD_LANES)
    const plugin = plugins.get(row)
    // The least amount of a log has no opposite in 256 bits.
    const isPaid = amount0 < 0n && amount0 !== MIN_AMOUNT
    return this.#sources.fees.take({ pool: pool.id, amount0: isPaid ? amount0 : 0n, ...(plugin && { plugin }) })
  }

  #metAt(place: number): MetPool | null {
    const known = this.#met[place]
    if (known !== undefined) return known
    const { registry, usd, wanted } = this.#sources
    const id = this.#rows.pools[place] as PoolId
    const resolution = registry.get(id)
    const pool = resolution?.kind === 'pool' ? resolution.pool : undefined
    const met = pool && {
      pool,
      prices: new PoolPrices(pool, usd),
      isWanted: wanted === undefined || wanted.has(id),
      isV3: isV3(id),
      isReference: usd.isReference(id),
      hasEventFees: eventFeesOf(pool) !== undefined,
      place: -1,
      isAdded: false,
    }
    this.#met[place] = met ?? null
    return met ?? null
  }
}

/** All that the first pass writes; `to` is below `from`. */
function moveRow(columns: TickColumns, from: number, to: number): void {
  const move = (column: Uint32Array | Uint8Array | Int32Array | Float64Array, width = 1) =>
    column.copyWithin(to * width, from * width, (from + 1) * width)
  move(columns.block)
  move(columns.logIndex)
  move(columns.transactionHash, HASH_BYTES)
  move(columns.sender, SENDER_BYTES)
  move(columns.amount0, WORD_LANES)
  move(columns.amount1, WORD_LANES)
  move(columns.sqrtPrice, WORD_LANES)
  move(columns.liquidity, LIQUIDITY_LANES)
  move(columns.poolTick)
}
