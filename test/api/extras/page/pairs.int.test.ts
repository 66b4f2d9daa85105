import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { PairsBody } from '../../../../api/extras/page/page-pairs.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { addressOf, block, openStore, poolOf } from '../../../support/store.ts'
import { ProblemBody } from '../../body.ts'
import { NETWORKS_SERVED, POOLS, storeScenario, TIP } from '../../scenario.ts'
import { type Service, startService } from '../../service.ts'

describe.skipIf(withoutClickHouse)('the pairs of the page', () => {
  let database: TestDatabase
  let service: Service
  const clock = () => new Date(TIP * 1000)

  beforeAll(async () => {
    database = await freshDatabase()
    service = await startService({ client: database.client, networks: NETWORKS_SERVED, clock })
  })
  afterAll(async () => {
    await service?.stop()
    await database?.drop()
  })

  const pairs = async (query = '') => ((await service.get(`/page/pairs${query}`)).body as PairsBody).data
  const usedCredits = async () => {
    const { body } = await service.get('/v0/usage')
    return (body as { credits: { month: { used: number } } }).credits.month.used
  }

  test('an empty store has no pairs', async () => {
    expect(await pairs()).toEqual([])
  })

  test('each pair is there once, whatever pools, fees and forms of ether it has, and costs nothing', async () => {
    await storeScenario(database.client)
    const before = await usedCredits()
    const rows = await pairs()
    const names = rows.map(({ symbols }) => symbols.join('-'))
    expect(new Set(names.map((name) => name.split('-').toSorted().join())).size).toBe(names.length)
    expect(names.toSorted()).toEqual(['ETH-DAI', 'USDC-ETH', 'WBTC-ETH'])
    const [first] = rows
    expect(first).toMatchObject({ symbols: ['USDC', 'ETH'], pool: POOLS.main.id, network: 'ethereum', isListed: true })
    expect(1 / (first?.price ?? 0)).toBeGreaterThan(1_000)
    expect(first?.volumeUsd).toBeGreaterThan(100_000)
    expect(rows.find(({ symbols }) => symbols.join() === 'WBTC,ETH')?.price).toBeUndefined()
    // Ether was bought nine times, in pools of either order on two networks, for the first token of the lead.
    expect([first?.buys, first?.sells]).toEqual([0, 9])
    expect(rows.find(({ symbols }) => symbols.join() === 'WBTC,ETH')).toMatchObject({ buys: 0, sells: 0 })
    expect(await usedCredits()).toBe(before)
  })

  test('the pairs of a token that is not trusted are its pools', async () => {
    const before = await usedCredits()
    const rows = await pairs(`?token=${POOLS.pepe.token0.address.toUpperCase().replace('0X', '0x')}`)
    expect(rows.map(({ pool, isListed }) => [pool, isListed])).toEqual([[POOLS.pepe.id, false]])
    expect(await pairs(`?token=${addressOf('77')}`)).toEqual([])
    expect(await usedCredits()).toBe(before + 2)
  })

  test('a request needs a key, and a valid token address', async () => {
    expect((await service.get('/page/pairs', {})).status).toBe(401)
    for (const query of ['?token=', '?token=0x12', `?token=${POOLS.v4.id}`, '?token=a&token=b']) {
      const { status, body } = await service.get(`/page/pairs${query}`)
      expect([status, ProblemBody.parse(body).errors?.[0]?.field], query).toEqual([400, 'token'])
    }
    expect((await service.get('/page/pairs', undefined, 'POST')).status).toBe(405)
  })

  test('pairs are answered though one has very many pools', async () => {
    const { token0, token1 } = POOLS.v4
    const many = Array.from({ length: 1_000 }, (_, index) =>
      poolOf(`0x${index.toString(16).padStart(64, 'f')}`, token0, token1, { protocol: 'dex-v4', fee: index }),
    )
    await openStore(database.client, 'polygon')([block(1, TIP - 60, { pools: many.slice(0, 1) })])
    await openStore(database.client, 'ethereum')([block(5_000, TIP, { pools: many })])
    const rows = await pairs()
    expect(rows.map(({ symbols }) => symbols.join('-'))).toContain('USDC-ETH')
    expect(rows[0]?.pool).toBe(POOLS.main.id)
    const ofToken = await pairs(`?token=${token1.address}`)
    expect(ofToken.length).toBeLessThanOrEqual(100)
  })
})
