/** Parts that history leaves are merged once no more of it comes, by the real engine, and no row is lost. */
import { setTimeout } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { mergeParts } from '../../../aggregator/maintenance/part-merges.ts'
import { ask, run } from '../../../aggregator/store/store.ts'
import { runPartMerges } from '../../../infra/process/stages/part-merges.ts'
import type { Fact } from '../../../infra/telemetry/fact.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { inSoak } from '../../support/sample.ts'
import { until } from '../../support/until.ts'
import { intercepted } from '../statements.ts'

/** The engine itself merges them where there are `merge_selector_base` of them. */
const PARTS = 5
const ROWS = 5_000
const { signal } = new AbortController()
const SMALL = { leastBytes: 1, quietSeconds: 0, signal }

describe.skipIf(withoutClickHouse)('parts of history', () => {
  let database: TestDatabase
  let client: ClickHouseClient
  beforeEach(async () => {
    database = await freshDatabase()
    client = database.client
  })
  afterEach(() => database?.drop())

  /** Each part has newer versions of a third of the rows before it. */
  async function storeParts(parts: number, rows = ROWS): Promise<void> {
    for (let part = 0; part < parts; part++)
      await run(
        client,
        `INSERT INTO candles (network, pool, resolution, time, open, trades, version)
         SELECT 'base', lower(hex(number)), 1, toDateTime(1700000000 + number), {part:UInt32}, 1, {part:UInt32} + 1
         FROM numbers({first:UInt32}, {rows:UInt32})`,
        { part, first: Math.floor((part * rows * 2) / 3), rows },
      )
  }

  async function partsOf(table: string): Promise<number> {
    const query =
      'SELECT toUInt32(count()) AS parts FROM system.parts WHERE active AND database = currentDatabase() AND table = {table:String}'
    const [row] = await ask<{ parts: number }>(client, query, { table })
    return row?.parts ?? 0
  }

  const sumOf = () =>
    ask(client, 'SELECT count() AS rows, sum(cityHash64(pool, time, close)) AS sum FROM candles FINAL', {})

  test('become few, with the rows that they had', async () => {
    await storeParts(PARTS)
    const before = await sumOf()
    expect(await mergeParts(client, SMALL)).toBe(true)
    while (await mergeParts(client, SMALL));
    expect(await partsOf('candles')).toBeLessThanOrEqual(3)
    expect(await sumOf()).toEqual(before)
    expect(await mergeParts(client, SMALL)).toBe(false)
  })

  test('are left while history comes, and while they are small or few', async () => {
    await storeParts(PARTS)
    expect(await mergeParts(client, { ...SMALL, quietSeconds: 3_600 })).toBe(false)
    expect(await mergeParts(client, { quietSeconds: 0, signal })).toBe(false)
    expect(await mergeParts(client, { ...SMALL, parts: PARTS })).toBe(false)
    expect(await mergeParts(client, { ...SMALL, mostBytes: 2 })).toBe(false)
    expect(await partsOf('candles')).toBe(PARTS)
  })

  test('do not wait for the inserts of live blocks', async () => {
    await storeParts(PARTS, ROWS - 1)
    expect(await mergeParts(client, { ...SMALL, quietSeconds: 3_600 })).toBe(true)
  })

  test('are an error where the engine can merge none of them', async () => {
    await storeParts(PARTS)
    await run(client, 'SYSTEM STOP MERGES candles', {})
    await expect(mergeParts(client, SMALL)).rejects.toThrow()
    expect(await partsOf('candles')).toBe(PARTS)
  })

  test('are merged to the end where the statement is cut off, and not begun again meanwhile', inSoak, async () => {
    await storeParts(PARTS, 1_000_000)
    const cutOff = intercepted(client, async (send, statement) => {
      const sent = send()
      if (statement !== 'command') return sent
      await setTimeout(100)
      throw new Error('Timeout error.')
    })
    expect(await mergeParts(cutOff, SMALL)).toBe(true)
    expect(await partsOf('candles')).toBe(PARTS)
    expect(await mergeParts(client, SMALL)).toBe(false)
    await until(async () => ((await partsOf('candles')) < PARTS ? true : undefined), 'the parts are merged')
  })

  test('are asked for until the signal aborts, and a server that fails is told of', async () => {
    const failing = intercepted(client, () => {
      throw new Error('The server is away.')
    })
    const facts: Fact[] = []
    const stopping = new AbortController()
    const running = runPartMerges(
      { shards: [failing] },
      { report: (fact) => void facts.push(fact), signal: stopping.signal },
    )
    await until(async () => facts.find(({ kind }) => kind === 'merges-waiting'), 'the failure is told')
    expect(facts).toMatchObject([{ kind: 'merges-waiting', retryMs: 10_000 }])
    stopping.abort()
    await running
  })
})
