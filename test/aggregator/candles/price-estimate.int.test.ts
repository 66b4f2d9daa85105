import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { RowBinary } from '../../../aggregator/store/row-binary.ts'
import { contentOf, insertTicks, versionTicks } from '../../../aggregator/write/tick-rows.ts'
import { anyTick } from '../../support/any-tick.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { seededOnServers } from '../../support/seed.ts'
import { networkOf } from '../running.ts'

const POOL = `0x${'fe'.repeat(20)}` as const
const RUNS = 50
const TICKS_A_RUN = 2_000
const PLACE = { number: 1, hash: `0x${'00'.repeat(32)}`, timestamp: 1_700_000_000 } as const

describe.skipIf(withoutClickHouse)('the prices of a row', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database?.drop())

  test('prices of any row are read back as they were written, bit for bit', async () => {
    let run = 0
    const ticks = fc.array(anyTick({ pool: POOL }), { minLength: TICKS_A_RUN, maxLength: TICKS_A_RUN, size: 'max' })
    await fc.assert(
      fc.asyncProperty(ticks, async (ticks) => {
        const network = networkOf(`run ${++run}`)
        const block = { ...PLACE, ...NOTHING, ticks: ticks.map((tick, logIndex) => ({ ...tick, logIndex })) }
        await insertTicks(database.client, versionTicks(network, contentOf([{ network, block, version: 1n }])))
        expect(await bitsOf(network)).toStrictEqual(ticks.map(({ price, spotPrice }) => bits(price, spotPrice)))
      }),
      seededOnServers({ numRuns: RUNS }),
    )
  })

  async function bitsOf(network: string): Promise<string[]> {
    const answer = await database.client.query({
      query: `SELECT hex(price), hex(spot_price) FROM ticks FINAL WHERE network = {network:String} ORDER BY log_index`,
      query_params: { network },
      format: 'TabSeparated',
    })
    return (await answer.text()).trim().split('\n')
  }
})

const NOTHING = { ticks: [], pools: [], liquidity: [], balances: [] }

function bits(...prices: readonly number[]): string {
  return prices.map((price) => new RowBinary().float64(price).bytes.toString('hex').toUpperCase()).join('\t')
}
