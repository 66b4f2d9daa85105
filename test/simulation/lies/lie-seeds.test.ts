/**
 * Endpoints that lie in histories of all kinds, drawn by seeds: fresh ones in each run, which are printed, and those that once failed. `SEED=<n>` gives one
 * history again and shows what happened in it, `SEEDS=<n>` asks for so many fresh ones, `SEEDS=<m>-<n>` for those.
 */
import { afterAll, describe, test } from 'vitest'
import { sample } from '../../support/sample.ts'
import { isOneSeed, seedsToRun } from '../../support/seeds.ts'
import { reportToSoak } from '../../support/soak-report.ts'
import { judgedAmongLiars } from './lie-oracle.ts'
import { liePlanOf } from './lie-plan.ts'

describe('endpoints of which one is honest', () => {
  let [histories, told] = [0, 0]
  afterAll(() => reportToSoak({ suite: 'lies', histories, lies: told }))

  test.each(seedsToRun('lies', sample('SEEDS', 10, 200)))('SEED=%i', async (seed) => {
    const outcome = await judgedAmongLiars(liePlanOf(seed))
    histories++
    told += outcome.told.reduce((sum, times) => sum + times, 0)
    if (isOneSeed) console.log(Object.fromEntries(outcome.happened.all), outcome.told, outcome.facts)
  })
})
