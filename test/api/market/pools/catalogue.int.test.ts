import type { ClickHouseClient } from '@clickhouse/client'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { finalRowVersion, finalTombstoneVersion } from '../../../../aggregator/store/version.ts'
import { openCatalogue } from '../../../../api/market/pools/catalogue.ts'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import type { PoolId } from '../../../../ingest/model/pool.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { seededOnServers } from '../../../support/seed.ts'

const POOLS = 200_000
/** A statement over all of these pools takes more. */
const MEMORY = 56 * 2 ** 20
/** Spreads ids over all prefixes. */
const ID_FACTOR = 2_654_435_761

describe.skipIf(withoutClickHouse)('the catalogue', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database?.drop())

  test('of many pools whose ids begin alike is read in pieces', async () => {
    const { client } = database
    const { reader, asked } = counting(database.connect({ settings: { max_memory_usage: String(MEMORY) } }))
    await insertPools(client, 'arbitrum', `numbers(${POOLS})`, { idFactor: 1 })
    const catalogue = await openCatalogue(reader, [NETWORKS.arbitrum], 0).reload()
    expect(catalogue.get('arbitrum')?.size).toBe(POOLS)
    expect(asked.length).toBeGreaterThan(POOLS / 20_000 - 1)
    await client.command({ query: 'TRUNCATE TABLE pools' })
  })

  test('is read in pieces, and then only where it changed', async () => {
    const { client } = database
    const { reader, asked } = counting(client)
    await insertPools(client, 'ethereum', 'numbers(1000)')
    await insertPools(client, 'base', 'numbers(10)')
    const source = openCatalogue(reader, [NETWORKS.ethereum, NETWORKS.base], 0, 50)
    const catalogue = await source.reload()
    const [ethereum, base] = [catalogue.get('ethereum'), catalogue.get('base')]
    expect([ethereum?.size, base?.size]).toEqual([1_000, 10])
    expect(asked.splice(0).length).toBeGreaterThanOrEqual(21)
    const first = ethereum?.pool(idOf(0))
    expect(first).toMatchObject({ pool: { token0: { symbol: 'TKN0' }, token1: { symbol: 'USDC' } } })

    // Merges change the state and nothing else.
    await client.command({ query: 'OPTIMIZE TABLE pools FINAL' })
    await source.reload()
    asked.splice(0)
    await source.reload()
    expect(asked).toHaveLength(0)

    // One more, a newer sighting, and one that a rollback took.
    await insertPools(client, 'ethereum', 'numbers(1000, 1)')
    await insertPools(client, 'ethereum', 'numbers(1, 1)', { block: 9, symbol: 'NEW', version: 19 })
    await insertPools(client, 'ethereum', 'numbers(2, 1)', { version: 4, isDeleted: 1 })
    await source.reload()
    expect(asked.length).toBeLessThanOrEqual(3)
    expect([ethereum?.size, base?.size]).toEqual([1_000, 10])
    expect(ethereum?.pool(idOf(1_000))).toBeDefined()
    expect(ethereum?.pool(idOf(2))).toBeUndefined()
    expect(ethereum?.pool(idOf(1))?.pool.token0.symbol).toBe('NEW')
    expect(ethereum?.tokensOf('TKN1')).toEqual([])
    expect(ethereum?.pool(idOf(0))).toBe(first)

    // What is gone with its whole slice.
    await client.command({ query: "DELETE FROM pools WHERE network = 'base'" })
    await source.reload()
    expect([ethereum?.size, base?.size]).toEqual([1_000, 0])
    await client.command({ query: 'TRUNCATE TABLE pools' })
  })

  test('reads only pools with newer rows, where these are all that was stored', async () => {
    const { client } = database
    const { reader, asked } = counting(client)
    // A merge leaves the newer of two rows, which takes slices to see.
    await client.command({ query: 'SYSTEM STOP MERGES pools' })
    await insertPools(client, 'ethereum', 'numbers(1000)')
    await insertPools(client, 'ethereum', 'numbers(990, 10)', { block: 2, version: finalRowVersion(1) })
    const source = openCatalogue(reader, [NETWORKS.ethereum], 0)
    const ethereum = (await source.reload()).get('ethereum')
    asked.splice(0)
    await insertPools(client, 'ethereum', 'numbers(1000, 1)', { version: 5 })
    await insertPools(client, 'ethereum', 'numbers(1, 1)', { block: 9, symbol: 'NEW', version: 7 })
    await insertPools(client, 'ethereum', 'numbers(2, 1)', { version: 6, isDeleted: 1 })
    await source.reload()
    expect(asked).toMatchObject([{ pools: [idOf(1_000), idOf(1), idOf(2)].toSorted() }])
    expect(ethereum?.size).toBe(1_000)
    expect(ethereum?.pool(idOf(1_000))).toBeDefined()
    expect(ethereum?.pool(idOf(1))?.pool.token0.symbol).toBe('NEW')
    expect(ethereum?.pool(idOf(2))).toBeUndefined()
    asked.splice(0)
    await insertPools(client, 'ethereum', 'numbers(2000, 2500)', { version: 9 })
    await source.reload()
    expect(asked.map((request) => (request as { pools: unknown[] }).pools.length)).toEqual([1_000, 1_000, 500])
    expect(ethereum?.size).toBe(3_500)
    await client.command({ query: 'TRUNCATE TABLE pools' })
    await client.command({ query: 'SYSTEM START MERGES pools' })
  })

  test('has a new pool of a job also where a merge drops a row that the job wrote twice', async () => {
    const { client } = database
    const ofJob = { block: 'number + 1', version: finalRowVersion(1) }
    await client.command({ query: 'SYSTEM STOP MERGES pools' })
    for (const _ of ['', 'again']) await insertPools(client, 'ethereum', 'numbers(1)', ofJob)
    const source = openCatalogue(client, [NETWORKS.ethereum], 0)
    expect((await source.reload()).get('ethereum')?.size).toBe(1)
    await insertPools(client, 'ethereum', 'numbers(1, 1)', ofJob)
    await client.command({ query: 'SYSTEM START MERGES pools' })
    await client.command({ query: 'OPTIMIZE TABLE pools FINAL' })
    expect((await source.reload()).get('ethereum')?.size).toBe(2)
    await client.command({ query: 'TRUNCATE TABLE pools' })
  })

  test('is the one of the tables after any rows', async () => {
    const { client } = database
    const step = fc.record({
      network: fc.constantFrom('ethereum', 'ethereum', 'base', 'base', 'polygon'),
      from: fc.nat({ max: 2 }),
      count: fc.integer({ min: 1, max: 3 }),
      block: fc.constantFrom(1, 1, 2),
      symbol: fc.constantFrom('', 'NEW'),
      isDeleted: fc.constantFrom(0, 0, 1),
      // A job gives all its rows one version, above those of live blocks, and writes a row twice only as it was.
      isOfJob: fc.nat({ max: 9 }).map((number) => number === 0),
      isRead: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 16, size: 'max' }), async (steps) => {
        await client.command({ query: 'TRUNCATE TABLE pools' })
        const networks = [NETWORKS.ethereum, NETWORKS.base]
        const source = openCatalogue(client, networks, 0)
        await source.reload()
        for (const [at, { network, from, count, isOfJob, isRead, ...row }] of steps.entries()) {
          const job = at < 6 ? 1 : 2
          const version = row.isDeleted ? finalTombstoneVersion(job) : finalRowVersion(job)
          const written = isOfJob
            ? { ...row, block: 'number + 1', symbol: `JOB${job}`, version }
            : { ...row, version: 100 + at }
          await insertPools(client, network, `numbers(${from}, ${count})`, { ...written, idFactor: 2 ** 28 })
          if (isRead) await source.reload()
        }
        // Polygon is stored and not served.
        const [held, fresh] = [await source.reload(), await openCatalogue(client, networks, 0).get()]
        expect([...held.keys()]).toEqual(['ethereum', 'base'])
        for (const { name } of networks) {
          expect(held.get(name)?.size).toBe(fresh.get(name)?.size)
          const ids = Array.from({ length: 10 }, (_, number) => idOf(number, 2 ** 28))
          expect(ids.map((id) => held.get(name)?.pool(id))).toEqual(ids.map((id) => fresh.get(name)?.pool(id)))
        }
      }),
      seededOnServers({ numRuns: 8 }),
    )
  })
})

