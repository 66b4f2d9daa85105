/** Open jobs are asked for by all workers of a process together: five networks need no more statements than one. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { finishJob, JOB_KINDS, openJob } from '../../../aggregator/jobs/job.ts'
import { watchJobs } from '../../../aggregator/jobs/open-jobs.ts'
import { NETWORK_NAMES } from '../../../ingest/model/network.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { until } from '../../support/until.ts'
import { intercepted } from '../statements.ts'

const RANGE = { from: 0, to: 1_000, pools: undefined, concurrency: 1 }
const ALL = NETWORK_NAMES.flatMap((network) => JOB_KINDS.map((kind) => ({ network, kind })))

describe.skipIf(withoutClickHouse)('open jobs', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database?.drop())

  test('one statement asks for the open jobs of all networks and kinds', async () => {
    let statements = 0
    const client = intercepted(database.client, (send) => {
      statements++
      return send()
    })
    await openJob(database.client, { ...RANGE, network: 'base' }, 'rewind')
    const { hasOpenJobs } = watchJobs(client)
    const open = await Promise.all(ALL.map(({ network, kind }) => hasOpenJobs(network, kind)))
    expect(ALL.filter((_, index) => open[index])).toEqual([{ network: 'base', kind: 'rewind' }])
    expect(statements).toBe(1)
  })

  test('jobs are seen once they are open, and until they are closed', async () => {
    const { hasOpenJobs } = watchJobs(database.client)
    const becomes = (state: boolean) =>
      until(async () => ((await hasOpenJobs('polygon', 'backfill')) === state ? true : undefined), 'the job is seen')
    expect(await hasOpenJobs('polygon', 'backfill')).toBe(false)
    const job = await openJob(database.client, { ...RANGE, network: 'polygon' })
    await becomes(true)
    await finishJob(database.client, job)
    await becomes(false)
  })

  test('the newest number of a rewind that is done is known by the same statement', async () => {
    let statements = 0
    const client = intercepted(database.client, (send) => {
      statements++
      return send()
    })
    await openJob(database.client, { ...RANGE, network: 'optimism' }, 'rewind')
    const done = await openJob(database.client, { ...RANGE, network: 'arbitrum' }, 'rewind')
    await finishJob(database.client, done)
    const { hasOpenJobs, newestRewind } = watchJobs(client)
    const newest = await Promise.all((['optimism', 'arbitrum', 'ethereum'] as const).map(newestRewind))
    expect(newest).toEqual([0, done.id, 0])
    expect(await hasOpenJobs('arbitrum', 'rewind')).toBe(false)
    expect(statements).toBe(1)
  })

  test('jobs are none where the tables do not answer, and are seen when they answer again', async () => {
    await database.client.command({ query: 'RENAME TABLE jobs TO jobs_away' })
    const { hasOpenJobs } = watchJobs(database.client)
    expect(await hasOpenJobs('base', 'rewind')).toBe(false)
    await database.client.command({ query: 'RENAME TABLE jobs_away TO jobs' })
    await until(async () => ((await hasOpenJobs('base', 'rewind')) ? true : undefined), 'the job is seen')
  })
})
