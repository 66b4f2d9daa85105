/**
 * Whatever the chain and its nodes do, and whenever our processes die: the end equals a clean run over the final chain. Seeds are fresh in each run, and
 * printed; those that once failed are run again. `SEED=<n>` gives one life again and shows what happened in it, `SEEDS=<n>` asks for so many
 * fresh ones, `SEEDS=<m>-<n>` for those; with `LIES=1`, endpoints lie.
 */
import { afterAll, describe, expect, test } from 'vitest'
import { sample } from '../support/sample.ts'
import { freshSeed, keptSeeds, plainSeeds } from '../support/seeds.ts'
import { reportToSoak } from '../support/soak-report.ts'
import { judgedAmongLiars } from './lies/lie-oracle.ts'
import { liePlanOf } from './lies/lie-plan.ts'
import { judged } from './oracle.ts'
import { planOf } from './simulate.ts'

const isOne = process.env['SEED'] !== undefined
const [first, last] = rangeOf(process.env['SEEDS'] ?? `${sample('SEEDS', 60, 200)}`)
const FRESH = Array.from({ length: last - first + 1 }, (_, at) => first + at)
const SEEDS = [...new Set([...(isOne ? [] : keptSeeds('simulation')), ...FRESH])]
const PLAIN = plainSeeds()

function live(seed: number) {
  const isPlain = PLAIN.has(seed)
  return process.env['LIES'] === '1' ? judgedAmongLiars(liePlanOf(seed)) : judged(planOf(seed, { isPlain }))
}

function rangeOf(text: string): [number, number] {
  const [from = 0, to] = text.split('-').map(Number)
  if (to !== undefined) return [from, to]
  const fresh = freshSeed('simulation')
  return [fresh, isOne ? fresh : fresh + from - 1]
}

describe('a listener and a ledger end where a clean run ends', () => {
  let [histories, traded] = [0, 0]
  afterAll(() => reportToSoak({ suite: 'simulation', histories }))

  test.each(SEEDS)('SEED=%i', { timeout: 60_000 }, async (seed) => {
    const { happened, facts, clean } = await live(seed)
    histories++
    if (clean.ticks.length > 0) traded++
    if (isOne) console.log(Object.fromEntries(happened.all), facts)
  })

  test.skipIf(isOne)('nearly all of these chains have swaps', () => {
    expect(traded / histories).toBeGreaterThan(0.9)
  })
})
