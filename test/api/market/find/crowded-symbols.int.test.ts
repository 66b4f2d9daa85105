/** Symbols that more tokens have than are looked at one by one: only pools of $10,000 or more count, and these are found without an order of all. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { sqrtPriceAtTick } from '../../../../api/market/pools/tick-math.ts'
import type { Pool, Token } from '../../../../ingest/model/pool.ts'
import { intercepted } from '../../../aggregator/statements.ts'
import { type Random, randomOf } from '../../../simulation/random.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { addressOf, balance, block, liquidity, openStore, poolOf, tick } from '../../../support/store.ts'
import { Pools } from '../../body.ts'
import { minute, NETWORKS_SERVED, POOLS, storeScenario, TIP } from '../../scenario.ts'
import { type Service, startService } from '../../service.ts'

const ETHER = 10n ** 18n
const WETH = POOLS.main.token1
const MANY = 1_200
const LAST = TIP + 60

let logs = 10_000

function tokenOf(symbol: string, address: string): Token {
  return { ...POOLS.pepe.token0, address: addressOf(address), symbol }
}

function poolWith(token: Token, id: string, atTick: number): Pool {
  const [token0, token1] = token.address < WETH.address ? [token, WETH] : [WETH, token]
  return poolOf(`0x${id.padStart(8, '0').padEnd(64, 'b')}`, token0, token1, {
    protocol: 'dex-v4',
    initialSqrtPriceX96: sqrtPriceAtTick(atTick),
  })
}

/** On both sides of the address of WETH, worth from nothing to millions; a third of them has traded since. */
function anyPool(random: Random, number: number) {
  const address = `${random.pick(['0', 'f'])}e${number.toString(16).padStart(6, '0')}`
  const [created, now] = [random.between(-50_000, 50_000), random.between(-50_000, 50_000)]
  const pool = poolWith(tokenOf('MOON', address), number.toString(16), created)
  const changes = Array.from({ length: random.between(1, 4) }, () => {
    const lower = 10 * random.between(-8_000, 7_000)
    const upper = lower + 10 * random.between(1, 1_000)
    const delta = 10n ** BigInt(random.between(15, 22))
    const mint = liquidity(pool, logs++, lower, upper, delta)
    return random.chance(0.3) ? [mint, liquidity(pool, logs++, lower, upper, -delta)] : [mint]
  })
  const [amount0, amount1, sqrtPriceX96] = [1n, -1n, sqrtPriceAtTick(now)]
  const ticks = random.chance(0.3)
    ? [tick({ pool, logIndex: logs++, amount0, amount1, sqrtPriceX96, liquidity: 1n })]
    : []
  return { pool, liquidity: changes.flat(), ticks }
}

