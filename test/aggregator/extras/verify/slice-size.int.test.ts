/** A slice reads as many rows of a large store as of a small one, whatever its pools trade. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { nextCandleSlice } from '../../../../aggregator/extras/verify/candle-slices.ts'
import { START_OF_PASS, type VerifyPosition } from '../../../../aggregator/extras/verify/position.ts'
import type { SliceContext, VerifySlice } from '../../../../aggregator/extras/verify/slice.ts'
import type { NetworkName } from '../../../../ingest/model/network.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { inSoak } from '../../../support/sample.ts'
import { networkOf } from '../../running.ts'
import { counted } from '../../statements.ts'

const FIRST_SECOND = Date.UTC(2025, 2, 1) / 1000
const DAYS = 20
const SMALL = { network: networkOf('small'), ticks: 50_000 }
const LARGE = { network: networkOf('large'), ticks: 500_000 }
const bounds = { ticks: 10_000, pools: 50, blocks: 2_000 }
/** Granules of 1,024 rows of some parts, at both ends of what a slice reads, of four resolutions. */
const GRANULES = 60 * 1_024

describe.skipIf(withoutClickHouse || inSoak.skip)('of a store that is ten times as large', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await freshDatabase()
    for (const store of [SMALL, LARGE]) await storeTicks(store)
  })
  afterAll(() => database?.drop())

  /** One of two ticks is of one pool, and a tenth of all falls into one hour; the others are of pools of thirty ticks each. */
  async function storeTicks({ network, ticks }: { network: NetworkName; ticks: number }): Promise<void> {
    const run = (query: string) => database.client.command({ query })
    const pool = `concat('0x', lower(hex(if(number % 2 = 0, 0x80000000, number * 2654435761 % intDiv(${ticks}, 60)))))`
    const second = `${FIRST_SECOND} + if(number % 10 = 0, 36000 + number % 3600, intDiv(number * ${DAYS * 86_400}, ${ticks}))`
    await run(
      `INSERT INTO ticks (network, pool, time, block, log_index, transaction_hash, amount0, amount1, sqrt_price, liquidity, pool_tick, fee, scale, version)
       SELECT '${network}', ${pool}, toDateTime(${second}, 'UTC'), intDiv(number, 10), number % 10, unhex(repeat('00', 32)), 1, 1, bitShiftLeft(toUInt256(1), 96), 1, 0, 0, 1, 1
       FROM numbers(${ticks})`,
    )
    for (const seconds of [1, 60, 3_600, 86_400])
      await run(
        `INSERT INTO candles SELECT network, pool, ${seconds} AS resolution, toDateTime(intDiv(toUnixTimestamp(time), ${seconds}) * ${seconds}, 'UTC') AS bucket,
           1, 0, 0, 0, 0, 0, 0, 0, count(), count(), 0, count(), 1 FROM ticks WHERE network = '${network}' GROUP BY network, pool, bucket`,
      )
    await run(
      `INSERT INTO pools (network, pool, block, version) SELECT network, pool, 0, 1 FROM ticks WHERE network = '${network}' GROUP BY network, pool`,
    )
    const hash = "unhex(repeat('00', 32))"
    await run(
      `INSERT INTO blocks (network, number, hash, parent_hash, time, first, ticks, digest, version, is_deleted, finalized)
       SELECT network, block, ${hash}, ${hash}, min(time), block, count(), sum(tick_digest), 1, 0, block
       FROM ticks WHERE network = '${network}' GROUP BY network, block`,
    )
  }

  type NextSlice = (context: SliceContext, position: VerifyPosition) => Promise<VerifySlice | undefined>

  /** Rows that the largest slice reads, and how many slices there are. */
  async function walk(network: NetworkName, next: NextSlice, every: number): Promise<{ most: number; slices: number }> {
    const point = { block: { number: 2 ** 40, hash: '' }, before: FIRST_SECOND + DAYS * 86_400 }
    let position: VerifyPosition | undefined = START_OF_PASS
    let [most, slices] = [0, 0]
    while (position) {
      const counting = counted(database.client)
      const client = slices % every === 0 ? counting.client : database.client
      const slice: VerifySlice | undefined = await next(
        { client, network, bounds, point, oldest: FIRST_SECOND },
        position,
      )
      expect(slice?.recheck).toBeUndefined()
      most = Math.max(most, counting.rowsRead())
      slices++
      position = slice?.next
    }
    return { most, slices }
  }

  test.each([['candles', nextCandleSlice]] as const)(
    'a slice of %s reads no more rows',
    async (_, next) => {
      const [small, large] = [await walk(SMALL.network, next, 1), await walk(LARGE.network, next, 4)]
      expect(small.most).toBeLessThan(8 * bounds.ticks + GRANULES)
      expect(large.most).toBeLessThan(small.most + GRANULES)
      expect(large.slices).toBeGreaterThan(5 * small.slices)
    },
    240_000,
  )
})
