/**
 * Chaos: processes that die at every statement they send, while the chain forks up to 64 blocks deep, what was said is said again, and jobs
 * overwrite history in the same hours and days. At the end nothing is wrong, missing or made up.
 * Seeds are fresh in each run, and printed; those that once failed are run again. The check runs a sample; `CRASHES=1000` asks for that many,
 * which then meet every place where a process can die, `KAFKA_CRASHES=1000` for that many over Kafka, `SEED=7` runs one seed again.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { kafkaOrSkip } from '../support/kafka.ts'
import { sample } from '../support/sample.ts'
import { freshSeed, keptSeeds } from '../support/seeds.ts'
import { reportToSoak } from '../support/soak-report.ts'
import { type Crash, type Outcome, placeOf, runSeed } from './chaos.ts'
import { PLACES, RARE_PLACES } from './expected-places.ts'
import { IN_PROCESS, kafkaLogs, type LogKind } from './logs.ts'
import { expectOracle } from './oracle.ts'

const CRASHES = sample('CRASHES', 16, 150)
/** A sample is too small for that. */
const MEETS_ALL = CRASHES >= 150
/** Each life opens its topics again, which takes most of its time. */
const KAFKA_CRASHES = sample('KAFKA_CRASHES', 4, CRASHES / 8)
const ONE_SEED = process.env['SEED'] === undefined ? undefined : Number(process.env['SEED'])
const RUNS = 10
const AT_ONCE = 6
/** Lives that are to end at a place which no crash has met. */
const TRIES_TO_MEET = 60
/** Seeds above go over Kafka. */
const KAFKA_OFFSET = 1_000_000
const FIRST_SEED = ONE_SEED ?? freshSeed('chaos')
const FIRST_KAFKA_SEED = KAFKA_OFFSET + FIRST_SEED

const kafka = kafkaOrSkip()

describe.skipIf(withoutClickHouse)('a process that dies at any place', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database?.drop())

  const timeout = 300_000 + Math.max(CRASHES, 8 * KAFKA_CRASHES) * 3_000

  test.concurrent(`${CRASHES} crashes in one process leave the rows of a clean run`, { timeout }, async (context) => {
    const seeds = seedsOf('process', CRASHES)
    if (seeds.length === 0) return context.skip()
    const crashes = await run('in one process', seeds, IN_PROCESS)
    if (ONE_SEED !== undefined) return
    expect(crashes.length).toBeGreaterThanOrEqual(CRASHES)
    if (!MEETS_ALL) return
    const missed = () => PLACES.filter((place) => !crashes.some((crash) => crash.place === place))
    // Chance decides whether a life comes to the place where it was to end: those that were missed are looked for again.
    const last = FIRST_SEED + seeds.length + TRIES_TO_MEET * PLACES.length
    for (let next = FIRST_SEED + seeds.length; next < last && missed().length > 0; ) {
      const places = missed()
      const chosen: number[] = []
      for (; next < last && chosen.length < AT_ONCE; next++) if (places.includes(placeOf(next) ?? '')) chosen.push(next)
      crashes.push(...(await run(`to meet ${places.join(', ')}`, chosen, IN_PROCESS)))
    }
    expect(missed()).toStrictEqual([])
  })

  test
    .skipIf(kafka.skip)
    .concurrent(`${KAFKA_CRASHES} crashes over Kafka leave the rows of a clean run`, { timeout }, async (context) => {
      const seeds = seedsOf('kafka', KAFKA_CRASHES)
      if (seeds.length === 0) return context.skip()
      const crashes = await run('over Kafka', seeds, kafkaLogs(kafka.brokers))
      if (ONE_SEED === undefined) expect(crashes.length).toBeGreaterThanOrEqual(KAFKA_CRASHES)
    })

  async function run(where: string, seeds: readonly number[], logKind: LogKind): Promise<Crash[]> {
    // Small statements of many processes at once: a thread for each is quickest.
    const client = database.connect({ settings: { max_threads: 1 }, maxOpenConnections: 4 * AT_ONCE })
    const seen = new Set<string>()
    const outcomes: Outcome[] = []
    await allOf(seeds, async (seed) => {
      try {
        const options = { runs: RUNS, logKind, onSeen: (place: string) => seen.add(place) }
        outcomes.push(await runSeed(client, seed, options))
      } catch (cause) {
        throw new Error(`SEED=${seed} failed.`, { cause })
      }
    })
    console.log(summaryOf(where, outcomes))
    // A place that is not in the list is not looked for.
    const known = [...PLACES, ...RARE_PLACES]
    expect([...seen].filter((place) => !known.includes(place))).toStrictEqual([])
    await expectOracle(
      database.client,
      outcomes.map(({ seed, network, clean, withRange }) => ({
        name: `SEED=${seed}`,
        network,
        clean,
        onlyTip: withRange,
      })),
    )
    const crashes = outcomes.flatMap((one) => one.crashes)
    const forks = outcomes.reduce((sum, one) => sum + one.forks.length, 0)
    reportToSoak({ suite: 'chaos', crashes: crashes.length, forks })
    return crashes
  }
})

/** As many as make so many crashes, after the kept ones. */
function seedsOf(where: 'process' | 'kafka', crashes: number): number[] {
  const isHere = (seed: number) => seed > KAFKA_OFFSET === (where === 'kafka')
  if (ONE_SEED !== undefined) return [ONE_SEED].filter(isHere)
  const first = where === 'kafka' ? FIRST_KAFKA_SEED : FIRST_SEED
  // Now and then a life ends in peace before its time.
  const fresh = Array.from({ length: Math.ceil(crashes / RUNS) + 1 }, (_, index) => first + index)
  return [...new Set([...keptSeeds('chaos').filter(isHere), ...fresh])]
}

function summaryOf(where: string, outcomes: readonly Outcome[]): string {
  const crashes = outcomes.flatMap((one) => one.crashes)
  const by = (key: (crash: (typeof crashes)[number]) => string) => {
    const counts = new Map<string, number>()
    for (const crash of crashes) counts.set(key(crash), (counts.get(key(crash)) ?? 0) + 1)
    return [...counts].sort().map(([name, count]) => `  ${String(count).padStart(5)}  ${name}`)
  }
  const forks = outcomes.flatMap((one) => one.forks)
  const acts: Record<string, number> = {}
  for (const one of outcomes)
    for (const [kind, count] of Object.entries(one.acts)) acts[kind] = (acts[kind] ?? 0) + count
  return [
    `${crashes.length} crashes ${where} over ${outcomes.length} seeds; ${forks.length} forks, up to ${Math.max(0, ...forks)} blocks deep; ${JSON.stringify(acts)}`,
    ...by(({ how }) => how),
    ...by(({ place }) => place),
  ].join('\n')
}

/** `task` on all of these, some at a time; none begins after one has failed. */
async function allOf<T>(items: readonly T[], task: (item: T) => Promise<void>): Promise<void> {
  const waiting = [...items]
  const worker = async () => {
    try {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await task(next)
    } catch (error) {
      waiting.length = 0
      throw error
    }
  }
  const done = await Promise.allSettled(Array.from({ length: AT_ONCE }, worker))
  for (const one of done) if (one.status === 'rejected') throw one.reason
}
