/** Problems of networks in a cluster: listener and aggregator write theirs with their presence, and an API process reads them. */
import { afterAll, beforeAll, describe, test } from 'vitest'
import { announcePresence, type Role } from '../../../infra/process/presence.ts'
import { type Problems, watchProblems } from '../../../infra/process/problems.ts'
import { openReadiness } from '../../../infra/telemetry/readiness.ts'
import { freshDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { until } from '../../support/until.ts'

const network = 'ethereum'

describe.skipIf(withoutClickHouse)('an API process', () => {
  let database: Awaited<ReturnType<typeof freshDatabase>>
  const running: AbortController[] = []

  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(async () => {
    for (const process of running) process.abort()
    await database?.drop()
  })

  /** A process of this role, with its problem. */
  function start(role: Role, problem = ''): AbortController {
    const process = new AbortController()
    running.push(process)
    const problems = async (): Promise<Problems> => new Map(problem === '' ? [] : [[network, problem]])
    void announcePresence(database.client, [network], [role], process.signal, problems)
    return process
  }

  test('says what the processes of a network say, and that there is none', async () => {
    const readiness = openReadiness((text) => text)
    readiness.report({ kind: 'stage-started', stage: 'api', network })
    const read = watchProblems({ config: { readyTipSeconds: 300 }, readiness }, { owner: database.client })
    const timestamp = Math.floor(Date.now() / 1_000)
    const tip = { number: 1, hash: `0x${'ab'.repeat(32)}`, timestamp, finalized: 0, version: 1n } as const
    const untilSays = (problem: string | undefined) =>
      until(async () => {
        const found = (await read(new Map([[network, tip]]))).get(network)
        return found === problem || undefined
      }, `it says ${problem}`)
    await untilSays('no running process reads it.')
    start('listener')
    await untilSays('no running process stores it.')
    const aggregator = start('aggregator')
    await untilSays(undefined)
    // A second aggregator stands by, and has no problem of its own.
    const failing = start('aggregator', 'ClickHouse does not store its blocks.')
    await untilSays('ClickHouse does not store its blocks.')
    failing.abort()
    await untilSays(undefined)
    // One listener that reads is enough.
    start('listener', 'the endpoint refuses eth_getLogs of block 5.')
    aggregator.abort()
    await untilSays('no running process stores it.')
  })
})
