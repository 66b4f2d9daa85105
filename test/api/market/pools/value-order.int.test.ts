import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { balance, block, liquidity, openStore } from '../../../support/store.ts'
import { Pools } from '../../body.ts'
import { buyEther, POOLS, START } from '../../scenario.ts'
import { type Service, startService } from '../../service.ts'

const DOLLAR = 10n ** 6n
const ETHER = 10n ** 18n
/** A position in USDC alone, worth $3M. */
const POSITION = [200_400, 200_500, 135n * 10n ** 17n] as const
const BLOCKS = 20
const ASKED_PER_BLOCK = 5

describe.skipIf(withoutClickHouse)('the pools of a pair, while trades continue', () => {
  let database: TestDatabase
  let service: Service
  let last = START

  beforeAll(async () => {
    database = await freshDatabase()
    const { client } = database
    service = await startService({
      client,
      networks: [NETWORKS.ethereum],
      clock: () => new Date(last * 1000),
      freshMs: 1_000,
    })
  })
  afterAll(async () => {
    await service?.stop()
    await database?.drop()
  })

  test('are sorted by the value that the answer shows, 100 times of 100', async () => {
    const { main, side, small } = POOLS
    const store = openStore(database.client, 'ethereum')
    // `main` has held its value all day, `side` and `small` get theirs by turns for one block.
    await store([
      block(1, START, {
        pools: [main, side, small],
        ticks: [main, side, small].map((pool) => buyEther(pool, ETHER, 2_000n)),
        balances: [balance(main, 2_000_000n * DOLLAR, 0n), balance(side, DOLLAR, 0n), balance(small, DOLLAR, 0n)],
      }),
    ])
    last = START + 80_000
    const write = (turn: number) => {
      const [rich, poor] = turn % 2 === 0 ? [side, small] : [small, side]
      const [lower, upper, amount] = POSITION
      last = START + 80_000 + turn * 12
      return store([
        block(10 + turn, last, {
          ticks: [buyEther(main, ETHER, 2_000n)],
          liquidity: [
            liquidity(rich, 9_000 + turn, lower, upper, amount),
            ...(turn > 0 ? [liquidity(poor, 9_900 + turn, lower, upper, -amount)] : []),
          ],
          balances: [balance(rich, 3_000_000n * DOLLAR, 0n), balance(poor, DOLLAR, 0n)],
        }),
      ])
    }
    const firsts: string[] = []
    for (let turn = 0; turn < BLOCKS; turn++) {
      const asked = Array.from({ length: ASKED_PER_BLOCK }, () => service.get('/v0/pools?symbol=WETH-USDC'))
      const [answers] = await Promise.all([Promise.all(asked), write(turn)])
      for (const { body } of answers) {
        const { data } = Pools.parse(body)
        const values = data.map(({ totalValueLockedUSD }) => Number(totalValueLockedUSD))
        expect(values).toEqual(values.toSorted((one, other) => other - one))
        firsts.push(data[0]?.id ?? '')
      }
      await expect
        .poll(async () => Pools.parse((await service.get('/v0/pools?symbol=WETH-USDC')).body).data[0]?.id)
        .toBe((turn % 2 === 0 ? side : small).id)
    }
    expect(firsts).toHaveLength(BLOCKS * ASKED_PER_BLOCK)
    expect(new Set(firsts).size).toBeGreaterThan(1)
  })
})
