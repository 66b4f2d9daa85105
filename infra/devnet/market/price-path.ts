/** External market prices of the tokens: a random walk with regimes of low, normal and high volatility. */
import { type DevUsdPrices, FIRST_PRICES } from './plan.ts'
import type { Random } from './random.ts'

export type PricePath = {
  prices(): DevUsdPrices
  isVolatile(): boolean
  advance(seconds: number): void
}

/** Yearly deviation of ETH's logarithm, and the mean duration of the regime in seconds. */
const REGIMES = {
  calm: { deviation: 0.35, seconds: 2_400 },
  normal: { deviation: 0.7, seconds: 3_600 },
  storm: { deviation: 1.6, seconds: 720 },
} as const
type Regime = keyof typeof REGIMES

const YEAR = 365 * 86_400
const JUMPS_PER_SECOND = 0.5 / 3_600
const JUMP_DEVIATION = 0.006
/** Part of the move that comes from ETH, and size of the whole move against ETH's. */
const WBTC = { correlation: 0.85, scale: 0.7 }
const MKR = { correlation: 0.6, scale: 1.3 }
/** Slow enough not to be seen in a day, strong enough that months do not carry the price out of its pools. */
const RETURN_SECONDS = 20 * 86_400
const DAI = { mean: 0.9999, deviation: 0.0003, returnSeconds: 3_600 }

export function pricePathOf(random: Random, start: DevUsdPrices): PricePath {
  let regime: Regime = 'normal'
  let { ETH, WBTC: btc, MKR: mkr, DAI: dai } = start

  function advance(seconds: number) {
    const { deviation, seconds: lasting } = REGIMES[regime]
    if (random.uniform() < 1 - Math.exp(-seconds / lasting)) regime = nextRegime(regime)
    const size = deviation * Math.sqrt(seconds / YEAR)
    const jump = random.uniform() < JUMPS_PER_SECOND * seconds ? JUMP_DEVIATION * random.normal() : 0
    const common = random.normal() * size + jump
    const own = (asset: typeof WBTC) =>
      asset.scale * (asset.correlation * common + Math.sqrt(1 - asset.correlation ** 2) * size * random.normal())
    ETH = moved(ETH, FIRST_PRICES.ETH, common, seconds)
    btc = moved(btc, FIRST_PRICES.WBTC, own(WBTC), seconds)
    mkr = moved(mkr, FIRST_PRICES.MKR, own(MKR), seconds)
    const pull = 1 - Math.exp(-seconds / DAI.returnSeconds)
    dai += (DAI.mean - dai) * pull + DAI.deviation * Math.sqrt(1 - (1 - pull) ** 2) * random.normal()
  }

  function nextRegime(now: Regime): Regime {
    if (now !== 'normal') return 'normal'
    return random.uniform() < 0.6 ? 'calm' : 'storm'
  }

  return {
    prices: () => ({ ETH, WETH: ETH, WBTC: btc, MKR: mkr, USDC: 1, DAI: dai }),
    isVolatile: () => regime === 'storm',
    advance,
  }
}

/** A step of the logarithm, with a slight pull back to where the market began. */
function moved(price: number, first: number, step: number, seconds: number): number {
  return price * Math.exp(step + Math.log(first / price) * Math.min(1, seconds / RETURN_SECONDS))
}
