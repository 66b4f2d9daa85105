/** A store of the version before, whose ticks hold their prices as they are: what becomes of it, wherever the process dies meanwhile. */
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { RowBinary } from '../../../aggregator/store/row-binary.ts'
import { insertRows } from '../../../aggregator/store/store.ts'
import { migrate, readMigrations } from '../../../infra/clickhouse/migrate.ts'
import { statementsOf } from '../../../infra/clickhouse/statements.ts'
import type { Tick } from '../../../ingest/model/tick.ts'
import { anyTick } from '../../support/any-tick.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { drawn } from '../../support/sample.ts'

const MIGRATIONS = join(import.meta.dirname, '../../../infra/clickhouse/migrations')
const OURS = '0010_compact_ticks'
const PARTS = 5
const TICKS_A_PART = 1_000
const POOL = `0x${'fe'.repeat(20)}` as const
const MONTH = 31 * 86_400

const ticks = fc.array(anyTick({ pool: POOL }), { minLength: TICKS_A_PART, maxLength: TICKS_A_PART, size: 'max' })
const STORED = fc.sample(ticks, { numRuns: PARTS, seed: 10 })

describe.skipIf(withoutClickHouse)('a store of the version before', () => {
  let before: string
  let database: TestDatabase

  beforeAll(async () => {
    before = await mkdtemp(join(tmpdir(), 'candlepool-migrations-'))
    for (const file of await readdir(MIGRATIONS)) {
      if (file < OURS) await cp(join(MIGRATIONS, file), join(before, file))
    }
  })
  afterAll(() => rm(before, { recursive: true }))

  beforeEach(async () => {
    database = await freshDatabase()
    const { client } = database
    await client.command({ query: `DROP DATABASE ${database.database} SYNC` })
    await migrate(client, { ...database, directory: before })
    for (const [index, ticks] of STORED.entries()) {
      const timestamp = 1_700_000_000 + index * MONTH
      await insertRows(client, 'ticks', (out) => {
        for (const [logIndex, tick] of ticks.entries()) formerRow(out, timestamp, { ...tick, logIndex })
      })
    }
  })
  afterEach(() => database.drop())

  test.each(drawn('statements before a death', [0, 1, 2, 3], 1))(
    'keeps its prices to the last bit where the process dies after %i statements',
    async (count) => {
      const { client } = database
      const prices = await pricesOf()
      expect(prices.split('\n')).toHaveLength(PARTS * TICKS_A_PART)
      const [migration] = (await readMigrations(MIGRATIONS)).filter(({ name }) => name === OURS)
      // What they begin is still under way when it dies.
      for (const query of statementsOf(migration?.sql ?? '').slice(0, count)) await client.command({ query })
      expect(await pricesOf()).toBe(prices)
      expect(await migrate(client, database)).toContain(OURS)
      expect(await pricesOf()).toBe(prices)
      expect(await storedPrices()).toBe('sqrt_price')
      // As where it dies before it has said that all is done.
      await client.command({ query: 'TRUNCATE TABLE migrations' })
      await migrate(client, database)
      await client.command({ query: 'OPTIMIZE TABLE ticks FINAL' })
      expect(await pricesOf()).toBe(prices)
    },
  )

  const pricesOf = () => ask('SELECT block, log_index, hex(price), hex(spot_price) FROM ticks ORDER BY ALL')
  const storedPrices = () =>
    ask(`SELECT DISTINCT column FROM system.parts_columns
         WHERE active AND database = currentDatabase() AND table = 'ticks' AND column LIKE '%price'`)
  async function ask(query: string): Promise<string> {
    const answer = await database.client.query({ query, format: 'TabSeparated' })
    return (await answer.text()).trim()
  }
})

/** As the version before wrote it. */
function formerRow(out: RowBinary, timestamp: number, tick: Tick): void {
  out.string('ethereum').string(tick.pool).uint32(timestamp).uint64(timestamp).uint32(tick.logIndex)
  out.hash(tick.transactionHash).integer(tick.amount0, 256).integer(tick.amount1, 256)
  out.integer(tick.sqrtPriceX96, 256).integer(tick.liquidity, 128).int32(tick.poolTick).uint32(tick.fee)
  out.float64(tick.price).float64(tick.spotPrice).integer(tick.amountUsdMicros, 256).uint64(1).uint8(0)
}
