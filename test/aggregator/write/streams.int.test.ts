/**
 * One law, two paths: what the aggregator folds in memory is to the bit what SQL counts from the ticks, over random streams of ticks with
 * forks, restarts and history that jobs state. A stream is one pool in one history; `STREAMS=100000` asks for that many.
 */

import type { ClickHouseClient } from '@clickhouse/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { verify } from '../../../aggregator/extras/verify/verify.ts'
import { inProcessLog } from '../../../infra/kafka/in-process.ts'
import type { RangeOverwrite } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import type { Tick } from '../../../ingest/model/tick.ts'
import { type Random, randomOf } from '../../simulation/random.ts'
import { asBlocks, asRestatement, type BlockPlan, type Chain, mine } from '../../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { sample } from '../../support/sample.ts'
import { addressOf, hashOf } from '../../support/store.ts'
import { networkOf, startAggregator } from '../running.ts'

const STREAMS = sample('STREAMS', 1_000, 6_000)
const FIRST_SEED = Number(process.env['SEED'] ?? 1)
const POOLS = Array.from({ length: 2_000 }, (_, index) => addressOf(`f${(index + 0x1000).toString(16)}`))
const ACTS = 12
/** Only what is deeper than this is restated: what is above may still be replaced. */
const DEEPEST_FORK = 6
const UNSEEN = 30
const never = new AbortController().signal

describe.skipIf(withoutClickHouse)('the fold and the recompute', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database?.drop())

  test(`give the same bits on ${STREAMS} random streams`, { timeout: STREAMS * 120 }, async () => {
    const acts: Record<Act, number> = { grow: 0, fork: 0, restart: 0, restate: 0 }
    for (let seed = FIRST_SEED; seed < FIRST_SEED + STREAMS / POOLS.length; seed++) {
      await expectSame(database.client, seed, acts)
    }
    console.log(`${STREAMS} streams:`, acts)
  })
})

const ACT = ['grow', 'grow', 'grow', 'fork', 'restart', 'restate'] as const
type Act = (typeof ACT)[number]

async function expectSame(client: ClickHouseClient, seed: number, acts: Record<Act, number>): Promise<void> {
  const network = networkOf(`streams ${seed}`)
  const random = randomOf(seed)
  // Blocks from before the listener came are known once a job has stated them.
  let chain: Chain = mine([], plansOf(random, UNSEEN + random.between(1, 20)))
  const known = new Set(chain.slice(UNSEEN).map(({ number }) => number))
  let running = await start(client, network)
  await running.aggregator.append(asBlocks(network, chain.slice(UNSEEN)))
  for (let act = 0; act < ACTS; act++) {
    const kind = random.pick(ACT)
    acts[kind]++
    if (kind === 'restart') {
      await running.stop()
      running = await start(client, network)
    } else if (kind === 'restate') {
      const [from, to] = stretch(random, Math.max(UNSEEN, chain.length - DEEPEST_FORK * (ACTS - act)))
      const isStated = (index: number) => from <= index && index <= to
      chain = chain.map((block, index) => (isStated(index) ? { ...block, ticks: mended(random, block.ticks) } : block))
      const stated = chain.filter((_, index) => isStated(index))
      for (const { number } of stated) known.add(number)
      await running.history.append([asRestatement(network, stated, { job: act + 1 })])
    } else {
      const kept = kind === 'fork' ? Math.max(UNSEEN + 1, chain.length - random.between(1, DEEPEST_FORK)) : chain.length
      chain = mine(chain.slice(0, kept), plansOf(random, random.between(1, 20)), `act ${act}`)
      for (const { number } of chain.slice(kept)) known.add(number)
      await running.aggregator.append(asBlocks(network, chain.slice(kept)))
    }
  }
  await running.stop()
  for await (const difference of verify(client, { network, signal: never })) {
    throw new Error(`SEED=${seed}: ${JSON.stringify(difference)}`)
  }
  const expected = tradesIn(chain.filter(({ number }) => known.has(number)))
  expect(await tradesOf(client, network), `SEED=${seed}`).toEqual(expected)
}

async function start(client: ClickHouseClient, network: NetworkName) {
  const history = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
  const aggregator = await startAggregator(client, { network, history })
  const stop = async () => {
    await aggregator.stop()
    await history.close()
  }
  return { aggregator, history, stop }
}

function stretch(random: Random, length: number): [from: number, to: number] {
  const from = random.between(0, length - 1)
  return [from, random.between(from, Math.min(length - 1, from + 20))]
}

/** A block as a second read may find it: the same, a swap less, a swap more. */
function mended(random: Random, ticks: readonly Tick[]): readonly Tick[] {
  if (random.chance(0.5)) return ticks
  const left = ticks.filter(() => random.chance(0.9))
  const logIndex = Math.max(0, ...ticks.map((tick) => tick.logIndex)) + 1
  return random.chance(0.5) ? left : [...left, swap(random, logIndex)]
}

function plansOf(random: Random, blocks: number): BlockPlan[] {
  return Array.from({ length: blocks }, () => ({
    secondsLater: random.chance(0.05) ? random.between(1_000, 90_000) : random.pick([0, 1, 1, 2, 12]),
    ticks: Array.from({ length: random.pick([0, 3, 50, 300]) }, (_, index) => swap(random, index)),
    pools: [],
    liquidity: [],
    balances: [],
  }))
}

/** Many pools trade now and then, a few in nearly every block. */
function swap(random: Random, logIndex: number): Tick {
  const hot = random.chance(0.3) ? 20 : POOLS.length
  const price = () => (random.next() + Number.EPSILON) * 10 ** random.between(-18, 18)
  return {
    pool: POOLS[random.between(0, hot - 1)] ?? addressOf('f0'),
    logIndex,
    transactionHash: hashOf(`swap ${random.bits(64)}`),
    amount0: random.bits(random.pick([8, 64, 128])) * (random.chance(0.5) ? 1n : -1n),
    amount1: random.bits(random.pick([8, 64, 128])) * (random.chance(0.5) ? 1n : -1n),
    sqrtPriceX96: random.bits(160),
    liquidity: random.bits(128),
    poolTick: random.between(-887_272, 887_272),
    fee: 500,
    price: price(),
    spotPrice: price(),
    amountUsdMicros: random.bits(60),
  }
}

type Trades = Record<PoolId, string>

/** By pool: the number of trades, and the sums of both amounts. */
function tradesIn(chain: Chain): Trades {
  const sums = new Map<PoolId, { count: number; sum: bigint }>()
  for (const { pool, amount0 } of chain.flatMap(({ ticks }) => ticks)) {
    const { count, sum } = sums.get(pool) ?? { count: 0, sum: 0n }
    sums.set(pool, { count: count + 1, sum: sum + amount0 })
  }
  return Object.fromEntries([...sums].map(([pool, { count, sum }]) => [pool, `${count} ${sum}`]))
}

async function tradesOf(client: ClickHouseClient, network: NetworkName): Promise<Trades> {
  const answer = await client.query({
    query: `SELECT pool, concat(toString(count()), ' ', toString(sum(amount0))) AS trades
            FROM ticks FINAL WHERE network = {network:String} GROUP BY pool`,
    query_params: { network },
    format: 'JSONEachRow',
  })
  const rows = await answer.json<{ pool: PoolId; trades: string }>()
  return Object.fromEntries(rows.map(({ pool, trades }) => [pool, trades]))
}
