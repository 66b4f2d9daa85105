/** A rewind in a cluster: what Kafka keeps of the branch that was taken back is not read again, by neither end of the log. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { openJob, readJob } from '../../aggregator/jobs/job.ts'
import { storedChain } from '../../aggregator/ledger/stored-blocks.ts'
import { kafkaBackfillLog } from '../../infra/kafka/kafka.ts'
import { networkOf } from '../aggregator/running.ts'
import { asRange, asRestatement, fullBlocks, mine, newTo } from '../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { until } from '../support/until.ts'
import { openNetwork } from './cluster.ts'

const PLANS = fullBlocks(24, 5)
const BASE = mine([], PLANS.slice(0, 8))
const OLD = mine(BASE, PLANS.slice(8, 16), 'old')
/** The same swaps in the same places, some of them; then others. */
const NEW = mine(mine(BASE, PLANS.slice(8, 11), 'new'), PLANS.slice(16, 19), 'new')
const kafka = inject('kafka')
const brokers = kafka && 'brokers' in kafka ? kafka.brokers : []

describe.skipIf(withoutClickHouse || brokers.length === 0)('over Kafka', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database?.drop())

  test('the topics begin with the new branch after a rewind, for listener and aggregator, at every start', async (context) => {
    const network = networkOf('rewound')
    const { client } = database
    const { log, tell, untilTip, aggregate, expectCleanRun } = await openNetwork(
      context,
      { brokers, database },
      network,
    )
    const history = await kafkaBackfillLog({ brokers, network, report: () => {} })
    context.onTestFinished(() => history.close())
    const [to, tip] = [BASE.at(-1)?.number ?? 0, OLD.at(-1)?.number ?? 0]
    await openJob(client, { network, from: to + 1, to: tip, pools: undefined, concurrency: 1 }, 'audit')
    const first = await aggregate()
    await tell(BASE)
    // The last message is a range: to a listener its end was final.
    await tell(newTo(BASE, OLD).slice(0, 5))
    await log.append([asRange(network, newTo(BASE, OLD).slice(5))])
    await untilTip(OLD)
    await history.append([asRestatement(network, newTo(BASE, OLD), { job: 1 })])
    await first.untilReported('restated')

    const job = await openJob(client, { network, from: to + 1, to: tip, pools: undefined, concurrency: 1 }, 'rewind')
    await until(
      async () => ((await readJob(client, network, job.id))?.state === 'done' ? true : undefined),
      'it is rewound',
    )
    const passed = await storedChain(client, network).passed?.()
    expect((await log.last())?.offset).toBeLessThan(passed ?? 0)
    await untilTip(BASE)
    // Messages of before, read once more by the next owner.
    await first.stop()
    const second = await aggregate()
    await second.untilReported('aggregator-started')
    await untilTip(BASE)
    await tell(newTo(BASE, NEW).slice(0, 2))
    await until(
      async () => ((await storedChain(client, network).tip())?.number === to + 2 ? true : undefined),
      'the new branch is stored',
    )
    await second.stop()
    const third = await aggregate()
    await tell(newTo(BASE, NEW).slice(2))
    await untilTip(NEW)
    await third.stop()
    for (const { facts } of [second, third]) expect(facts.filter(({ kind }) => kind === 'restated')).toEqual([])
    await expectCleanRun(NEW)
  })
})
