/** `/v0/pools/top`: its rows, filters and pages, what it costs, and what it refuses. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { PoolListBody } from '../../../../api/extras/pool-lists/operation.ts'
import { intercepted } from '../../../aggregator/statements.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { addressOf, block, openStore, poolOf } from '../../../support/store.ts'
import { MarketPools, ProblemBody } from '../../body.ts'
import { ARBITRUM_POOLS, NETWORKS_SERVED, POOLS, storeScenario, TIP } from '../../scenario.ts'
import { type Service, startService } from '../../service.ts'

const PATH = '/v0/pools/top'
const PEPE = POOLS.pepe.token0.address
const ADDED = ['change1h', 'change5m', 'heldUSD24h', 'buys24h', 'sells24h', 'symbol', 'isTrusted']

describe.skipIf(withoutClickHouse)('the top pools', () => {
  let database: TestDatabase
  let service: Service
  let statements = 0
  const clock = () => new Date(TIP * 1000)

  beforeAll(async () => {
    database = await freshDatabase()
    const client = intercepted(database.client, (send) => {
      statements += 1
      return send()
    })
    service = await startService({
      client,
      accounts: database.client,
      networks: NETWORKS_SERVED,
      clock,
      freshMs: 60_000,
      pollMs: 600_000,
    })
  })
  afterAll(async () => {
    await service?.stop()
    await database?.drop()
  })

  async function ask(query = ''): Promise<PoolListBody> {
    const { status, body } = await service.get(`${PATH}?${query}`)
    expect(status, `${query} ${JSON.stringify(body)}`).toBe(200)
    return body as PoolListBody
  }
  const rowsOf = async (query = '') => (await ask(query)).data
  const ids = async (query = '') => (await rowsOf(query)).map(({ id, network }) => `${network}/${id}`)
  const usedCredits = async () => {
    const { body } = await service.get('/v0/usage')
    return (body as { credits: { month: { used: number } } }).credits.month.used
  }

  test('are refused at no cost while nothing is stored', async () => {
    const { status, body, headers } = await service.get(PATH)
    expect([status, ProblemBody.parse(body).code]).toEqual([503, 'nothing_stored'])
    expect(headers.get('retry-after')).toBe('10')
    expect(await usedCredits()).toBe(0)
  })

  test('are pools of curated tokens, each with the fields of /v0/pools and the figures of its day', async () => {
    await service.stop()
    await storeScenario(database.client)
    service = await startService({ client: database.client, networks: NETWORKS_SERVED, clock, freshMs: 0 })
    const { data, credits_used, next_cursor } = await ask()
    expect([credits_used, next_cursor]).toEqual([1, null])
    const { side, small, v4, unswapped, silent } = POOLS
    expect(new Set(data.map(({ id, network }) => `${network}/${id}`))).toEqual(
      new Set([
        ...[POOLS.main, side, small, v4, unswapped, silent].map(({ id }) => `ethereum/${id}`),
        ...Object.values(ARBITRUM_POOLS).map(({ id }) => `arbitrum/${id}`),
      ]),
    )
    for (const row of data) {
      const asked = await service.get(`/v0/pools?pool=${row.id}&include=market`)
      const pool = MarketPools.parse(asked.body).data.find(({ network }) => network === row.network)
      const { network, ...shared } = pool ?? { network: undefined }
      expect(row).toMatchObject({ network, ...shared })
      expect(Object.keys(row)).toEqual([...Object.keys(pool ?? {}), ...ADDED])
    }
    const main = data.find(({ id }) => id === POOLS.main.id)
    expect(main).toMatchObject({ symbol: 'USDC-ETH', isTrusted: true, buys24h: 0, sells24h: 5, change24h: null })
    // Ether was at 1,900 USDC an hour before and at 2,050 five minutes before, and is at 2,000: the price on chain is the inverse.
    expect(main?.change1h).toBeCloseTo(1_900 / 2_000 - 1)
    expect(main?.change5m).toBeCloseTo(2_050 / 2_000 - 1)
    expect(Number(main?.heldUSD24h)).toBeGreaterThan(1_000_000)
  })

  test('of a pair are one row with the sums of its pools, whatever fees and forms of ether they have', async () => {
    const rows = await rowsOf('per=pair')
    const names = rows.map(({ symbol }) => symbol)
    expect(names.toSorted()).toEqual(['ETH-DAI', 'USDC-ETH', 'WBTC-ETH'])
    const [first] = rows
    expect(first).toMatchObject({ symbol: 'USDC-ETH', id: POOLS.main.id, network: 'ethereum', isTrusted: true })
    expect(1 / (first?.price ?? 0)).toBeGreaterThan(1_000)
    expect(Number(first?.pair?.volumeUSD24h)).toBeGreaterThan(100_000)
    // Ether was bought nine times, in pools of either order on two networks, for the first token of the lead.
    expect(first?.pair).toMatchObject({ pools: 5, buys24h: 0, sells24h: 9 })
    const silent = rows.find(({ symbol }) => symbol === 'WBTC-ETH')
    expect(silent).toMatchObject({ price: null, pair: { buys24h: 0, sells24h: 0, pools: 1 } })
    // Of one network alone.
    const ofArbitrum = (await rowsOf('per=pair&networks=arbitrum')).find(({ symbol }) => symbol === 'ETH-USDC')
    expect(ofArbitrum?.pair).toMatchObject({ pools: 1, buys24h: 1, sells24h: 0 })
  })

  test('are answered as the document shows', async () => {
    const request = `${PATH}?per=pair&networks=ethereum&limit=1`
    const { body } = await service.get(request)
    await expect(`${JSON.stringify({ request, body }, null, 2)}\n`).toMatchFileSnapshot(
      '../../../../api/extras/pool-lists/top-pools.json',
    )
  })

  test('are those that pass all filters', async () => {
    const all = await rowsOf('limit=100')
    const idsOf = (rows: typeof all) => rows.map(({ id }) => id)
    expect(idsOf(await rowsOf('networks=arbitrum'))).toEqual(idsOf(all.filter(({ network }) => network === 'arbitrum')))
    expect(await ids('networks=base')).toEqual([])
    expect(await ids('venues=sushi,pancake')).toEqual([])
    expect(await ids('venues=pancake,uniswap')).toHaveLength(all.length)
    const sound = all.filter(({ heldUSD24h }) => Number(heldUSD24h) >= 10_000)
    expect(sound.length).toBeGreaterThan(1)
    expect(idsOf(await rowsOf('minHeldUSD=10000'))).toEqual(idsOf(sound))
    // All were first seen at the start, two hours before.
    expect(await ids('maxAge=2h')).toEqual([])
    expect(await ids('minAge=2h&maxAge=121m')).toHaveLength(all.length)
    const moved = all.filter(({ change24h }) => change24h !== null)
    expect(idsOf(await rowsOf('minChange=-1'))).toEqual(idsOf(moved))
  })

  test('are sorted as asked, and told page by page, each once', async () => {
    const value = (rows: PoolListBody['data']) => rows.map((row) => Number(row.totalValueLockedUSD))
    const whole = await rowsOf('sort=value&limit=100')
    expect(value(whole)).toEqual(value(whole).toSorted((one, other) => other - one))
    for (const sort of ['volume', 'value', 'newest']) {
      const paged: string[] = []
      let pages = 0
      for (let cursor: string | null = ''; cursor !== null; ) {
        const { data, next_cursor } = await ask(`sort=${sort}&limit=2${cursor && `&cursor=${cursor}`}`)
        expect(data.length).toBeLessThanOrEqual(2)
        paged.push(...data.map(({ id, network }) => `${network}/${id}`))
        cursor = next_cursor
        pages += 1
      }
      expect(paged).toEqual(await ids(`sort=${sort}&limit=100`))
      expect(pages).toBe(5)
    }
  })

  test('of a token that is not trusted are its pools, by their ids', async () => {
    const before = await usedCredits()
    const rows = await rowsOf(`token=${PEPE.toUpperCase().replace('0X', '0x')}`)
    expect(rows.map(({ id, isTrusted, symbol }) => [id, isTrusted, symbol])).toEqual([
      [POOLS.pepe.id, false, 'PEPE-ETH'],
    ])
    expect(await ids(`token=${addressOf('77')}`)).toEqual([])
    expect(await ids(`token=${POOLS.main.token0.address}`)).not.toContain(`ethereum/${POOLS.silent.id}`)
    expect(await usedCredits()).toBe(before + 3)
  })

  test.each([
    ['token', ['token=', 'token=0x12', `token=${POOLS.v4.id}`, `token=${PEPE}&token=${PEPE}`]],
    ['networks', ['networks=solana', 'networks[]=ethereum']],
    ['venues', ['venues=uniswap;sushi', 'venues=Uniswap']],
    ['minHeldUSD', ['minHeldUSD=-1', 'minHeldUSD=1e9', 'minHeldUSD=NaN']],
    ['maxAge', ['maxAge=7', 'maxAge=0d', 'maxAge=7w']],
    ['minChange', ['minChange=5%25', 'minChange=Infinity', 'minChange=.5']],
    ['changeOver', ['changeOver=1d']],
    ['sort', ['sort=price', 'sort=volume&sort=value']],
    ['per', ['per=network']],
    ['limit', ['limit=0', 'limit=101']],
    ['cursor', ['cursor=', 'cursor=x', 'cursor=bnVsbA', 'cursor=WyJ4Il0', 'cursor=W10']],
  ])('are refused with the field and the rule of a bad %s, at no cost', async (name, queries) => {
    const before = await usedCredits()
    for (const query of queries) {
      const { status, body } = await service.get(`${PATH}?${query}`)
      expect([status, ProblemBody.parse(body).errors?.[0]?.field], query).toEqual([400, name])
    }
    expect(await usedCredits()).toBe(before)
  })

  test('take the cursor of the same order alone', async () => {
    const { next_cursor } = await ask('sort=value&limit=1')
    for (const query of ['sort=volume', 'sort=value&per=pair']) {
      const { status, body } = await service.get(`${PATH}?${query}&cursor=${next_cursor}`)
      expect([status, ProblemBody.parse(body).errors?.[0]?.message]).toEqual([
        400,
        'must be of an answer with the same sort, per and changeOver',
      ])
    }
  })

  test('need a key', async () => {
    expect((await service.get(PATH, {})).status).toBe(401)
    expect((await service.get(PATH, undefined, 'POST')).status).toBe(405)
  })

  test('take no further statement for other filters, orders and pages', async () => {
    await service.stop()
    const client = intercepted(database.client, (send) => {
      statements += 1
      return send()
    })
    const networks = NETWORKS_SERVED
    service = await startService({
      client,
      accounts: database.client,
      networks,
      clock,
      freshMs: 60_000,
      pollMs: 600_000,
    })
    await ask('limit=100')
    await ask(`token=${PEPE}`)
    statements = 0
    for (const query of [
      ...['sort=value', 'sort=gain', 'per=pair', 'minHeldUSD=5&maxAge=3h', 'networks=arbitrum&limit=1'],
      ...[`token=${PEPE}&sort=loss&changeOver=5m`, `token=${POOLS.main.token0.address}`],
    ])
      await ask(query)
    expect(statements).toBe(0)
  })

  test('are answered though one pair has very many pools', async () => {
    const { token0, token1 } = POOLS.v4
    const many = Array.from({ length: 1_000 }, (_, index) =>
      poolOf(`0x${index.toString(16).padStart(64, 'f')}`, token0, token1, { protocol: 'dex-v4', fee: index }),
    )
    await openStore(database.client, 'polygon')([block(1, TIP - 60, { pools: many.slice(0, 1) })])
    await openStore(database.client, 'ethereum')([block(5_000, TIP, { pools: many })])
    await service.stop()
    service = await startService({ client: database.client, networks: NETWORKS_SERVED, clock })
    const rows = await rowsOf('per=pair')
    expect(rows.map(({ symbol }) => symbol)).toContain('USDC-ETH')
    expect(rows[0]?.id).toBe(POOLS.main.id)
    expect((await rowsOf(`token=${token1.address}&limit=100`)).length).toBeLessThanOrEqual(100)
  })
})
