/**
 * Ticks as columns: one typed array a field, row by row in the order of the chain. History is read, folded and stored in this form: an object and
 * five bigints a tick cost more than all of its arithmetic.
 */
import type { Address, Hash } from 'viem'
import type { BlockContent, UnixSeconds } from '../model/message.ts'
import type { PoolId } from '../model/pool.ts'
import type { HookAmounts, HookAmountTable, Tick, TickColumns } from '../model/tick.ts'
import { NEW_MEMORY } from './column-memory.ts'

/** 32-bit lanes of a 256-bit word. */
export const WORD_LANES = 8
export const LIQUIDITY_LANES = 4
export const HASH_BYTES = 32
export const SENDER_BYTES = 20

/** A block's place and its ticks. */
export type TickBlock = { number: number; timestamp: UnixSeconds; ticks: readonly Tick[] }

/** All zeros; `pools` is the caller's. */
export function emptyColumns(length: number, pools: readonly PoolId[], memory = NEW_MEMORY): TickColumns {
  const words = () => memory.uint32(length * WORD_LANES)
  const numbers = () => memory.uint32(length)
  return {
    length,
    pools,
    pool: numbers(),
    block: memory.float64(length),
    time: numbers(),
    logIndex: numbers(),
    transactionHash: memory.bytes(length * HASH_BYTES),
    sender: memory.bytes(length * SENDER_BYTES),
    amount0: words(),
    amount1: words(),
    sqrtPrice: words(),
    usdMicros: words(),
    liquidity: memory.uint32(length * LIQUIDITY_LANES),
    poolTick: memory.int32(length),
    fee: numbers(),
    price: memory.float64(length),
    spotPrice: memory.float64(length),
    hookAmounts: NO_HOOK_AMOUNTS,
  }
}

const NO_HOOK_AMOUNTS: HookAmountTable = new Map()

/** `hashes`, `senders`: the memory of two of the columns, as buffers. */
type WrittenColumns = { columns: TickColumns; hashes: Buffer; senders: Buffer }

/** In the order of the blocks. */
export function columnsOf(blocks: readonly TickBlock[], memory = NEW_MEMORY): TickColumns {
  const pools: PoolId[] = []
  const places = new Map<PoolId, number>()
  const length = blocks.reduce((sum, { ticks }) => sum + ticks.length, 0)
  const columns = emptyColumns(length, pools, memory)
  const hooked: TickBlock[] = []
  const written = { columns, hashes: bufferOf(columns.transactionHash), senders: bufferOf(columns.sender) }
  let row = 0
  for (const block of blocks) {
    const { number, timestamp, ticks } = block
    for (const tick of ticks) {
      let place = places.get(tick.pool)
      if (place === undefined) {
        place = pools.push(tick.pool) - 1
        places.set(tick.pool, place)
      }
      columns.pool[row] = place
      columns.block[row] = number
      columns.time[row] = timestamp
      writeTick(written, row, tick)
      if (tick.hookAmounts && hooked.at(-1)?.number !== number) hooked.push(block)
      row++
    }
  }
  return hooked.length === 0 ? columns : { ...columns, hookAmounts: hookAmountsOf(hooked) }
}

function hookAmountsOf(blocks: readonly TickBlock[]): HookAmountTable {
  const table = new Map<number, Map<number, HookAmounts>>()
  for (const { number, ticks } of blocks) {
    const ofBlock = table.get(number) ?? new Map<number, HookAmounts>()
    for (const { logIndex, hookAmounts } of ticks) if (hookAmounts) ofBlock.set(logIndex, hookAmounts)
    table.set(number, ofBlock)
  }
  return table
}

/** Amounts that the hook gave or took beside the swap of a row. */
export function hookAmountsAt({ hookAmounts, block, logIndex }: TickColumns, row: number): HookAmounts | undefined {
  return hookAmounts.get(block[row] ?? 0)?.get(logIndex[row] ?? 0)
}

/** Blocks that build their ticks from the rows of columns, each when it is asked for. Their own lists are not read. */
export function blocksOver(blocks: readonly BlockContent[], columns: TickColumns): BlockContent[] {
  const counts = ticksPerBlock(blocks, columns)
  let row = 0
  return blocks.map((block, index) => {
    const from = row
    row += counts[index] ?? 0
    return new BlockOverColumns(block, columns, from, row)
  })
}

/** An own getter would give each block a shape of its own. */
class BlockOverColumns implements BlockContent {
  readonly number: number
  readonly hash: Hash
  readonly timestamp: UnixSeconds
  readonly pools: BlockContent['pools']
  readonly liquidity: BlockContent['liquidity']
  readonly balances: BlockContent['balances']
  readonly #columns: TickColumns
  readonly #from: number
  readonly #to: number
  #ticks: readonly Tick[] | undefined

