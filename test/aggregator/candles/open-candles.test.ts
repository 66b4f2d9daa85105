/** Folding in memory, beside tables that are as simple as can be: whatever happens, every bucket that is written is what its ticks come to. */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bucketStart, type Candle, fromTick, merge, RESOLUTIONS } from '../../../aggregator/candles/candle.ts'
import { type Bucket, OpenCandles } from '../../../aggregator/candles/open-candles.ts'
import { bucketsOf, foldTicks } from '../../../aggregator/write/fold-ticks.ts'
import { sortTicks } from '../../../ingest/columns/sorted-ticks.ts'
import { columnsOf } from '../../../ingest/columns/tick-columns.ts'
import type { BlockContent } from '../../../ingest/model/message.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import type { Tick } from '../../../ingest/model/tick.ts'
import { randomOf } from '../../simulation/random.ts'
import { sample } from '../../support/sample.ts'
import { seeded } from '../../support/seed.ts'
import { block } from '../../support/store.ts'

const POOLS = ['0xa1', '0xa2', '0xa3', '0xa4'] as PoolId[]
const START = 86_400 * 19_000 - 30

type StoredTick = { tick: Tick; block: number; time: number; isFinal: boolean }

/** Each candle that changed, and the pools that memory lacks. */
function fold(open: OpenCandles, blocks: readonly BlockContent[]) {
  const folded = foldTicks(sortTicks(columnsOf(blocks)), open, 1n)
  const buckets = bucketsOf(folded.candles, folded.pools)
  return { ...folded, buckets }
}

/** The aggregator's recompute, on an array in place of the tables. */
class Model {
  ticks: StoredTick[] = []
  blocks: { number: number; time: number }[] = [{ number: 0, time: START }]
  candles = new Map<string, Candle | undefined>()
  open: OpenCandles
  readonly mostPools: number
  #random: () => number
  #logs = 0
  /** No block up to here is replaced any more. */
  #final = 0

  constructor(random: () => number, mostPools: number) {
    this.#random = random
    this.mostPools = mostPools
    this.open = new OpenCandles(START, mostPools)
  }

  get tip() {
    return this.blocks.at(-1) ?? { number: 0, time: START }
  }

