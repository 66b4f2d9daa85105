/** The law that binds the endpoints: /candles is the fold of /ticks. `RUNS=1000` asks for that many random questions. */

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { z } from 'zod'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import type { Pool } from '../../../../ingest/model/pool.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { fillFolded, foldFlow, foldTicks, inDollars, NO_TRADES, priced } from '../../../support/fold.ts'
import { sample } from '../../../support/sample.ts'
import { seededOnServers } from '../../../support/seed.ts'
import { addressOf, block, openStore, poolOf, tick } from '../../../support/store.ts'
import { Candles, CandlesWithFlow, Ticks } from '../../body.ts'
import { type Service, startService } from '../../service.ts'

const WETH = {
  address: '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2',
  symbol: 'WETH',
  name: 'Wrapped Ether',
  decimals: 18,
} as const
const USDC = {
  address: '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48',
  symbol: 'USDC',
  name: 'USD Coin',
  decimals: 6,
} as const
const DAI = { address: '0x6b175474e89094c44da98b954eedeac495271d0f', symbol: 'DAI', name: 'Dai', decimals: 18 } as const
const WBTC = {
  address: '0x2260fac5e5542a773aa44fbcfedf7c193bc2c599',
  symbol: 'WBTC',
  name: 'Wrapped BTC',
  decimals: 8,
} as const

const POOLS = [
  poolOf(addressOf('a1'), USDC, WETH),
  poolOf(addressOf('a2'), DAI, WETH),
  poolOf(addressOf('a3'), WBTC, WETH),
]
const START = Date.UTC(2024, 0, 5) / 1000
const DAYS = 3
const TIP = START + DAYS * 86_400 + 1_234
const Q96 = 2n ** 96n

describe.skipIf(withoutClickHouse)('candles and ticks', () => {
  let database: TestDatabase
  let service: Service

  beforeAll(async () => {
    database = await freshDatabase()
    const store = openStore(database.client, 'ethereum')
    await store([...randomBlocks(20_240_105), block(1_000_000, TIP)])
    // Late enough that silence after the tip means nothing, so that rows end with the tip's bucket.
    const clock = () => new Date((TIP + 86_400) * 1000)
    service = await startService({ client: database.client, networks: [NETWORKS.ethereum], clock })
  })
  afterAll(async () => {
    await service?.stop()
    await database?.drop()
  })

  test('/candles for every legal interval equals the fold of /ticks, and so does its flow', async () => {
    const everything = new Map<string, Awaited<ReturnType<typeof allTicks>>>()
    for (const { query } of QUESTIONS)
      for (const price of ['execution', 'spot', 'usd'])
        everything.set(`${query}&price=${price}`, await allTicks(service, `${query}&price=${price}`))
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...QUESTIONS),
        fc.constantFrom('execution', 'spot', 'usd'),
        fc.constantFrom('previous', 'none'),
        interval,
        fc.integer({ min: START - 7_200, max: TIP + 7_200 }),
        fc.double({ min: 0, max: 130, noNaN: true }),
        fc.integer({ min: 1, max: 100 }),
        fc.boolean(),
        async ({ query }, price, fill, { text, seconds }, from, buckets, limit, withFlow) => {
          const to = from + 1 + Math.floor(buckets * seconds)
          const range = `from=${new Date(from * 1000).toISOString()}&to=${new Date(to * 1000).toISOString()}`
          const { body } = await service.get(
            `/v0/candles?${query}&interval=${text}&${range}&limit=${limit}&fill=${fill}&price=${price}${withFlow ? '&include=flow' : ''}`,
          )
          const ticks = everything.get(`${query}&price=${price}`) ?? []
          const folded = foldTicks(price === 'usd' ? inDollars(ticks) : priced(ticks, price), seconds)
          const rows = fill === 'none' ? folded : fillFolded(folded, seconds, TIP)
          const expected = rows.filter(({ time }) => Date.parse(time) / 1000 >= from && Date.parse(time) / 1000 < to)
          const flows = foldFlow(priced(ticks, price), seconds, price)
          const flowOf = (time: string) => flows.get(time) ?? NO_TRADES
          const wanted = expected.slice(-limit).map((row) => ({ ...row, ...(withFlow && flowOf(row.time)) }))
          const Answer = withFlow ? CandlesWithFlow : Candles
          expect(Answer.parse(body).data).toEqual(wanted)
        },
      ),
      seededOnServers({ numRuns: sample('RUNS', 100, 400) }),
    )
  })
})

