/** Chapter 4. The aggregator folds ticks into candles; the core in TypeScript and ClickHouse in SQL come to the same bits. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bucketStart, type Candle, fromTick, merge, RESOLUTIONS } from '../../aggregator/candles/candle.ts'
import { blocksOf } from '../../ingest/model/message.ts'
import { arrayLog } from '../support/array-log.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { storeDay } from './day.ts'

type Row = Pick<Candle, 'execution' | 'spot' | 'trades' | 'buys' | 'unexecuted'> & {
  bucket: number
  volume0: string
  volume1: string
  usd: string
  bought0: string
  bought1: string
}

describe.skipIf(withoutClickHouse)('a day of ticks', () => {
  const log = arrayLog()
  let database: TestDatabase

  beforeAll(async () => {
    database = await freshDatabase()
    await storeDay(database.client, log)
  })

  afterAll(() => database?.drop())

  /** Stored candles by bucket, in the core's own shape. Floats are written in their shortest form, which reads back to the bit. */
  async function storedCandles(resolution: number): Promise<Map<number, Candle>> {
    const prices = 'Tuple(open Float64, high Float64, low Float64, close Float64)'
    const answer = await database.client.query({
      query: `SELECT toUnixTimestamp(time) AS bucket, toUInt32(trades) AS trades, toUInt32(buys) AS buys, toUInt32(unexecuted) AS unexecuted,
                     CAST((open, high, low, close), '${prices}') AS execution,
                     CAST((spot_open, spot_high, spot_low, spot_close), '${prices}') AS spot,
                     toString(volume0) AS volume0, toString(volume1) AS volume1, toString(volume_usd * 1000000) AS usd,
                     toString(bought0) AS bought0, toString(bought1) AS bought1
              FROM candles FINAL WHERE resolution = {resolution:UInt32} AND trades > 0 ORDER BY time`,
      query_params: { resolution },
      format: 'JSONEachRow',
    })
    const rows = await answer.json<Row>()
    return new Map(
      rows.map(({ bucket, volume0, volume1, usd, bought0, bought1, ...same }) => {
        const sums = { volume0: BigInt(volume0), volume1: BigInt(volume1), volumeUsdMicros: BigInt(usd) }
        const bought = { buyVolume0: BigInt(bought0), buyVolume1: BigInt(bought1) }
        return [bucket, { ...same, ...sums, ...bought }]
      }),
    )
  }

  test('is one candle of 6,046 swaps: prices are WETH per USDC, volumes are raw units', async () => {
    const [day] = (await storedCandles(86_400)).values()
    const { execution, volume0, volume1, trades } = day ?? {}
    expect({ ...execution, volume0, volume1, trades }).toMatchInlineSnapshot(`
      {
        "close": 0.0004408714005458635,
        "high": 0.00045514515274412524,
        "low": 0.00043824003328905544,
        "open": 0.00044079835635108883,
        "trades": 6046,
        "volume0": 246966136903766n,
        "volume1": 110106227894665936356241n,
      }
    `)
  })

  test.each(RESOLUTIONS)('has the candles of %i s that the core makes of the same ticks', async (resolution) => {
    const folded = new Map<number, Candle>()
    for (const { timestamp, ticks } of log.messages.flatMap(blocksOf)) {
      const bucket = bucketStart(timestamp, resolution)
      for (const tick of ticks) {
        const earlier = folded.get(bucket)
        folded.set(bucket, earlier ? merge(earlier, fromTick(tick)) : fromTick(tick))
      }
    }
    expect(await storedCandles(resolution)).toEqual(folded)
  })

  test('may be cut anywhere: merged seconds, minutes or hours are the day', async () => {
    const [day] = (await storedCandles(86_400)).values()
    for (const resolution of [1, 60, 3_600]) {
      expect([...(await storedCandles(resolution)).values()].reduce(merge)).toEqual(day)
    }
  })
})
