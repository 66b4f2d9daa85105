/** A market with awkward numbers and names, exported and asked over HTTP. */
import { expect } from 'vitest'
import type { PoolId } from '../../../../ingest/model/pool.ts'
import { randomOf } from '../../../simulation/random.ts'
import type { TestDatabase } from '../../../support/clickhouse.ts'
import { addressOf, block, openStore, poolOf, tick } from '../../../support/store.ts'
import type { Service } from '../../service.ts'

export const FIRST_SECOND = Date.UTC(2024, 0, 31, 22) / 1000
export const DAYS = 3
const SECONDS_A_BLOCK = 97
const BLOCKS = Math.floor(((DAYS - 1) * 86_400) / SECONDS_A_BLOCK)

const token = (digits: string, symbol: string, decimals: number) =>
  ({ address: addressOf(digits), symbol, name: symbol, decimals }) as const

/** Decimals from none to more than a double has, and names that a spreadsheet would run or a separator would break. */
export const ODD_POOLS = [
  poolOf(addressOf('a1'), token('e1', 'PLAIN', 18), token('e2', 'USD', 6)),
  poolOf(addressOf('a2'), token('e3', '=1+1', 0), token('e4', 'a,"b"\nc', 30)),
  poolOf(addressOf('a3'), token('e5', '-2+3', 8), token('e6', "O'Ne\\t", 77)),
  poolOf(`0x${'4c'.repeat(32)}`, token('e7', 'DÜST🦄', 2), token('e8', '@sum', 255), { protocol: 'dex-v4' }),
] as const

/** Random legs over the whole range of their types, some of them zero; the last block is on the third day. */
export async function storeOddMarket({ client }: TestDatabase, seed = 1): Promise<void> {
  const { between, chance } = randomOf(seed)
  const digits = (most: number) => BigInt(Array.from({ length: between(1, most) }, () => between(0, 9)).join(''))
  let logIndex = 0
  const swap = () => {
    const pool = ODD_POOLS[between(0, ODD_POOLS.length - 1)] ?? ODD_POOLS[0]
    const sign = chance(0.5) ? 1n : -1n
    return tick({
      pool,
      logIndex: ++logIndex,
      amount0: chance(0.05) ? 0n : sign * digits(38),
      amount1: chance(0.05) ? 0n : -sign * digits(38),
      sqrtPriceX96: digits(40) + 2n ** 64n,
      usdMicros: digits(22),
      // Every other row is as versions wrote it that kept no sender.
      ...(logIndex % 2 === 0 && { sender: addressOf(`5e${logIndex % 7}`) }),
    })
  }
  const store = openStore(client, 'ethereum')
  const at = (index: number) => FIRST_SECOND + index * SECONDS_A_BLOCK
  await store([block(100, FIRST_SECOND, { pools: [...ODD_POOLS] })])
  for (let from = 1; from < BLOCKS; from += 200) {
    const blocks = Array.from({ length: 200 }, (_, index) => from + index)
    await store(blocks.map((index) => block(100 + index, at(index), { ticks: chance(0.6) ? [swap(), swap()] : [] })))
  }
}

export type AnswerRow = Record<string, string | number>

/** The ticks of `pool=…`, with all columns of an export. */
export function ticksPath(asked: string): string {
  return `/v0/ticks?${asked}&include=position,sender`
}

/** All rows of a query over HTTP, oldest first, page by page. */
export async function pagesOf(service: Service, path: string, fromSecond: number): Promise<AnswerRow[]> {
  const isTicks = path.startsWith('/v0/ticks')
  const limit = isTicks ? 1_000 : 100
  let rows: AnswerRow[] = []
  let to = ''
  for (;;) {
    const from = new Date(fromSecond * 1_000).toISOString()
    const reply = await service.get(`${path}&limit=${limit}&from=${from}${to && `&to=${to}`}`)
    expect(reply.status, JSON.stringify(reply.body)).toBe(200)
    const { data } = reply.body as { data: AnswerRow[] }
    const known = new Set(rows.slice(0, 2_000).map((row) => row['id']))
    const older = isTicks ? data.filter(({ id }) => !known.has(id)) : data
    rows = [...older, ...rows]
    if (data.length < limit || older.length === 0) return rows
    const first = Date.parse(String(older[0]?.[isTicks ? 'timestamp' : 'time']))
    to = new Date(isTicks ? first + 1_000 : first).toISOString()
  }
}

export function placed(network: string, pool: PoolId, rows: readonly AnswerRow[]): AnswerRow[] {
  return rows.map((row) => ({ network, pool, ...row }))
}
