/** Candles outlive the expired ticks that they were made of. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { RESOLUTIONS } from '../../../aggregator/candles/candle.ts'
import { applyRetention, oldestWholeDay, readHorizon } from '../../../aggregator/candles/retention.ts'
import type { Difference } from '../../../aggregator/extras/verify/differences.ts'
import { verify } from '../../../aggregator/extras/verify/verify.ts'
import { asBlocks, fullBlocks, mine } from '../../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { rowsOf } from '../../support/rows.ts'
import { until } from '../../support/until.ts'
import { networkOf, startAggregator } from '../running.ts'

const DAY = 86_400
const network = networkOf('ethereum')
const now = Math.floor(Date.now() / 1000)

/** Twenty days up to an hour ago, then a reorg of the last block. */
const PLANS = fullBlocks(12, 31).map((plan) => ({ ...plan, secondsLater: 2 * DAY - 3_000 }))
const shifted = (chain: ReturnType<typeof mine>) => {
  const offset = now - 3_600 - (chain.at(-1)?.timestamp ?? 0)
  return chain.map((block) => ({ ...block, timestamp: block.timestamp + offset }))
}
const CHAIN = shifted(mine([], PLANS))

describe.skipIf(withoutClickHouse)('retention', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database?.drop())

  async function count(table: string, where = '1'): Promise<number> {
    const answer = await database.client.query({
      query: `SELECT count() AS rows FROM ${table} FINAL WHERE ${where}`,
      format: 'JSONEachRow',
    })
    const [row] = await answer.json<{ rows: string }>()
    return Number(row?.rows)
  }

  test('keeps everything unless it is told otherwise', async () => {
    expect((await readHorizon(database.client))()).toBe(0)
    await applyRetention(database.client, { ticks: undefined, candles: {} })
    const aggregator = await startAggregator(database.client, { network })
    await aggregator.append(asBlocks(network, CHAIN))
    await aggregator.stop()
    await database.client.command({ query: 'OPTIMIZE TABLE ticks FINAL' })
    expect(await count('ticks')).toBe(CHAIN.flatMap(({ ticks }) => ticks).length)
  })

  test('drops ticks and short candles of their age, and no others', async () => {
    const candles = await rowsOf(database.client, 'candles')
    await applyRetention(database.client, { ticks: 7, candles: { 1: 10, 60: 15 } })
    for (const table of ['ticks', 'candles']) await database.client.command({ query: `OPTIMIZE TABLE ${table} FINAL` })
    const kept = CHAIN.filter(({ timestamp }) => timestamp > now - 7 * DAY).flatMap(({ ticks }) => ticks)
    expect(await count('ticks')).toBe(kept.length)
    const days = { 1: 10, 60: 15, 3600: 10_000, 86400: 10_000 } as const
    for (const resolution of RESOLUTIONS) {
      const where = `resolution = ${resolution} AND time < now() - INTERVAL ${days[resolution]} DAY`
      expect(await count('candles', where)).toBe(0)
    }
    const long = (rows: readonly string[]) => rows.filter((row) => /"resolution":"(3600|86400)"/.test(row))
    expect(long(await rowsOf(database.client, 'candles'))).toEqual(long(candles))
  })

  test('no bucket that begins before the kept ticks is recomputed, whatever a rollback touches', async () => {
    const before = await rowsOf(database.client, 'candles')
    const fork = 2
    const branch = mine(
      CHAIN.slice(0, fork),
      PLANS.slice(fork).map((plan) => ({ ...plan, ticks: [] })),
      'other',
    )
    const aggregator = await startAggregator(database.client, { network })
    await aggregator.append(asBlocks(network, branch.slice(fork)))
    await aggregator.stop()
    expect(aggregator.facts.some(({ kind }) => kind === 'rolled-back')).toBe(true)
    const after = await rowsOf(database.client, 'candles')
    const oldest = await oldestWholeDay(database.client)
    const isOld = (row: string) => Date.parse((JSON.parse(row) as { time: string }).time) / 1000 < oldest - DAY
    expect(after.filter(isOld)).toEqual(before.filter(isOld))
    expect(before.filter(isOld).length).toBeGreaterThan(0)
  })

  test('verify holds nothing against ticks that are gone', async () => {
    const found: Difference[] = []
    for await (const one of verify(database.client, { network, signal: new AbortController().signal })) found.push(one)
    expect(found).toEqual([])
  })

  test('is applied in the background: nothing waits for what has expired by then', async () => {
    const client = database.connect({ settings: { alter_sync: '1' } })
    const undone = async () => {
      const answer = await client.query({
        query: `SELECT count() AS mutations FROM system.mutations
                WHERE database = currentDatabase() AND table = 'ticks' AND NOT is_done`,
        format: 'JSONEachRow',
      })
      return Number((await answer.json<{ mutations: string }>())[0]?.mutations)
    }
    await client.command({ query: 'SYSTEM STOP MERGES ticks' })
    await applyRetention(client, { ticks: 6, candles: { 1: 10, 60: 15 } })
    expect(await undone()).toBe(1)
    await client.command({ query: 'SYSTEM START MERGES ticks' })
    await until(async () => ((await undone()) === 0 ? true : undefined), 'what has expired is dropped')
  })

  test('told again it changes nothing, told otherwise it keeps what is left', async () => {
    await applyRetention(database.client, { ticks: 7, candles: { 1: 10, 60: 15 } })
    await applyRetention(database.client, { ticks: undefined, candles: {} })
    expect((await readHorizon(database.client))()).toBe(0)
  })

  test('a rule that was stored while the clock ran ahead gives way to the next one', async () => {
    await applyRetention(database.client, { ticks: 9, candles: {} })
    await database.client.command({ query: 'TRUNCATE TABLE retention' })
    const ahead = { table_name: 'ticks', rule: 'time + INTERVAL 9 DAY', days: 9, version: (now + 365 * DAY) * 1000 }
    await database.client.insert({ table: 'retention', values: [ahead], format: 'JSONEachRow' })
    await applyRetention(database.client, { ticks: 20, candles: {} })
    expect((await readHorizon(database.client))()).toBeLessThanOrEqual(now - 19 * DAY)
    await applyRetention(database.client, { ticks: undefined, candles: {} })
    expect((await readHorizon(database.client))()).toBe(0)
  })

  test.each([
    ['a tick of an orphaned block', 'ticks', { version: 1, is_deleted: 0 }, { version: 2, is_deleted: 1 }],
    ['a candle that lost its trades', 'candles', { version: 1, trades: 3 }, { version: 2, trades: 0 }],
  ])('%s does not come back where the part that takes it back is merged first', async (_, table, row, takesBack) => {
    const { client, drop } = await freshDatabase()
    try {
      await applyRetention(client, { ticks: 7, candles: { 1: 7 } })
      const key = { network, pool: '0x01', ...(table === 'candles' && { resolution: 1 }) }
      const insert = (...values: object[]) => client.insert({ table, values, format: 'JSONEachRow' })
      const parts = async () => {
        const answer = await client.query({
          query: `SELECT name FROM system.parts WHERE database = currentDatabase() AND table = '${table}' AND active`,
          format: 'JSONEachRow',
        })
        return answer.json<{ name: string }>()
      }
      await client.command({ query: `SYSTEM STOP MERGES ${table}` })
      const expired = now - 8 * DAY
      await insert({ ...key, ...row, time: expired })
      const [first] = await parts()
      await client.command({ query: `ALTER TABLE ${table} DETACH PART '${first?.name}'` })
      await insert({ ...key, ...takesBack, time: expired })
      await client.command({ query: `SYSTEM START MERGES ${table}` })
      await client.command({ query: `OPTIMIZE TABLE ${table} FINAL` })
      await client.command({ query: `SYSTEM STOP MERGES ${table}` })
      await client.command({ query: `ALTER TABLE ${table} ATTACH PART '${first?.name}'` })
      const shown = await client.query({
        query: `SELECT count() AS rows FROM ${table} FINAL WHERE pool = '0x01' ${table === 'candles' ? 'AND trades > 0' : ''}`,
        format: 'JSONEachRow',
      })
      expect(await shown.json()).toEqual([{ rows: '0' }])
    } finally {
      await drop()
    }
  })
})