  constructor(block: BlockContent, columns: TickColumns, from: number, to: number) {
    this.number = block.number
    this.hash = block.hash
    this.timestamp = block.timestamp
    this.pools = block.pools
    this.liquidity = block.liquidity
    this.balances = block.balances
    this.#columns = columns
    this.#from = from
    this.#to = to
  }

  get ticks(): readonly Tick[] {
    this.#ticks ??= Array.from({ length: this.#to - this.#from }, (_, index) =>
      tickAt(this.#columns, this.#from + index),
    )
    return this.#ticks
  }
}

/** How many rows each block has. The rows are in the order of the blocks, whose numbers ascend. */
export function ticksPerBlock(blocks: readonly { number: number }[], { block, length }: TickColumns): number[] {
  let row = 0
  return blocks.map(({ number }) => {
    const from = row
    while (row < length && block[row] === number) row++
    return row - from
  })
}

/** The rows from `from` up to, not including, `to`, in the same memory. */
export function sliceColumns(columns: TickColumns, from: number, to: number): TickColumns {
  if (from === 0 && to === columns.length) return columns
  return mapColumns(columns, to - from, (column, width) => column.subarray(from * width, to * width))
}

/** The first rows, in memory of their own where there are more. */
export function firstRows(columns: TickColumns, length: number): TickColumns {
  if (length === columns.length) return columns
  return mapColumns(columns, length, (column, width) => column.slice(0, length * width))
}

/** A typed array of any element. */
type RowArray<Column> = { subarray(from: number, to: number): Column; slice(from: number, to: number): Column }

/** `map` makes an array of `length` rows; `width`: elements of a row. */
function mapColumns(
  { pools, hookAmounts, ...columns }: TickColumns,
  length: number,
  map: <Column extends RowArray<Column>>(column: Column, width: number) => Column,
): TickColumns {
  return {
    length,
    pools,
    pool: map(columns.pool, 1),
    block: map(columns.block, 1),
    time: map(columns.time, 1),
    logIndex: map(columns.logIndex, 1),
    transactionHash: map(columns.transactionHash, HASH_BYTES),
    sender: map(columns.sender, SENDER_BYTES),
    amount0: map(columns.amount0, WORD_LANES),
    amount1: map(columns.amount1, WORD_LANES),
    sqrtPrice: map(columns.sqrtPrice, WORD_LANES),
    usdMicros: map(columns.usdMicros, WORD_LANES),
    liquidity: map(columns.liquidity, LIQUIDITY_LANES),
    poolTick: map(columns.poolTick, 1),
    fee: map(columns.fee, 1),
    price: map(columns.price, 1),
    spotPrice: map(columns.spotPrice, 1),
    hookAmounts,
  }
}

/** All rows, one part after the other. */
export function concatColumns(parts: readonly TickColumns[]): TickColumns {
  const [only] = parts
  if (only && parts.length === 1) return only
  const pools: PoolId[] = []
  const places = new Map<PoolId, number>()
  const all = emptyColumns(
    parts.reduce((sum, { length }) => sum + length, 0),
    pools,
  )
  let at = 0
  for (const part of parts) {
    const renamed = part.pools.map((pool) => {
      const place = places.get(pool) ?? pools.push(pool) - 1
      places.set(pool, place)
      return place
    })
    const to = sliceColumns(all, at, at + part.length)
    copyColumns(to, part)
    for (let row = 0; row < part.length; row++) to.pool[row] = renamed[part.pool[row] ?? 0] ?? 0
    at += part.length
  }
  return { ...all, hookAmounts: allHookAmounts(parts) }
}

function allHookAmounts(parts: readonly TickColumns[]): HookAmountTable {
  const hooked = parts.filter(({ hookAmounts }) => hookAmounts.size > 0)
  const [first] = hooked
  // Ranges of one read share it.
  if (!first || hooked.every(({ hookAmounts }) => hookAmounts === first.hookAmounts))
    return first?.hookAmounts ?? NO_HOOK_AMOUNTS
  const table = new Map<number, ReadonlyMap<number, HookAmounts>>()
  for (const { hookAmounts } of hooked)
    for (const [block, amounts] of hookAmounts) table.set(block, new Map([...(table.get(block) ?? []), ...amounts]))
  return table
}

function copyColumns({ length: _, pools: __, hookAmounts: ___, ...to }: TickColumns, from: TickColumns): void {
  for (const name of Object.keys(to) as (keyof typeof to)[]) to[name].set(from[name])
}