function idOf(number: number, factor = ID_FACTOR): PoolId {
  return `0x${((BigInt(number) * BigInt(factor)) % 2n ** 32n).toString(16).padStart(8, '0')}${'0'.repeat(32)}`
}

async function insertPools(
  client: ClickHouseClient,
  network: string,
  numbers: string,
  {
    block = 1 as number | string,
    symbol = '',
    version = 3 as number | bigint,
    isDeleted = 0,
    idFactor = ID_FACTOR,
  } = {},
): Promise<void> {
  const hex = (of: string, digits: number) => `leftPad(lower(hex(${of})), ${digits}, '0')`
  await client.command({
    query: `INSERT INTO pools (network, pool, block, time, protocol, fee, initial_sqrt_price, token0_address, token0_symbol, token0_name,
        token0_decimals, token1_address, token1_symbol, token1_name, token1_decimals, version, is_deleted)
      SELECT '${network}', concat('0x', ${hex(`toUInt32(number * ${idFactor})`, 8)}, repeat('0', 32)), ${block}, 1, 'dex-v3', 500, 1,
        concat('0xa', ${hex('number', 39)}), if('${symbol}' = '', concat('TKN', toString(number)), '${symbol}'), 'Token', 18,
        '0xff970a61a04b1ca14834a43f5de4533ebddb5cc8', 'USDC', 'USD Coin', 6, ${version}, ${isDeleted} FROM ${numbers}`,
  })
}

/** `asked`: the ranges of pools that were read. */
function counting(client: ClickHouseClient) {
  const asked: unknown[] = []
  const reader = new Proxy(client, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (name !== 'query') return typeof value === 'function' ? (value.bind(target) as unknown) : value
      return (request: Parameters<ClickHouseClient['query']>[0]) => {
        if (request.query_params?.['rows'] === undefined && request.query_params?.['first'] !== undefined)
          asked.push(request.query_params)
        return target.query(request)
      }
    },
  })
  return { reader, asked }
}
