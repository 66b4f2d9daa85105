/**
 * Whatever the chain and its nodes do, and whenever our processes die: the end equals a clean run over the final chain. Seeds are fresh in each run, and
 * printed; those that once failed are run again. `SEED=<n>` gives one life again and shows what happened in it, `SEEDS=<n>` asks for so many
 * fresh ones, `SEEDS=<m>-<n>` for those.
 */
import { afterAll, describe, expect, test } from 'vitest'
import { sample } from '../support/sample.ts'
import { isOneSeed, plainSeeds, seedsToRun } from '../support/seeds.ts'
import { reportToSoak } from '../support/soak-report.ts'
import { judged } from './oracle.ts'
import { planOf } from './simulate.ts'

const PLAIN = plainSeeds()

describe('a listener and a ledger end where a clean run ends', () => {
  let [histories, traded] = [0, 0]
  afterAll(() => reportToSoak({ suite: 'simulation', histories }))

  test.each(seedsToRun('simulation', sample('SEEDS', 30, 200)))('SEED=%i', async (seed) => {
    const { happened, facts, clean } = await judged(planOf(seed, { isPlain: PLAIN.has(seed) }))
    histories++
    if (clean.ticks.length > 0) traded++
    if (isOneSeed) console.log(Object.fromEntries(happened.all), facts)
  })

  test.skipIf(isOneSeed)('most of these chains have swaps', () => {
    expect(traded / histories).toBeGreaterThan(0.5)
  })
})
