/** Questions as users would ask them: drawn as trades are, so that one pool of a thousand has a tenth of them. */
import { type Random, randomOf } from '../simulation/random.ts'
import { tokenOf } from './load-store.ts'
import { poolId } from './synthetic.ts'

export const KINDS = ['now', 'closed', 'new', 'symbol', 'ticks', 'pools', 'usage', 'mix'] as const
export type Kind = (typeof KINDS)[number]

/** Share of a hundred questions of the mix. */
const MIX: readonly (readonly [Exclude<Kind, 'mix'>, number])[] = [
  ['now', 70],
  ['closed', 10],
  ['symbol', 5],
  ['ticks', 10],
  ['pools', 3],
  ['usage', 2],
]

/** Intervals of charts, and some that only an API user has. */
const INTERVALS = ['1s', '15s', '45s', '1m', '5m', '7m', '15m', '30m', '1h', '4h', '12h', '1d'] as const
const HOUR = 3_600
export const BUCKETS = 100

export type Question = {
  path: string
  /** A candle request: `to` is now where absent. */
  candles?: { pool: number; interval: string; to?: number }
}

export type Draw = (kind: Kind) => Question

/** The same seed gives the same questions. `hours` is how far back the market goes. */
export function drawer(seed: number, { pools, hours }: { pools: number; hours: number }): Draw {
  const random = randomOf(seed)
  const pick = zipf(pools)
  const thisHour = Math.floor(Date.now() / 1_000 / HOUR) * HOUR

  return function draw(kind): Question {
    if (kind === 'mix') return draw(kindOf(random))
    const pool = pick(random.next())
    const interval = random.pick(INTERVALS)
    const symbol = `${tokenOf(pool)}-USDC`
    if (kind === 'usage') return { path: '/v0/usage' }
    if (kind === 'pools') return { path: `/v0/pools?symbol=${symbol}` }
    if (kind === 'ticks') return { path: `/v0/ticks?pool=${poolId(pool)}` }
    if (kind === 'symbol') return { path: `/v0/candles?symbol=${symbol}&interval=${interval}&limit=${BUCKETS}` }
    if (kind === 'now') return candles({ pool, interval })
    if (kind === 'new') {
      const end = thisHour - random.between(0, hours - 1) * HOUR
      return candles({ pool: random.between(0, pools - 1), interval, to: end })
    }
    // What was lately is asked for more than what was long ago.
    const age = Math.floor(hours ** random.next())
    return candles({ pool, interval, to: thisHour - age * HOUR })
  }
}

export function candles(asked: { pool: number; interval: string; to?: number }): Question {
  const end = asked.to === undefined ? '' : `&to=${new Date(asked.to * 1_000).toISOString()}`
  const path = `/v0/candles?pool=${poolId(asked.pool)}&interval=${asked.interval}&limit=${BUCKETS}${end}`
  return { path, candles: asked }
}

function kindOf(random: Random): Exclude<Kind, 'mix'> {
  let left = random.between(0, 99)
  for (const [kind, share] of MIX) {
    if (left < share) return kind
    left -= share
  }
  return 'now'
}

/** With this exponent the first of a thousand has a tenth. */
const EXPONENT = 0.9

/** From a fraction to a place in the order of popularity. */
function zipf(count: number): (fraction: number) => number {
  const sums: number[] = []
  let sum = 0
  for (let place = 1; place <= count; place++) {
    sum += place ** -EXPONENT
    sums.push(sum)
  }
  return (fraction) => {
    const found = sums.findIndex((upTo) => upTo > fraction * sum)
    return found === -1 ? count - 1 : found
  }
}
