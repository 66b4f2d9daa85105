/** Weeks of one pool's trades, made up: a price that wanders, and blocks that come in bursts or hours apart, some in the same second. */
import type { BlockContent } from '../../ingest/model/message.ts'
import type { Tick } from '../../ingest/model/tick.ts'
import { type Random, randomOf } from '../simulation/random.ts'
import { block, tick } from '../support/store.ts'
import { POOLS, sqrtPrice } from './scenario.ts'

/** USDC and WETH, in this order. */
export const POOL = POOLS.main

const GAPS = [0, 0, 12, 24, 300, 1_800, 3_599, 3_600, 7_200, 14_400] as const
const FIRST_BLOCK = 1_000

export type Walk = {
  /** One block at least, and all before this second. */
  on(to: number): BlockContent[]
}

/** Continues the walk. The first block has the pool. */
export function walkFrom(from: number, seed: number): Walk {
  const random = randomOf(seed)
  let second = from
  let number = FIRST_BLOCK
  let logs = 0
  let micros = 2_000_000_000
  return {
    on(to) {
      const blocks: BlockContent[] = []
      do {
        const ticks = Array.from({ length: random.between(1, 4) }, () => {
          micros = Math.round(micros * (1 + (random.next() - 0.5) / 100))
          return trade(random, micros, logs++)
        })
        const pools = number === FIRST_BLOCK ? [POOL] : []
        blocks.push(block(number++, second, { ticks, pools }))
        second += random.pick(GAPS)
      } while (second < to)
      return blocks
    },
  }
}

function trade(random: Random, micros: number, logIndex: number): Tick {
  const milliether = random.between(1, 20_000)
  const ether = BigInt(milliether) * 10n ** 15n + BigInt(random.between(0, 10 ** 9))
  const dollars = BigInt(Math.round((milliether * micros) / 1_000))
  const side = random.chance(0.5) ? 1n : -1n
  return tick({
    pool: POOL,
    logIndex,
    amount0: -side * dollars,
    amount1: side * ether,
    sqrtPriceX96: sqrtPrice(10n ** 18n, BigInt(micros)),
    usdMicros: dollars,
  })
}
