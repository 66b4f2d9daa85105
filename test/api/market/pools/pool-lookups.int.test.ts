import type { ClickHouseClient } from '@clickhouse/client'
import fc from 'fast-check'
import type { Address } from 'viem'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { finalRowVersion, finalTombstoneVersion } from '../../../../aggregator/store/version.ts'
import { openPools, type PoolLookups } from '../../../../api/market/pools/pool-lookups.ts'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import type { PoolId } from '../../../../ingest/model/pool.ts'
import { intercepted, queryOf } from '../../../aggregator/statements.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { insertMany, insertPoolRows, poolRow, type StoredPoolRow } from '../../../support/pool-rows.ts'
import { seededOnServers } from '../../../support/seed.ts'
import { addressOf } from '../../../support/store.ts'

const SERVED = [NETWORKS.ethereum, NETWORKS.base]
const WETH: Address = '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2'
const TOKENS = [WETH, addressOf('a1'), addressOf('a2')] as const
const IDS = ['01', '02', '03', '04', '05']
const SYMBOLS = ['WETH', 'FOO', 'BAR', 'NEW']
const NAMES = queryOf('api/market/pools/names-since.sql')
/** Long enough that only what was written evicts anything. */
const FRESH_MS = 60_000

describe.skipIf(withoutClickHouse)('looked-up pools', () => {
  let database: TestDatabase
  let client: ClickHouseClient

  beforeAll(async () => {
    database = await freshDatabase()
    client = database.client
  })
  afterAll(() => database?.drop())
  beforeEach(async () => {
    for (const table of ['pools', 'pools_by_token', 'tokens_by_symbol', 'token_names'])
      await client.command({ query: `TRUNCATE TABLE ${table}` })
  })

  async function opened(reader = client, freshMs = FRESH_MS): Promise<PoolLookups> {
    const pools = openPools(reader, SERVED, freshMs)
    await pools.refresh()
    return pools
  }

  /** All that can be asked about the few tokens and pools of these tests. */
  async function everything(pools: PoolLookups) {
    return Promise.all(
      SERVED.map(async ({ name }) => {
        const on = pools.on(name)
        if (on === undefined) throw new Error(`${name} is served`)
        return {
          listings: await Promise.all(IDS.map((id) => on.listing(addressOf(id) as PoolId))),
          tokens: await Promise.all(TOKENS.map(on.ofToken)),
          pairs: await Promise.all(TOKENS.flatMap((token) => TOKENS.map((other) => on.ofPair(token, other)))),
          called: await Promise.all(SYMBOLS.map((symbol) => on.called(symbol.toLowerCase()))),
          listed: await Promise.all(SYMBOLS.map((symbol) => on.listedCalled(symbol.toLowerCase()))),
        }
      }),
    )
  }

  test('looked-up pools are those of the tables after any rows', async () => {
    const pool = fc
      .record({
        id: fc.constantFrom(...IDS),
        network: fc.constantFrom('ethereum', 'ethereum', 'base', 'polygon'),
        token0: fc.constantFrom(...TOKENS),
        token1: fc.constantFrom(...TOKENS),
        symbol0: fc.constantFrom('WETH', 'Weth', 'FOO'),
        symbol1: fc.constantFrom('WETH', 'BAR'),
        venue: fc.constantFrom('uniswap', 'uniswap', 'uniswap', 'pancake'),
        block: fc.constantFrom(1, 1, 2),
        is_deleted: fc.constantFrom(0, 0, 1),
        // A job gives all its rows one version, above those of live blocks.
        isOfJob: fc.nat({ max: 9 }).map((number) => number === 0),
      })
      .filter(({ token0, token1 }) => token0 !== token1)
    const name = fc.record({ renamed: fc.constantFrom(...TOKENS), symbol: fc.constantFrom('NEW', 'BAR', 'WETH') })
    const step = fc.record({ row: fc.oneof({ weight: 3, arbitrary: pool }, name), isRead: fc.boolean() })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 16, size: 'max' }), async (steps) => {
        for (const table of ['pools', 'pools_by_token', 'tokens_by_symbol', 'token_names'])
          await client.command({ query: `TRUNCATE TABLE ${table}` })
        const pools = await opened(client, 1)
        for (const [at, { row, isRead }] of steps.entries()) {
          if ('renamed' in row) await rename(client, row.renamed, row.symbol, ['WETH', 'FOO'], 100 + at)
          else {
            const { id, network, token0, token1, symbol0, symbol1, isOfJob, ...rest } = row
            const final = rest.is_deleted ? finalTombstoneVersion(1) : finalRowVersion(1)
            await insertPoolRows(client, [
              {
                ...poolRow(id, network as StoredPoolRow['network'], [token0, symbol0], [token1, symbol1]),
                ...rest,
                is_deleted: rest.is_deleted as 0 | 1,
                version: String(isOfJob ? final : 100 + at),
              },
            ])
          }
          if (!isRead) continue
          await pools.refresh()
          await everything(pools)
        }
        await pools.refresh()
        expect(await everything(pools)).toEqual(await everything(await opened()))
      }),
      seededOnServers({ numRuns: 8 }),
    )
  })

  test('pools are read once, until one of them is written', async () => {
    await insertPoolRows(client, [
      poolRow('01', 'ethereum', [TOKENS[0], 'WETH'], [TOKENS[1], 'FOO']),
      poolRow('02', 'ethereum', [TOKENS[0], 'WETH'], [TOKENS[2], 'BAR']),
    ])
    const { reader, statements } = counted(client)
    const pools = await opened(reader, 1)
    await pools.refresh()
    await everything(pools)
    const on = pools.on('ethereum')
    const before = await on?.listing(addressOf('01') as PoolId)
    await pools.refresh()
    statements.length = 0
    await everything(pools)
    expect(statements).toEqual([])

    await insertPoolRows(client, [
      { ...poolRow('02', 'ethereum', [TOKENS[0], 'WETH'], [TOKENS[2], 'BAR']), block: 9, version: '19' },
    ])
    await pools.refresh()
    statements.length = 0
    await everything(pools)
    // The listing and the names of its tokens, the pair, and both tokens together; every symbol has its token already.
    expect(statements).toHaveLength(4)
    expect(await on?.listing(addressOf('01') as PoolId)).toBe(before)
  })

  test('pools that traded last are looked up ahead, by a statement for all of them', async () => {
    const ids = Array.from({ length: 30 }, (_, index) => String(index + 10))
    await insertPoolRows(
      client,
      ids.map((id) => poolRow(id, 'ethereum', [TOKENS[0], 'WETH'], [TOKENS[1], 'FOO'])),
    )
    await client.insert({
      table: 'changes',
      values: ids.slice(1).map((id, index) => ({
        ...{ network: 'ethereum', sequence: String(index + 1), pool: addressOf(id), first: 0, last: 0 },
        ...{ block: '0', version: '0' },
      })),
      format: 'JSONEachRow',
    })
    const { reader, statements } = counted(client)
    const pools = await opened(reader)
    statements.length = 0
    await pools.warm()
    const [neverTraded = '', traded = ''] = ids
    const listing = (id: string) => pools.on('ethereum')?.listing(addressOf(id) as PoolId)
    // The changes of each network, then the listings and the names of their tokens.
    const lookedUp = SERVED.length + 2
    expect(statements).toHaveLength(lookedUp)
    expect(await listing(traded)).toMatchObject({ pool: { id: addressOf(traded) } })
    expect(statements).toHaveLength(lookedUp)
    expect(await listing(neverTraded)).toMatchObject({ pool: { id: addressOf(neverTraded) } })
    expect(statements).toHaveLength(lookedUp + 2)
  })

  test('pools stay the same objects where they are read again and are equal', async () => {
    const row = poolRow('01', 'ethereum', [TOKENS[0], 'WETH'], [TOKENS[1], 'FOO'])
    await insertPoolRows(client, [row])
    const pools = await opened()
    const listing = () => pools.on('ethereum')?.listing(addressOf('01') as PoolId)
    const before = await listing()
    pools.evict('ethereum')
    expect(await listing()).toBe(before)
    await insertPoolRows(client, [{ ...row, fee: 3_000, version: '5' }])
    pools.evict('ethereum')
    expect(await listing()).toMatchObject({ pool: { fee: 3_000 } })
  })

  test('pools that are read while they are written are read again', async () => {
    const row = poolRow('01', 'ethereum', [TOKENS[0], 'WETH'], [TOKENS[1], 'FOO'])
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    let isHeld = true
    const reader = intercepted(client, async (send, _statement, [request]) => {
      const answer = await send()
      if (isHeld && (request as { query: string }).query.includes('pools_by_token FINAL')) await held
      return answer
    })
    const pools = await opened(reader, 1)
    const early = pools.on('ethereum')?.ofPair(TOKENS[0], TOKENS[1])
    // The statement has answered by then.
    await new Promise((resolve) => setTimeout(resolve, 300))
    await insertPoolRows(client, [row])
    await pools.refresh()
    isHeld = false
    release()
    expect(await early).toMatchObject({ count: 0 })
    expect(await pools.on('ethereum')?.ofPair(TOKENS[0], TOKENS[1])).toMatchObject({ count: 1 })
  })

  test('pools that were written are read again also where the read of new names fails', async () => {
    let isFailing = false
    const reader = intercepted(client, (send, _statement, [request]) => {
      const isOfNames = NAMES.test((request as { query: string }).query)
      return isFailing && isOfNames ? Promise.reject(new Error('This read fails.')) : send()
    })
    const pools = await opened(reader, 1)
    const count = async () => (await pools.on('ethereum')?.ofToken(WETH))?.count
    expect(await count()).toBe(0)
    await insertPoolRows(client, [poolRow('01', 'ethereum', [TOKENS[0], 'WETH'], [TOKENS[1], 'FOO'])])
    isFailing = true
    await expect(pools.refresh()).rejects.toThrow()
    isFailing = false
    await pools.refresh()
    expect(await count()).toBe(1)
  })

  test('pools are read again where more rows were written than are looked at one by one', async () => {
    const pools = await opened(client, 1)
    const count = async () => (await pools.on('ethereum')?.ofToken(WETH))?.count
    expect(await count()).toBe(0)
    await insertMany(client, { symbol: 'FOO', tokens: 1_000, pools: 25_000, other: [WETH, 'WETH'] })
    await pools.refresh()
    expect(await count()).toBe(25_000)
  })

  test('a million pools are looked up by statements that read a few granules', async () => {
    await insertMany(client, { symbol: 'FOO', tokens: 1_000_000, pools: 1_000_000, other: [WETH, 'WETH'] })
    const query = 'SELECT pool, token0_address AS token FROM pools LIMIT 1'
    const [{ pool, token } = { pool: WETH, token: WETH }] = await rowsOf<{ pool: PoolId; token: Address }>(
      client,
      query,
    )
    type Pools = Awaited<ReturnType<typeof opened>>
    /** Other suites read from the same server: one of three readings is without them. */
    const read = async (what: (pools: ReturnType<Pools['on']>) => Promise<unknown> | undefined) => {
      const counts: number[] = []
      for (let time = 0; time < 3; time++) {
        const pools = (await opened()).on('ethereum')
        const before = await rowsRead(client)
        await what(pools)
        counts.push((await rowsRead(client)) - before)
      }
      return Math.min(...counts)
    }
    expect(await read((pools) => pools?.listing(pool))).toBeLessThan(100_000)
    expect(await read((pools) => pools?.ofPair(token, WETH))).toBeLessThan(100_000)
    expect(await read((pools) => pools?.ofToken(token))).toBeLessThan(100_000)
    expect(await read((pools) => pools?.called('nope'))).toBeLessThan(100_000)
  })
})

async function rename(
  client: ClickHouseClient,
  token: string,
  symbol: string,
  former: readonly string[],
  block: number,
): Promise<void> {
  const values = [{ network: 'ethereum', token, symbol, name: symbol, former, block }]
  await client.insert({ table: 'token_names', values, format: 'JSONEachRow' })
}

async function rowsOf<Row>(client: ClickHouseClient, query: string): Promise<Row[]> {
  return (await client.query({ query, format: 'JSONEachRow' })).json<Row>()
}

/** By all statements so far. */
async function rowsRead(client: ClickHouseClient): Promise<number> {
  const query = "SELECT toFloat64(value) AS rows FROM system.events WHERE event = 'SelectedRows'"
  return (await rowsOf<{ rows: number }>(client, query))[0]?.rows ?? 0
}

function counted(client: ClickHouseClient) {
  const statements: string[] = []
  const reader = intercepted(client, (send, _statement, [request]) => {
    statements.push((request as { query: string }).query)
    return send()
  })
  return { reader, statements }
}
