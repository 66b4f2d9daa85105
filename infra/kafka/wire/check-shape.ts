/** The shape of a message in Kafka: lists where the format has lists, all of one length, and counts that agree with them. */
import { UnreadableMessage, type Wire } from './wire-format.ts'

type WireFields = Readonly<Record<string, unknown>>

const BLOCK_COLUMNS = ['number', 'hash', 'timestamp', 'ticks', 'pools', 'liquidity', 'balances'] as const
const TICK_COLUMNS = [
  ...(['pool', 'logIndex', 'transactionHash', 'amount0', 'amount1', 'sqrtPriceX96', 'liquidity', 'poolTick'] as const),
  ...(['fee', 'price', 'spotPrice', 'amountUsdMicros'] as const),
] as const
const LIQUIDITY_COLUMNS = ['pool', 'logIndex', 'tickLower', 'tickUpper', 'liquidityDelta'] as const
const HOOK_COLUMNS = ['tick', 'amount0', 'amount1'] as const
const BALANCE_COLUMNS = ['pool', 'balance0', 'balance1'] as const

/** Throws `UnreadableMessage`. Of single values only counts and indexes are checked. */
export function checkShape(value: unknown): asserts value is Wire {
  const wire = fieldsOf(value, 'it')
  const head = fieldsOf(wire['head'], 'head')
  if (head['pools'] !== undefined && head['pools'] !== null) listOf(head['pools'], 'head.pools')
  const blocks = fieldsOf(wire['blocks'], 'blocks')
  rowsOf(blocks, 'blocks', BLOCK_COLUMNS)
  const poolIds = listOf(wire['poolIds'], 'poolIds').length
  const ticks = fieldsOf(wire['ticks'], 'ticks')
  const tickRows = rowsOf(ticks, 'ticks', TICK_COLUMNS)
  counts(blocks['ticks'], 'ticks', tickRows)
  counts(blocks['pools'], 'pools', pools(wire['pools']))
  for (const [name, columns] of [['liquidity', LIQUIDITY_COLUMNS] as const, ['balances', BALANCE_COLUMNS] as const]) {
    const rows = fieldsOf(wire[name], name)
    counts(blocks[name], name, rowsOf(rows, name, columns))
    places(rows['pool'], `${name}.pool`, poolIds)
  }
  places(ticks['pool'], 'ticks.pool', poolIds)
  if (wire['hookAmounts'] !== undefined) {
    const hooked = fieldsOf(wire['hookAmounts'], 'hookAmounts')
    rowsOf(hooked, 'hookAmounts', HOOK_COLUMNS)
    places(hooked['tick'], 'hookAmounts.tick', tickRows)
  }
  if (ticks['sender'] === undefined) return
  if (listOf(ticks['sender'], 'ticks.sender').length !== tickRows) refuse('ticks.sender', `has not ${tickRows} rows`)
  places(ticks['sender'], 'ticks.sender', listOf(wire['senders'] ?? [], 'senders').length, -1)
}

function fieldsOf(value: unknown, name: string): WireFields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) refuse(name, 'is no object')
  return value as WireFields
}

function listOf(value: unknown, name: string): readonly unknown[] {
  if (!Array.isArray(value)) refuse(name, 'is no list')
  return value
}

/** The number of rows, which is the same in all columns. */
function rowsOf(table: WireFields, name: string, columns: readonly string[]): number {
  const [first = 0, ...others] = columns.map((column) => listOf(table[column], `${name}.${column}`).length)
  if (others.some((rows) => rows !== first)) refuse(name, 'has columns of different lengths')
  return first
}

function pools(value: unknown): number {
  const rows = listOf(value, 'pools')
  for (const row of rows) {
    const pool = fieldsOf(row, 'a pool')
    fieldsOf(pool['token0'], 'token0')
    fieldsOf(pool['token1'], 'token1')
  }
  return rows.length
}

/** The counts of the blocks add up to `rows`. */
function counts(column: unknown, name: string, rows: number): void {
  let sum = 0
  for (const count of listOf(column, name)) {
    if (!isPlace(count, rows + 1)) refuse(`blocks.${name}`, 'is no list of counts')
    sum += count
  }
  if (sum !== rows) refuse(name, `has ${rows} rows, and its blocks count ${sum}`)
}

/** Whole numbers from `lowest` to below `end`. */
function places(column: unknown, name: string, end: number, lowest = 0): void {
  for (const place of listOf(column, name)) {
    if (place !== lowest && !isPlace(place, end)) refuse(name, 'names what the message does not have')
  }
}

function isPlace(value: unknown, end: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < end
}

function refuse(name: string, problem: string): never {
  throw new UnreadableMessage(`${name} ${problem}`)
}
