/** Faults of time and of order: history beside the stream in the same buckets, and a clock that steps back. */
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { openJob, readJob } from '../../aggregator/jobs/job.ts'
import { inProcessLog } from '../../infra/kafka/in-process.ts'
import type { RangeOverwrite } from '../../ingest/model/message.ts'
import { tell } from '../aggregator/listening.ts'
import { networkOf, startAggregator } from '../aggregator/running.ts'
import { asBlocks, type BlockPlan, fullBlocks, mine, newTo } from '../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { drawn } from '../support/sample.ts'
import { until } from '../support/until.ts'
import { expectCleanRun } from './clean.ts'
import { CRASH_KINDS, createCrashClient } from './crash-client.ts'
import { IN_PROCESS } from './logs.ts'
import { overwriteOf } from './overwrite.ts'
import { startProcess } from './process.ts'

/** All within one hour. */
const PLANS: readonly BlockPlan[] = fullBlocks(40, 9).map((plan, index) => ({
  ...plan,
  secondsLater: index === 1 ? 600 : 7,
}))
const CHAIN = mine([], PLANS)
/** The listener came here. */
const CAME = 10
const HOUR_MS = 3_600_000

describe.skipIf(withoutClickHouse)('history', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database?.drop())

  const PLACES = [
    'flush: insert candles',
    'flush: insert blocks',
    'restate: insert ticks',
    'restate: candles_from_candles 3600',
    'restate: candles_from_candles 86400',
    'restate: insert coverage',
  ]
  const CASES = PLACES.flatMap((place) => CRASH_KINDS.map((how) => ({ place, how })))

  test.concurrent.for(drawn('crashes beside history', CASES, 4))(
    'a crash at $place, $how, leaves the hour and day that history and the stream share as in a clean run',
    async ({ place, how }) => {
      const { client } = database
      const network = networkOf(`hour-${PLACES.indexOf(place)}-${CRASH_KINDS.indexOf(how)}`)
      /** Before the listener came, and blocks that it told as well. */
      const stated = [...overwriteOf(network, CHAIN.slice(0, 4), 1), ...overwriteOf(network, CHAIN.slice(4, 16), 1)]
      const after = overwriteOf(network, CHAIN.slice(2, 12), 2)

      async function live(told: number, messages: RangeOverwrite[], isMortal: boolean): Promise<boolean> {
        const logs = await IN_PROCESS.open(network)
        const doom = isMortal ? { how, place, orAfter: Number.POSITIVE_INFINITY } : undefined
        const life = createCrashClient(client, doom, () => {})
        try {
          const process = await startProcess({ network, logs, kept: undefined, crashClient: life })
          await tell(client, process, { network, chain: CHAIN.slice(CAME, told - 4) })
          const beside = asBlocks(network, CHAIN.slice(told - 4, told)).map((block) => process.append([block]))
          const done = await Promise.allSettled([process.overwrite(messages), ...beside])
          await process.stop()
          for (const one of done) if (one.status === 'rejected') throw one.reason
        } catch (error) {
          if (!life.death.aborted) throw error
        } finally {
          await logs.close()
        }
        return life.death.aborted
      }

      expect(await live(24, stated, true)).toBe(true)
      expect(await live(30, stated, false)).toBe(false)
      expect(await live(40, after, false)).toBe(false)
      await expectCleanRun(client, network, CHAIN.slice(CAME), [...stated, ...after])
    },
  )
})

describe.skipIf(withoutClickHouse)('a clock that steps back', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterEach(() => {
    vi.useRealTimers()
  })
  afterAll(() => database?.drop())

  const stepBack = () => vi.setSystemTime(Date.now() - HOUR_MS)

  test('changes nothing: what is written later counts, and a job that is done stays done', async () => {
    const { client } = database
    const network = networkOf('ethereum')
    vi.useFakeTimers({ toFake: ['Date'] })
    const stated: RangeOverwrite[] = []
    const left = mine(CHAIN.slice(0, 20), PLANS.slice(20, 30), 'left')
    let job = 0
    for (const [told, from] of [
      [left, 0],
      [CHAIN.slice(0, 30), 20],
      [CHAIN, 30],
    ] as const) {
      const history = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
      const aggregator = await startAggregator(client, { network, history })
      await aggregator.append(asBlocks(network, told.slice(from, -3)))
      stepBack()
      await aggregator.append(asBlocks(network, newTo(told.slice(0, -3), told)))
      const statements = overwriteOf(network, CHAIN.slice(job, job + 9), ++job)
      stated.push(...statements)
      await history.append(statements)
      const everything = { from: 0, to: 2 ** 32 - 1, pools: undefined, concurrency: 1 }
      const rebuilding = await openJob(client, { network, ...everything }, 'rebuild')
      stepBack()
      const state = async () => (await readJob(client, network, rebuilding.id))?.state
      await until(async () => ((await state()) === 'done' ? true : undefined), 'the rebuild is done')
      stepBack()
      expect(await aggregator.stop()).toBeUndefined()
      await history.close()
      expect(aggregator.facts.filter(({ kind }) => kind === 'rebuilt')).toHaveLength(1)
    }
    vi.useRealTimers()
    await expectCleanRun(client, network, CHAIN, stated)
  })
})
