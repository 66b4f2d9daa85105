/**
 * Readers ask while processes, brokers and the engine die, stop and slow down, and the chain forks up to 64 blocks deep; each answer is judged.
 * It takes both cores and judges by the clock, so it is part of the soak and not of the check: `SECONDS=60` runs it for a minute, `SEED=7` chooses
 * the same faults again, `STREAMS_EACH=100` opens so many streams of each API process too, `MUTANTS=1` looks for the planted faults instead.
 */
import { describe, expect, test } from 'vitest'
import { withoutClickHouse } from '../support/clickhouse.ts'
import { kafkaOrSkip } from '../support/kafka.ts'
import { freshSeed } from '../support/seeds.ts'
import { reportToSoak } from '../support/soak-report.ts'
import { plant, READER_MUTANTS } from './mutants.ts'
import { countsOf, describeViolation, describeWatched, watch } from './watch.ts'

const SECONDS = Number(process.env['SECONDS'] ?? 60)
const SEED = freshSeed('readers')
const MUTANT_SECONDS = Number(process.env['SECONDS'] ?? 20)
const START_MS = 420_000

const isAsked = process.env['SECONDS'] !== undefined || process.env['MUTANTS'] !== undefined

describe.skipIf(!isAsked || withoutClickHouse || kafkaOrSkip().skip)(
  'a reader, while every part of the service fails',
  () => {
    test.skipIf(process.env['MUTANTS'])(
      `is shown nothing but exact states (SEED=${SEED})`,
      { timeout: START_MS + 3_000 * SECONDS },
      async () => {
        const watched = await watch({ seed: SEED, seconds: SECONDS })
        console.log(describeWatched(watched))
        const { answers, streamed, judged, violations } = watched
        const counts = { answers, streamed, judged, violations: violations.length, faults: countsOf(watched) }
        const [known, reached] = [[...watched.reached.known], [...watched.reached.reached]]
        reportToSoak({ suite: 'readers', ...counts, functions: { known, reached } })
        expect(violations.map(describeViolation)).toEqual([])
        expect(watched.breaks).toBe(0)
        expect(watched.unexpected).toEqual([])
        expect(watched.found).toEqual([])
        expect(judged).toBeGreaterThan(100)
      },
    )

    test.runIf(process.env['MUTANTS']).each(READER_MUTANTS)(
      `$name (SEED=${SEED})`,
      { timeout: START_MS + 3_000 * MUTANT_SECONDS },
      async (mutant) => {
        const { root, remove } = await plant(mutant)
        try {
          const watched = await watch({ seed: SEED, seconds: MUTANT_SECONDS, faults: mutant.faults, root })
          console.log(describeWatched(watched))
          expect(watched.violations.length).toBeGreaterThan(0)
        } finally {
          await remove()
        }
      },
    )
  },
)
