import { expect, test } from 'vitest'
import { FIRST_PRICES } from '../../../../infra/devnet/market/plan.ts'
import { pricePathOf } from '../../../../infra/devnet/market/price-path.ts'
import { randomOf } from '../../../../infra/devnet/market/random.ts'

const DAY_OF_BLOCKS = 7_200

test('a seed repeats its path', () => {
  expect(pathOf(7, 100)).toEqual(pathOf(7, 100))
  expect(pathOf(7, 100)).not.toEqual(pathOf(8, 100))
})

test.each([1, 2, 3, 4, 5])(
  'ether moves in a day as ether does, and the dollar tokens stay at a dollar (seed %i)',
  (seed) => {
    const path = pathOf(seed, DAY_OF_BLOCKS)
    const steps = path.slice(1).map(({ ETH }, index) => Math.log(ETH / (path[index]?.ETH ?? ETH)))
    const deviation = Math.sqrt(steps.reduce((sum, step) => sum + step ** 2, 0))
    expect(deviation).toBeGreaterThan(0.01)
    expect(deviation).toBeLessThan(0.12)
    for (const { DAI } of path) expect(Math.abs(DAI - 1)).toBeLessThan(0.003)
  },
)

test('half a year does not carry the price out of its pools', () => {
  const path = pathOf(9, 180 * 24, 3_600)
  for (const { ETH } of path) {
    expect(ETH).toBeGreaterThan(FIRST_PRICES.ETH / 3)
    expect(ETH).toBeLessThan(FIRST_PRICES.ETH * 3)
  }
})

function pathOf(seed: number, steps: number, seconds = 12) {
  const path = pricePathOf(randomOf(seed), FIRST_PRICES)
  return Array.from({ length: steps }, () => {
    path.advance(seconds)
    return path.prices()
  })
}
