/** Numbers of jobs: the rows of a job beat those of every job with a lower number, so that no two may share one. */
import type { ClickHouseClient } from '@clickhouse/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { failJob, openJob, openJobs, readJob, recordProgress } from '../../../aggregator/jobs/job.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { networkOf } from '../running.ts'

const ALL = { from: 0, to: 1_000, pools: undefined, concurrency: 1 }

describe.skipIf(withoutClickHouse)('a job number', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database?.drop())

  /** As many clients as there are commands: each is a process of its own. */
  const clients = (count: number): ClickHouseClient[] => Array.from({ length: count }, () => database.connect())

  test('a number belongs to one job of those that are begun together', async () => {
    const network = networkOf('together')
    const commands = clients(18)
    await Promise.all(commands.map((client) => client.ping()))
    const jobs = await Promise.all(
      commands.map((client, index) => openJob(client, { ...ALL, network, from: index }, 'backfill')),
    )
    expect(new Set(jobs.map(({ id }) => id)).size).toBe(18)
    const open = await openJobs(database.client, network, 'backfill')
    expect(open.map(({ from }) => from).sort((a, b) => a - b)).toEqual(jobs.map((_, index) => index))
  })

  test('a number is above that of every job that was open before, also while others are begun', async () => {
    const network = networkOf('order')
    const opened: { id: number; above: number }[] = []
    await Promise.all(
      clients(8).map(async (client) => {
        for (let job = 0; job < 10; job++) {
          const above = Math.max(0, ...opened.map(({ id }) => id))
          const { id } = await openJob(client, { ...ALL, network })
          opened.push({ id, above })
        }
      }),
    )
    expect(opened.filter(({ id, above }) => id <= above)).toEqual([])
    expect(new Set(opened.map(({ id }) => id)).size).toBe(80)
  })

  test('a number that a crash left unused is not used by another job', async () => {
    const network = networkOf('crash')
    const before = await openJob(database.client, { ...ALL, network })
    await database.client.command({
      query: 'INSERT INTO job_claims SELECT {network:String}, {id:UInt32}, generateUUIDv4()',
      query_params: { network, id: before.id + 1 },
    })
    const after = await openJob(database.client, { ...ALL, network })
    expect(after.id).toBeGreaterThan(before.id + 1)
    expect(await readJob(database.client, network, before.id + 1)).toBeUndefined()
  })

  test('a number is above those that an earlier version gave out without a claim', async () => {
    const network = networkOf('earlier')
    await database.client.command({
      query: `INSERT INTO jobs (network, id, kind, first, last, concurrency, state, reason, created, version)
        SELECT {network:String}, 41, 'backfill', 0, 9, 1, 'done', '', now(), 1`,
      query_params: { network },
    })
    expect((await openJob(database.client, { ...ALL, network })).id).toBe(42)
  })

  test('a closed job is not opened again by progress that its process records late or at the same time', async () => {
    const network = networkOf('closed')
    const late = await openJob(database.client, { ...ALL, network })
    await failJob(database.client, late, 'It was taken back.')
    await recordProgress(database.client, late, 'reading')
    expect(await readJob(database.client, network, late.id)).toMatchObject({
      state: 'failed',
      reason: 'It was taken back.',
    })

    const beside = await Promise.all(clients(10).map((client) => openJob(client, { ...ALL, network })))
    const writers = clients(2)
    await Promise.all(
      beside.flatMap((job, index) => [
        recordProgress(writers[index % 2] as ClickHouseClient, job, 'half'),
        failJob(writers[(index + 1) % 2] as ClickHouseClient, job, 'It was taken back.'),
      ]),
    )
    expect(await openJobs(database.client, network, 'backfill')).toEqual([])
  })
})
