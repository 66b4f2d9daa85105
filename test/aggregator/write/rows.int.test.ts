import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { digestOf } from '../../../aggregator/store/digest.ts'
import type { BlockContent } from '../../../ingest/model/message.ts'
import type { LiquidityChange, Pool, PoolBalance } from '../../../ingest/model/pool.ts'
import type { Tick } from '../../../ingest/model/tick.ts'
import { asBlocks, asRange, blockPlan, fullBlocks, mine } from '../../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { seededOnServers } from '../../support/seed.ts'
import { microsOf } from '../candles.ts'
import { networkOf, startAggregator } from '../running.ts'

const INT256 = { least: -(2n ** 255n), greatest: 2n ** 255n - 1n }
const UINT256 = 2n ** 256n - 1n
const POOL = `0x${'fe'.repeat(32)}` as const

const EXTREME_TICKS: readonly Tick[] = [
  tick({ logIndex: 0, amount0: INT256.least, amount1: INT256.greatest, price: Number.MIN_VALUE }),
  tick({ logIndex: 1, amount0: -1n, amount1: 0n, poolTick: -887_272, spotPrice: 0 }),
  tick({ logIndex: 2, sqrtPriceX96: UINT256, liquidity: 2n ** 128n - 1n, poolTick: 887_272, fee: 2 ** 24 - 1 }),
  tick({
    logIndex: 3,
    sender: `0x${'0e'.repeat(20)}`,
    price: Number.MAX_VALUE,
    spotPrice: 2 ** -1022,
    amountUsdMicros: 1n,
  }),
  tick({
    logIndex: 4,
    hookAmounts: { amount0: INT256.least, amount1: INT256.greatest },
    price: 0.1 + 0.2,
    spotPrice: 1 / 3,
    amountUsdMicros: 10n ** 60n + 7n,
  }),
  tick({ logIndex: 2 ** 32 - 1, transactionHash: `0x${'00'.repeat(31)}01`, price: 1e21, spotPrice: 1e-7 }),
]
const EXTREME_POOLS: readonly Pool[] = [
  {
    id: POOL,
    protocol: 'dex-v4',
    token0: { address: `0x${'00'.repeat(20)}`, symbol: '', name: '', decimals: 0 },
    token1: {
      address: `0x${'ff'.repeat(20)}`,
      symbol: '狗狗🐕\u200d🦺',
      name: `"quoted" \\ \t'; DROP —`,
      decimals: 255,
    },
    fee: 0x800000,
    initialSqrtPriceX96: UINT256,
  },
  {
    id: `0x${'0a'.repeat(20)}`,
    protocol: 'dex-v3',
    token0: { address: `0x${'01'.repeat(20)}`, symbol: 'ÜẞÉ', name: 'é as two: e\u0301', decimals: 6 },
    token1: { address: `0x${'02'.repeat(20)}`, symbol: 'x'.repeat(300), name: '\u0000 is a character', decimals: 18 },
    fee: 0,
    initialSqrtPriceX96: 0n,
  },
]
const EXTREME_LIQUIDITY: readonly LiquidityChange[] = [
  { pool: POOL, logIndex: 7, tickLower: -887_272, tickUpper: 887_272, liquidityDelta: INT256.greatest },
  { pool: POOL, logIndex: 8, tickLower: -2, tickUpper: -1, liquidityDelta: INT256.least },
]
const EXTREME_BALANCES: readonly PoolBalance[] = [{ pool: POOL, balance0: UINT256, balance1: 0n }]