function writeTick({ columns, hashes, senders }: WrittenColumns, row: number, tick: Tick): void {
  columns.logIndex[row] = tick.logIndex
  hashes.write(tick.transactionHash.slice(2), row * HASH_BYTES, 'hex')
  if (tick.sender) senders.write(tick.sender.slice(2), row * SENDER_BYTES, 'hex')
  writeWord(columns.amount0, row * WORD_LANES, tick.amount0, WORD_LANES)
  writeWord(columns.amount1, row * WORD_LANES, tick.amount1, WORD_LANES)
  writeWord(columns.sqrtPrice, row * WORD_LANES, tick.sqrtPriceX96, WORD_LANES)
  writeWord(columns.usdMicros, row * WORD_LANES, tick.amountUsdMicros, WORD_LANES)
  writeWord(columns.liquidity, row * LIQUIDITY_LANES, tick.liquidity, LIQUIDITY_LANES)
  columns.poolTick[row] = tick.poolTick
  columns.fee[row] = tick.fee
  columns.price[row] = tick.price
  columns.spotPrice[row] = tick.spotPrice
}

/** Row `row` as a value. */
export function tickAt(columns: TickColumns, row: number): Tick {
  const sender = readHex<Address>(columns.sender, row * SENDER_BYTES, SENDER_BYTES)
  const hookAmounts = hookAmountsAt(columns, row)
  return {
    pool: columns.pools[columns.pool[row] ?? 0] as PoolId,
    logIndex: columns.logIndex[row] ?? 0,
    transactionHash: readHex<Hash>(columns.transactionHash, row * HASH_BYTES, HASH_BYTES),
    ...(sender !== NO_SENDER && { sender }),
    amount0: readSigned(columns.amount0, row * WORD_LANES),
    amount1: readSigned(columns.amount1, row * WORD_LANES),
    sqrtPriceX96: readWord(columns.sqrtPrice, row * WORD_LANES, WORD_LANES),
    liquidity: readWord(columns.liquidity, row * LIQUIDITY_LANES, LIQUIDITY_LANES),
    poolTick: columns.poolTick[row] ?? 0,
    fee: columns.fee[row] ?? 0,
    price: columns.price[row] ?? 0,
    spotPrice: columns.spotPrice[row] ?? 0,
    amountUsdMicros: readWord(columns.usdMicros, row * WORD_LANES, WORD_LANES),
    ...(hookAmounts && { hookAmounts }),
  }
}

const NO_SENDER = `0x${'00'.repeat(SENDER_BYTES)}`

/** The low 64 bits of a bigint, and the same memory as lanes. */
const LOW = new BigUint64Array(1)
const LOW_LANES = new Uint32Array(LOW.buffer)

/** Modulo 2^(32 · lanes), of which there is an even number. */
export function writeWord(lanes: Uint32Array, at: number, value: bigint, count: number): void {
  const end = at + count
  let lane = at
  let rest = value
  for (; lane < end && rest !== 0n && rest !== -1n; lane += 2) {
    LOW[0] = rest
    lanes[lane] = LOW_LANES[0] as number
    lanes[lane + 1] = LOW_LANES[1] as number
    rest >>= 64n
  }
  for (const sign = Number(rest); lane < end; lane++) lanes[lane] = sign
}

/** Unsigned. */
export function readWord(lanes: Uint32Array, at: number, count: number): bigint {
  let top = at + count - 1
  while (top > at && lanes[top] === 0) top--
  let value = BigInt(lanes[top] ?? 0)
  for (let lane = top - 1; lane >= at; lane--) value = (value << 32n) | BigInt(lanes[lane] ?? 0)
  return value
}

/** A word of 256 bits in two's complement. */
export function readSigned(lanes: Uint32Array, at: number): bigint {
  return BigInt.asIntN(256, readWord(lanes, at, WORD_LANES))
}

export function isZeroWord(lanes: Uint32Array, at: number): boolean {
  for (let lane = at; lane < at + WORD_LANES; lane++) if (lanes[lane] !== 0) return false
  return true
}

/** In two's complement, in place. */
export function negateWord(lanes: Uint32Array, at: number, count: number): void {
  let carry = 1
  for (let lane = at; lane < at + count; lane++) {
    const sum = (~(lanes[lane] as number) >>> 0) + carry
    lanes[lane] = sum
    carry = sum >= 2 ** 32 ? 1 : 0
  }
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

function readHex<H extends string>(bytes: Uint8Array, at: number, length: number): H {
  return `0x${bufferOf(bytes).toString('hex', at, at + length)}` as H
}