  pick(below: number): number {
    return Math.floor(this.#random() * below)
  }

  tick(): Tick {
    const price = this.pick(1_000) + 1
    return {
      pool: POOLS[this.pick(POOLS.length)] ?? '0xa1',
      logIndex: this.#logs++,
      transactionHash: '0x',
      amount0: BigInt(this.pick(2_000) - 1_000),
      amount1: BigInt(this.pick(2_000) - 1_000),
      sqrtPriceX96: 1n,
      liquidity: 1n,
      poolTick: 0,
      fee: 500,
      price,
      spotPrice: price + 0.5,
      amountUsdMicros: BigInt(this.pick(1_000)),
    }
  }

  mine(): BlockContent[] {
    let { number, time } = this.tip
    return Array.from({ length: 1 + this.pick(4) }, () => {
      number += 1
      time += [0, 1, 2, 59, 3_600, 86_400][this.pick(6)] ?? 0
      return block(number, time, { ticks: Array.from({ length: this.pick(4) }, () => this.tick()) })
    })
  }

  /** From the ticks of these pools that are stored, for all time. */
  recompute(pools: readonly PoolId[]): void {
    for (const key of this.candles.keys()) if (pools.includes(poolOf(key))) this.candles.set(key, undefined)
    const sorted = this.ticks
      .filter(({ tick }) => pools.includes(tick.pool))
      .sort((a, b) => a.block - b.block || a.tick.logIndex - b.tick.logIndex)
    for (const { tick, time } of sorted) {
      for (const resolution of RESOLUTIONS) {
        const key = keyOf(tick.pool, resolution, bucketStart(time, resolution))
        const earlier = this.candles.get(key)
        this.candles.set(key, earlier ? merge(earlier, fromTick(tick)) : fromTick(tick))
      }
    }
  }

  readOpen(pools: readonly PoolId[], second: number): Bucket[] {
    return pools.flatMap((pool) =>
      RESOLUTIONS.flatMap((resolution) => {
        const start = bucketStart(second, resolution)
        const candle = this.candles.get(keyOf(pool, resolution, start))
        return candle ? [{ pool, resolution, start, candle: structuredClone(candle) }] : []
      }),
    )
  }

  append(blocks: readonly BlockContent[], failsAfter: 'nothing' | 'ticks' | 'candles'): void {
    const stored = blocks.flatMap(({ number, timestamp, ticks }) =>
      ticks.map((tick) => ({ tick, block: number, time: timestamp, isFinal: false })),
    )
    const last = blocks.at(-1)
    if (!last) return
    for (const attempt of failsAfter === 'nothing' ? [1] : [0, 1]) {
      const isStated = new Set(this.ticks.map(({ tick }) => tick))
      this.ticks.push(...stored.filter(({ tick }) => !isStated.has(tick)))
      const { incomplete: unknown, ticks, buckets } = fold(this.open, blocks)
      expect(ticks).toBe(stored.length)
      if (attempt === 0 && failsAfter === 'ticks') {
        this.open.invalidateAll(last.timestamp)
        continue
      }
      for (const { pool, resolution, start, candle } of buckets) {
        this.candles.set(keyOf(pool, resolution, start), candle)
      }
      const newest = Math.max(...blocks.filter(({ ticks }) => ticks.length > 0).map(({ timestamp }) => timestamp))
      this.recompute(unknown)
      if (unknown.length > 0) this.open.load(unknown, this.readOpen(unknown, newest), newest)
      if (attempt === 0) this.open.invalidateAll(last.timestamp)
    }
    this.blocks.push(...blocks.map(({ number, timestamp }) => ({ number, time: timestamp })))
  }

  rollBack(): void {
    const old = this.tip
    const kept = Math.max(1, this.blocks.length - this.pick(4))
    this.blocks = this.blocks.filter((one, index) => index < kept || one.number <= this.#final)
    const { number } = this.tip
    const isGone = ({ block, isFinal }: StoredTick) => block > number && !isFinal
    const touched = [...new Set(this.ticks.filter(isGone).map(({ tick }) => tick.pool))]
    this.ticks = this.ticks.filter((one) => !isGone(one))
    this.recompute(touched)
    this.open.invalidate(touched, old.time)
  }

  restart(): void {
    this.open = new OpenCandles(Math.max(this.tip.time, ...this.ticks.map(({ time }) => time)), this.mostPools)
  }

  /** A job finds a tick that the stream has left out, in one of the newest blocks. */
  restate(): void {
    const { number, time } = this.blocks.at(-1 - this.pick(Math.min(5, this.blocks.length))) ?? this.tip
    const tick = this.tick()
    this.#final = Math.max(this.#final, number)
    this.open.setAheadUntil(time)
    this.ticks.push({ tick, block: number, time, isFinal: true })
    this.open.invalidate([tick.pool], this.tip.time)
    this.recompute([tick.pool])
  }

  /** A job has read blocks that the stream brings only now. */
  restateAhead(): void {
    const blocks = this.mine()
    const last = blocks.at(-1)
    if (!last) return
    this.#final = last.number
    this.open.setAheadUntil(last.timestamp)
    const stated = blocks.flatMap(({ number, timestamp, ticks }) =>
      ticks.map((tick) => ({ tick, block: number, time: timestamp, isFinal: true })),
    )
    this.ticks.push(...stated)
    const pools = [...new Set(stated.map(({ tick }) => tick.pool))]
    this.open.invalidate(pools, this.tip.time)
    this.recompute(pools)
    for (const one of blocks) {
      if (this.pick(4) === 0) this.restart()
      this.append([one], 'nothing')
    }
  }

  expectRight(): void {
    const written = new Map([...this.candles].filter(([, candle]) => candle !== undefined))
    this.candles = new Map()
    this.recompute(POOLS)
    expect(written).toStrictEqual(this.candles)
  }
}

function keyOf(pool: PoolId, resolution: number, start: number): string {
  return `${pool} ${resolution} ${start}`
}

function poolOf(key: string): PoolId {
  return key.split(' ')[0] as PoolId
}

const acts = fc.array(
  fc.constantFrom(
    'append',
    'append',
    'append',
    'lose ticks',
    'lose candles',
    'roll back',
    'restart',
    'restate',
    'restate ahead',
  ),
  { minLength: 3, maxLength: 25 },
)

test('candles folded in memory, and those recomputed where memory was lost, equal the fold of all ticks', {
  timeout: 3_600_000,
}, () => {
  fc.assert(
    fc.property(acts, fc.integer(), fc.constantFrom(1, 2, 100), (acts, seed, mostPools) => {
      const model = new Model(randomOf(seed).next, mostPools)
      for (const act of acts) {
        if (act === 'append') model.append(model.mine(), 'nothing')
        else if (act === 'lose ticks') model.append(model.mine(), 'ticks')
        else if (act === 'lose candles') model.append(model.mine(), 'candles')
        else if (act === 'roll back') model.rollBack()
        else if (act === 'restart') model.restart()
        else if (act === 'restate') model.restate()
        else model.restateAhead()
        model.expectRight()
      }
    }),
    seeded({ numRuns: sample('RUNS', 100, 300) }),
  )
})

test('the least recently traded pool is evicted first, and recomputed when it trades again', () => {
  const open = new OpenCandles(0, 2)
  const random = new Model(Math.random, 1)
  const at = (time: number, ...pools: number[]) =>
    fold(open, [block(time, time, { ticks: pools.map((pool) => ({ ...random.tick(), pool: POOLS[pool] ?? '0xa1' })) })])
      .incomplete
  expect(at(86_400, 0, 1)).toEqual([])
  expect(at(86_401, 0, 2)).toEqual([])
  // Pool 1 made room, so that its day is not known any more; a new day is.
  expect(at(86_402, 1)).toEqual([POOLS[1]])
  expect(at(172_800, 1)).toEqual([])
})