/** In pool order, and the other way round by symbol. */
const QUESTIONS = [
  ...POOLS.map(({ id }) => ({ query: `pool=${id}` })),
  { query: 'symbol=WETH-USDC' },
  { query: 'symbol=weth-dai' },
  { query: 'symbol=ETH-WBTC' },
  { query: 'symbol=DAI-ETH' },
]

const interval = fc.oneof(
  fc.integer({ min: 1, max: 86_400 }).map((count) => ({ text: `${count}s`, seconds: count })),
  fc.integer({ min: 1, max: 1_440 }).map((count) => ({ text: `${count}m`, seconds: count * 60 })),
  fc.integer({ min: 1, max: 24 }).map((count) => ({ text: `${count}h`, seconds: count * 3_600 })),
  fc.constant({ text: '1d', seconds: 86_400 }),
)

/** Pages through a pool's whole history as a user does: back from the end, second by second. */
async function allTicks(service: Service, query: string) {
  const pages: z.infer<typeof Ticks>['data'] = []
  for (let to = START + 10 * 86_400; ; ) {
    const range = `from=${new Date((START - 86_400) * 1000).toISOString()}&to=${new Date(to * 1000).toISOString()}`
    const { data } = Ticks.parse((await service.get(`/v0/ticks?${query}&${range}&limit=1000`)).body)
    const known = new Set(pages.map((tick) => tick.id))
    const fresh = data.filter((tick) => !known.has(tick.id))
    pages.unshift(...fresh)
    const [oldest] = data
    if (data.length < 1000 || oldest === undefined) return pages
    to = Date.parse(oldest.timestamp) / 1000 + 1
  }
}

/** Bursts with several swaps in a block and several blocks in a second, between stretches with nothing at all. */
function randomBlocks(seed: number) {
  const random = generator(seed)
  const blocks = []
  let log = 0
  for (let number = 1, time = START + 500; time < START + DAYS * 86_400; number++) {
    const ticks = Array.from({ length: Math.floor(random() * 4) }, () => {
      const pool: Pool = POOLS[Math.floor(random() * POOLS.length)] ?? poolOf(addressOf('ff'), USDC, WETH)
      log += 1 + Math.floor(random() * 3)
      const sign = random() < 0.5 ? 1n : -1n
      // Some legs are dust or nothing: then the spot price stands in. Where both are nothing, no price was executed.
      const size = 10 ** (1 + random() * 24)
      const isNothing = random() < 0.15
      const amount0 = isNothing ? 0n : sign * BigInt(Math.floor(random() < 0.05 ? random() * 3 : size))
      const amount1 = isNothing ? 0n : -sign * BigInt(Math.floor(size * (0.5 + random())))
      const sqrtPriceX96 = (Q96 * BigInt(1 + Math.floor(random() * 1e9))) / BigInt(1 + Math.floor(random() * 1e6))
      return tick({
        pool,
        logIndex: log,
        amount0,
        amount1,
        sqrtPriceX96,
        usdMicros: isNothing ? 0n : BigInt(Math.floor(random() * 1e9)),
      })
    })
    blocks.push(block(number, time, { ticks, pools: number === 1 ? POOLS : [] }))
    const quiet = random()
    time +=
      quiet < 0.3
        ? 0
        : quiet < 0.9
          ? Math.ceil(random() * 8)
          : quiet < 0.99
            ? Math.ceil(random() * 900)
            : Math.ceil(random() * 20_000)
  }
  return blocks
}

/** mulberry32: small, and the same everywhere. */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
