/** Ticks in columns as a message has them: the text that `encode` writes of ticks as objects, without an object or a bigint a tick. */
import type { Address, Hash } from 'viem'
import {
  HASH_BYTES,
  hookAmountsAt,
  LIQUIDITY_LANES,
  negateWord,
  SENDER_BYTES,
  tickAt,
  WORD_LANES,
} from '../../../ingest/columns/tick-columns.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import type { HookAmounts, TickColumns } from '../../../ingest/model/tick.ts'
import type { JsonBigint } from './bigint-json.ts'
import { finite } from './finite.ts'
import type { Wire } from './wire-format.ts'

/** Numbers of values in a message, from 0. */
export type Numbered<Value> = { numberOf(value: Value): number }

export function wireTicks(columns: TickColumns, pools: Numbered<PoolId>, senders: Numbered<Address>): Wire['ticks'] {
  const { length } = columns
  const each = <Value>(read: (row: number) => Value) => {
    const values: Value[] = []
    for (let row = 0; row < length; row++) values.push(read(row))
    return values
  }
  const price = (prices: Float64Array) => {
    for (const [row, value] of prices.entries()) if (!Number.isFinite(value)) finite(value, tickAt(columns, row))
    return Array.from(prices)
  }
  const places = new Map<number, number>()
  return {
    pool: each((row) => {
      const place = columns.pool[row] as number
      const number = places.get(place) ?? pools.numberOf(columns.pools[place] as PoolId)
      places.set(place, number)
      return number
    }),
    logIndex: Array.from(columns.logIndex),
    transactionHash: hexOf<Hash>(columns.transactionHash, HASH_BYTES),
    amount0: integers(columns.amount0, WORD_LANES, true),
    amount1: integers(columns.amount1, WORD_LANES, true),
    sqrtPriceX96: integers(columns.sqrtPrice, WORD_LANES),
    liquidity: integers(columns.liquidity, LIQUIDITY_LANES),
    poolTick: Array.from(columns.poolTick),
    fee: Array.from(columns.fee),
    price: price(columns.price),
    spotPrice: price(columns.spotPrice),
    amountUsdMicros: integers(columns.usdMicros, WORD_LANES),
    sender: hexOf<Address>(columns.sender, SENDER_BYTES).map((sender) =>
      sender === NO_SENDER ? -1 : senders.numberOf(sender),
    ),
  }
}

/** By row; none where no row has any. */
export function hookAmountsOfRows(columns: TickColumns): (HookAmounts | undefined)[] {
  if (columns.hookAmounts.size === 0) return []
  return Array.from({ length: columns.length }, (_, row) => hookAmountsAt(columns, row))
}

const NO_SENDER = `0x${'00'.repeat(SENDER_BYTES)}`

function hexOf<H extends string>(bytes: Uint8Array, width: number): H[] {
  const digits = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex')
  return Array.from(
    { length: bytes.length / width },
    (_, row) => `0x${digits.slice(row * width * 2, (row + 1) * width * 2)}` as H,
  )
}

const TWO_32 = 2 ** 32
/** The upper lane of the largest safe integer. */
const MAX_UPPER = 2 ** 21 - 1
const LANE_DIGITS = 8

/** As `toJsonBigint` of the value of each row, which is in two's complement where `isSigned`. */
function integers(lanes: Uint32Array, width: number, isSigned = false): JsonBigint[] {
  const sizes = isSigned ? magnitudes(lanes, width) : lanes
  const digits = bigEndian(sizes, width).toString('hex')
  const values: JsonBigint[] = []
  for (let at = 0; at < sizes.length; at += width) {
    let top = at + width - 1
    const isNegative = isSigned && (lanes[top] as number) >>> 31 === 1
    while (top > at && sizes[top] === 0) top--
    const upper = sizes[at + 1] as number
    if (top <= at + 1 && upper <= MAX_UPPER) {
      const size = upper * TWO_32 + (sizes[at] as number)
      values.push(isNegative ? -size : size)
      continue
    }
    const count = (top - at + 1) * LANE_DIGITS - (Math.clz32(sizes[top] as number) >>> 2)
    const end = (at + width) * LANE_DIGITS
    values.push(`${isNegative ? '-0x' : '0x'}${digits.slice(end - count, end)}`)
  }
  return values
}

function magnitudes(lanes: Uint32Array, width: number): Uint32Array {
  const sizes = lanes.slice()
  for (let at = 0; at < lanes.length; at += width)
    if ((lanes[at + width - 1] as number) >>> 31 === 1) negateWord(sizes, at, width)
  return sizes
}

/** Each value from its most significant byte on, as it is written. */
function bigEndian(lanes: Uint32Array, width: number): Buffer {
  const bytes = Buffer.allocUnsafe(lanes.length * 4)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  for (let at = 0; at < lanes.length; at += width)
    for (let lane = 0; lane < width; lane++) view.setUint32((at + lane) * 4, lanes[at + width - 1 - lane] as number)
  return bytes
}