describe.skipIf(withoutClickHouse)('rows', () => {
  let database: TestDatabase
  const network = networkOf('extremes')
  const [block] = mine(
    [],
    [
      {
        secondsLater: 0,
        ticks: EXTREME_TICKS,
        pools: EXTREME_POOLS,
        liquidity: EXTREME_LIQUIDITY,
        balances: EXTREME_BALANCES,
      },
    ],
  )
  if (!block) throw new Error('unreachable')

  beforeAll(async () => {
    database = await freshDatabase()
    const aggregator = await startAggregator(database.client, { network })
    await aggregator.append(asBlocks(network, [block]))
    await aggregator.stop()
  })
  afterAll(() => database?.drop())

  async function ask(query: string): Promise<Record<string, string>[]> {
    const answer = await database.client.query({ query, query_params: { network }, format: 'JSONStringsEachRow' })
    return answer.json<Record<string, string>>()
  }

  test('a tick is read back as it was written, its floats bit for bit', async () => {
    const rows = await ask(
      `SELECT * REPLACE (
         toUnixTimestamp(time) AS time, lower(hex(transaction_hash)) AS transaction_hash,
         lower(hex(sender)) AS sender),
         reinterpretAsUInt64(price) AS price, reinterpretAsUInt64(spot_price) AS spot_price, hooked0, hooked1
       FROM ticks FINAL WHERE network = {network:String} ORDER BY log_index`,
    )
    expect(rows.map(placeOf)).toStrictEqual(rows.map(() => placeOfBlock(block)))
    expect(rows.map(toTick)).toStrictEqual(EXTREME_TICKS)
  })

  test('a pool is read back as it was written, whatever its tokens call themselves', async () => {
    const rows = await ask(
      `SELECT * REPLACE (toUnixTimestamp(time) AS time)
       FROM pools FINAL WHERE network = {network:String} ORDER BY pool DESC`,
    )
    expect(rows.map(placeOf)).toStrictEqual(rows.map(() => placeOfBlock(block)))
    expect(rows.map(toPool)).toStrictEqual(EXTREME_POOLS)
  })

  test('a liquidity change is read back as it was written', async () => {
    const rows = await ask(
      `SELECT * REPLACE (toUnixTimestamp(time) AS time)
       FROM liquidity_changes FINAL WHERE network = {network:String} ORDER BY log_index`,
    )
    expect(rows.map(placeOf)).toStrictEqual(rows.map(() => placeOfBlock(block)))
    expect(rows.map(toLiquidityChange)).toStrictEqual(EXTREME_LIQUIDITY)
  })

  test('a balance is read back as it was written, with the hash of its block', async () => {
    expect(
      await ask(
        `SELECT pool, block, lower(hex(block_hash)) AS hash, balance0, balance1
         FROM pool_balances FINAL WHERE network = {network:String}`,
      ),
    ).toStrictEqual([
      { pool: POOL, block: `${block.number}`, hash: block.hash.slice(2), balance0: `${UINT256}`, balance1: '0' },
    ])
  })

  test('a block is read back as it was written, with the count and digest of its ticks', async () => {
    expect(await ledger(network)).toStrictEqual([
      {
        number: `${block.number}`,
        hash: block.hash,
        parent: block.parentHash,
        time: `${block.timestamp}`,
        first: `${block.number}`,
        ticks: `${EXTREME_TICKS.length}`,
        digest: `${digestOf(EXTREME_TICKS)}`,
      },
    ])
  })

  test('a candle over the largest amounts is exact', async () => {
    const [candle] = await ask(
      `SELECT volume0, volume1, volume_usd, trades, high, low, spot_low
       FROM candles FINAL WHERE network = {network:String} AND resolution = 86400`,
    )
    expect(candle).toStrictEqual({
      volume0: `${2n ** 255n + 1n + 4n * 5n}`,
      volume1: `${2n ** 255n - 1n + 4n * 7n}`,
      volume_usd: `${10n ** 54n}.000008`,
      trades: '6',
      high: '1.7976931348623157e308',
      low: '5e-324',
      spot_low: '0',
    })
  })

  test('a range leaves its blocks with content and its last one, which says where the range began', async () => {
    const network = networkOf('range')
    const empty = { secondsLater: 12, ticks: [], pools: [], liquidity: [], balances: [] }
    const [first, second] = fullBlocks(2, 3)
    if (!first || !second) throw new Error('unreachable')
    const chain = mine([], [empty, first, empty, second, empty])
    const aggregator = await startAggregator(database.client, { network })
    await aggregator.append([asRange(network, chain)])
    await aggregator.stop()
    const last = chain.length - 1
    const row = (at: number, from: number) => ({
      number: `${chain[at]?.number}`,
      hash: chain[at]?.hash,
      parent: `0x${'00'.repeat(32)}`,
      time: `${chain[at]?.timestamp}`,
      first: `${chain[from]?.number}`,
      ticks: `${chain[at]?.ticks.length}`,
      digest: `${digestOf(chain[at]?.ticks ?? [])}`,
    })
    expect(await ledger(network)).toStrictEqual([row(1, 1), row(3, 3), row(last, 0)])
  })

  test('the digest that SQL counts from the stored ticks is the one of the core', async () => {
    let run = 0
    const blocks = fc.array(blockPlan(), { minLength: 1, maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(blocks, async (plans) => {
        const network = networkOf(`digest ${++run}`)
        const aggregator = await startAggregator(database.client, { network })
        await aggregator.append(asBlocks(network, mine([], plans)))
        await aggregator.stop()
        expect(await digestsThatDiffer()).toStrictEqual([])
      }),
      seededOnServers({ numRuns: 3 }),
    )
  })

  /** Over all networks of this file, the extremes too. */
  function digestsThatDiffer() {
    return ask(
      `SELECT network, number, ticks, digest, counted.ticks, counted.digest
       FROM blocks FINAL LEFT JOIN (
         SELECT network, block, count() AS ticks, sum(tick_digest) AS digest FROM ticks FINAL GROUP BY network, block
       ) AS counted ON blocks.network = counted.network AND blocks.number = counted.block
       WHERE blocks.ticks != counted.ticks OR blocks.digest != counted.digest`,
    )
  }

  async function ledger(network: string) {
    const answer = await database.client.query({
      query: `SELECT number, concat('0x', lower(hex(hash))) AS hash, concat('0x', lower(hex(parent_hash))) AS parent,
                toUnixTimestamp(time) AS time, first, ticks, digest
              FROM blocks FINAL WHERE network = {network:String} ORDER BY number`,
      query_params: { network },
      format: 'JSONStringsEachRow',
    })
    return answer.json<Record<string, string>>()
  }
})

function tick(more: Partial<Tick>): Tick {
  return {
    pool: POOL,
    logIndex: 0,
    transactionHash: `0x${'c0ffee00'.repeat(8)}`,
    amount0: 5n,
    amount1: -7n,
    sqrtPriceX96: 1n,
    liquidity: 0n,
    poolTick: 0,
    fee: 0,
    price: 1,
    spotPrice: 1,
    amountUsdMicros: 0n,
    ...more,
  }
}

type Row = Record<string, string>

function placeOf(row: Row) {
  return { number: Number(row['block']), timestamp: Number(row['time']) }
}

function placeOfBlock({ number, timestamp }: BlockContent) {
  return { number, timestamp }
}

function toTick(row: Row): Tick {
  return {
    pool: row['pool'] as Tick['pool'],
    logIndex: Number(row['log_index']),
    transactionHash: `0x${row['transaction_hash']}`,
    ...(isNumber(row['hooked0']) && {
      hookAmounts: { amount0: BigInt(row['hooked0'] ?? ''), amount1: BigInt(row['hooked1'] ?? '') },
    }),
    ...(row['sender'] !== '0'.repeat(40) && { sender: `0x${row['sender'] ?? ''}` }),
    amount0: BigInt(row['amount0'] ?? ''),
    amount1: BigInt(row['amount1'] ?? ''),
    sqrtPriceX96: BigInt(row['sqrt_price'] ?? ''),
    liquidity: BigInt(row['liquidity'] ?? ''),
    poolTick: Number(row['pool_tick']),
    fee: Number(row['fee']),
    price: floatOf(row['price'] ?? ''),
    spotPrice: floatOf(row['spot_price'] ?? ''),
    amountUsdMicros: microsOf(row['amount_usd'] ?? ''),
  }
}

/** NULL is another text. */
function isNumber(text: string | undefined): boolean {
  return /^-?\d+$/.test(text ?? '')
}

/** From its 64 bits, read as an integer. */
function floatOf(bits: string): number {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(bits))
  return bytes.readDoubleLE()
}

function toPool(row: Row): Pool {
  const token = (which: 'token0' | 'token1') => ({
    address: row[`${which}_address`] as Pool['id'],
    symbol: row[`${which}_symbol`] ?? '',
    name: row[`${which}_name`] ?? '',
    decimals: Number(row[`${which}_decimals`]),
  })
  return {
    id: row['pool'] as Pool['id'],
    protocol: row['protocol'] as Pool['protocol'],
    token0: token('token0'),
    token1: token('token1'),
    fee: Number(row['fee']),
    initialSqrtPriceX96: BigInt(row['initial_sqrt_price'] ?? ''),
  }
}

function toLiquidityChange(row: Row): LiquidityChange {
  return {
    pool: row['pool'] as Pool['id'],
    logIndex: Number(row['log_index']),
    tickLower: Number(row['tick_lower']),
    tickUpper: Number(row['tick_upper']),
    liquidityDelta: BigInt(row['liquidity_delta'] ?? ''),
  }
}
