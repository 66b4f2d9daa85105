import type { ClickHouseClient } from '@clickhouse/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openCatalogue } from '../../../../api/market/pools/catalogue.ts'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import type { PoolId } from '../../../../ingest/model/pool.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'

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
  })
})

function idOf(number: number): PoolId {
  return `0x${((BigInt(number) * BigInt(ID_FACTOR)) % 2n ** 32n).toString(16).padStart(8, '0')}${'0'.repeat(32)}`
}

async function insertPools(
  client: ClickHouseClient,
  network: string,
  numbers: string,
  { block = 1, symbol = '', version = 3, isDeleted = 0, idFactor = ID_FACTOR } = {},
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