describe.skipIf(withoutClickHouse)('a symbol of many tokens', () => {
  let database: TestDatabase
  let write: ReturnType<typeof openStore>
  const services: Service[] = []
  const random = randomOf(45)
  const anyPools = Array.from({ length: 120 }, (_, number) => anyPool(random, number))
  const balances = ['0', '5', '6'].map((digit, ethers) => ({
    pool: poolOf(addressOf(`1${digit}`), tokenOf('MOON', `1${digit}`), WETH),
    held: BigInt(ethers + 4) * ETHER,
  }))

  beforeAll(async () => {
    database = await freshDatabase()
    await storeScenario(database.client)
    write = openStore(database.client, 'ethereum')
    await write([
      block(130, minute(121), { pools: [...anyPools, ...balances].map(({ pool }) => pool) }),
      block(131, LAST, {
        liquidity: anyPools.flatMap((one) => one.liquidity),
        ticks: anyPools.flatMap((one) => one.ticks),
        balances: balances.map(({ pool, held }) => balance(pool, 10n ** 40n, held)),
      }),
    ])
  })
  afterEach(async () => {
    for (const service of services.splice(0)) await service.stop()
  })
  afterAll(() => database?.drop())

  /** `ordered`: how often the pools of all tokens of a symbol were ordered. */
  async function open() {
    const counts = { ordered: 0 }
    const client = intercepted(database.client, (send, _statement, [request]) => {
      if ((request as { query: string }).query.includes('one_called')) counts.ordered += 1
      return send()
    })
    const clock = () => new Date((LAST + 10) * 1_000)
    const accounts = database.client
    const service = await startService({ client, accounts, freshMs: 1_000, networks: NETWORKS_SERVED, clock })
    services.push(service)
    return { service, counts }
  }

  async function poolsAt(service: Service, path: string) {
    const { status, body } = await service.get(path)
    expect(status, JSON.stringify(body)).toBe(200)
    return Pools.parse(body).data
  }

  test('has exactly the pools that hold $10,000 or more, without an order of all', async () => {
    const { service, counts } = await open()
    const found = await poolsAt(service, '/v0/pools?symbol=MOON-WETH')
    const worth = []
    for (const { pool } of [...anyPools, ...balances]) {
      const [one] = await poolsAt(service, `/v0/pools?pool=${pool.id}`)
      if (Number(one?.totalValueLockedUSD) >= 10_000) worth.push(pool.id)
    }
    expect(found.map(({ id }) => id).toSorted()).toEqual(worth.toSorted())
    expect(worth.length).toBeGreaterThan(15)
    expect(worth.length).toBeLessThan(100)
    expect(counts.ordered).toBe(0)
  })

  test('that nothing is held for is told from one that no token has', async () => {
    const pools = Array.from({ length: 150 }, (_, number) =>
      poolWith(tokenOf('VOID', `2e${number.toString(16).padStart(6, '0')}`), `c${number.toString(16)}`, 0),
    )
    await write([block(140, LAST + 1, { pools })])
    const { service } = await open()
    const [untrusted, unknown] = [
      await service.get('/v0/candles?symbol=VOID-WETH&interval=1h'),
      await service.get('/v0/candles?symbol=NOTHING-WETH&interval=1h'),
    ]
    expect([untrusted.status, unknown.status]).toEqual([404, 404])
    expect(untrusted.body).not.toEqual(unknown.body)
    expect(JSON.stringify(untrusted.body)).toContain('too little to be trusted')
  })

  test('has no pool of a token that was renamed from it, few or many', async () => {
    const [few, many] = ['GONE', 'LOST'].map((symbol, place) =>
      Array.from({ length: 150 }, (_, number) =>
        poolWith(
          tokenOf(symbol, `${3 + place}e${number.toString(16).padStart(6, '0')}`),
          `f${place}${number.toString(16)}`,
          0,
        ),
      ),
    ) as [Pool[], Pool[]]
    const held = [...few.slice(0, 2), ...many.slice(0, 50)]
    await write([
      block(145, LAST + 1, {
        pools: [...few, ...many],
        liquidity: held.map((pool) => liquidity(pool, logs++, -60, 60, 10n ** 22n)),
      }),
    ])
    const renamed = [few[0], many[0]].map((pool) =>
      pool?.token0.address === WETH.address ? pool.token1 : pool?.token0,
    )
    await database.client.insert({
      table: 'token_names',
      values: renamed.map((token) => ({
        network: 'ethereum',
        token: token?.address,
        symbol: 'ELSE',
        name: 'Else',
        former: [token?.symbol],
        block: 145,
      })),
      format: 'JSONEachRow',
    })
    const { service } = await open()
    const shown = async (symbol: string) =>
      (await poolsAt(service, `/v0/pools?symbol=${symbol}-WETH`)).map(({ id }) => id).toSorted()
    expect(await shown('GONE')).toEqual([few[1]?.id])
    expect(await shown('LOST')).toEqual(
      many
        .slice(1, 50)
        .map(({ id }) => id)
        .toSorted(),
    )
  })

  test('has the one pool of value among a thousand with huge positions of their own token, out of range', async () => {
    const copies = Array.from({ length: MANY }, (_, number) =>
      poolWith(tokenOf('FAKE', `0f${number.toString(16).padStart(6, '0')}`), `d${number.toString(16)}`, 0),
    )
    const real = poolWith(tokenOf('FAKE', '0f8'), 'ea1', 0)
    await write([
      block(150, LAST + 2, {
        pools: [...copies, real],
        liquidity: [
          ...copies.map((pool) => liquidity(pool, logs++, 60, 120, 10n ** 30n)),
          liquidity(real, logs++, -60, 60, 10n ** 22n),
        ],
      }),
    ])
    const { service, counts } = await open()
    expect((await poolsAt(service, '/v0/pools?symbol=FAKE-WETH')).map(({ id }) => id)).toEqual([real.id])
    expect(counts.ordered).toBe(1)
  })
})
