/** `npm run backfill` against a node with a recorded day: alone, beside a running process, and in a cluster. */
import type { ClickHouseClient } from '@clickhouse/client'
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest'
import { gapsIn, readCoverage } from '../../aggregator/history/coverage.ts'
import { ask } from '../../aggregator/store/store.ts'
import { connect } from '../../infra/clickhouse/client/client.ts'
import { findEngine } from '../../infra/clickhouse/engine/engine-access.ts'
import { type Running, run, temporaryFolder, untilReady } from '../support/candlepool.ts'
import { freshDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { freePorts } from '../support/free-ports.ts'
import { DAY } from '../support/recorded.ts'
import { startRecordedDay } from '../support/recorded-day.ts'
import { rowsOf } from '../support/rows.ts'
import type { RpcServer } from '../support/rpc-server.ts'
import { inSoak } from '../support/sample.ts'
import { scrape, sum } from '../support/scrape.ts'
import { until } from '../support/until.ts'

const FINALIZED = DAY.lastBlock - 40
const MIDDLE = DAY.firstBlock + 5_000
const range = (from: number, to: number) => [
  '--network',
  'ethereum',
  '--from-block',
  String(from),
  '--to-block',
  String(to),
]

describe.skipIf(withoutClickHouse)('npm run backfill', () => {
  let rpc: RpcServer
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  /** Rows of a process that read the whole day as its listener came by. */
  const whole: Record<string, string[]> = {}
  const started: Running[] = []
  const tables = ['ticks', 'candles', 'liquidity_changes'] as const

  beforeAll(async () => {
    rpc = await startRecordedDay({ finalized: FINALIZED })
    folder = await temporaryFolder()
    const main = run('start', { ...environment('whole'), ETHEREUM_START: String(DAY.firstBlock), PORT: '0' })
    await untilReady(main)
    for (const table of tables) whole[table] = await rows('whole', table, 6_046)
    await main.stop()
  })

  afterEach(async () => {
    await Promise.all(started.splice(0).map((it) => it.stop()))
  })

  afterAll(async () => {
    await folder?.remove()
    await rpc?.stop()
  })

  function environment(name: string): Record<string, string> {
    return { ETHEREUM_RPC_URL: rpc.url, DATA_DIR: `${folder.path}/${name}` }
  }

  /** Asks the engine that runs there, once the column `found` of a statement is so high. */
  async function once<T>(
    name: string,
    statement: string,
    least: number,
    use: (client: ClickHouseClient) => Promise<T>,
  ) {
    const engine = await until(() => findEngine(`${folder.path}/${name}/store`), 'the engine answers')
    const client = connect({ ...engine, ...engine.users.owner })
    try {
      const isEnough = async () =>
        ((await ask<{ found: number }>(client, statement))[0]?.found ?? 0) >= least || undefined
      await until(isEnough, `${statement} finds ${least}`)
      return await use(client)
    } finally {
      await client.close()
    }
  }

  function rows(name: string, table: (typeof tables)[number], ticks: number): Promise<string[]> {
    return once(name, 'SELECT toUInt32(count()) AS found FROM ticks FINAL', ticks, (client) => rowsOf(client, table))
  }

  function start(name: string, firstBlock: number): Running {
    const main = run('start', { ...environment(name), ETHEREUM_START: String(firstBlock), PORT: '0' })
    started.push(main)
    return main
  }

  test('a backfill alone stores the rows of a listener, and a second run reads nothing without --again', async () => {
    const job = run('backfill', environment('alone'), range(DAY.firstBlock, FINALIZED))
    await job.untilPrinted(/100\.0 %/)
    expect(await job.exited).toBe(0)
    const again = run('backfill', environment('alone'), range(DAY.firstBlock, FINALIZED))
    await again.untilPrinted(/100\.0 %.* 0 ticks\/s/)
    expect(await again.exited).toBe(0)
    const repeated = run('backfill', environment('alone'), [...range(MIDDLE, FINALIZED), '--again'])
    await repeated.untilPrinted(/100\.0 %.* [1-9][\d,]* ticks\/s/)
    expect(await repeated.exited).toBe(0)
    const main = start('alone', FINALIZED + 1)
    await untilReady(main)
    for (const table of tables)
      expect({ table, rows: await rows('alone', table, 6_046) }).toEqual({ table, rows: whole[table] })
  })

  test('a backfill stores the rows of a listener on a range that a running listener reads too', inSoak, async () => {
    const main = start('beside', MIDDLE)
    await untilReady(main)
    const job = run('backfill', environment('beside'), range(DAY.firstBlock, MIDDLE + 500))
    await job.untilPrinted(/100\.0 %/)
    expect(await job.exited).toBe(0)
    for (const table of tables)
      expect({ table, rows: await rows('beside', table, 6_046) }).toEqual({ table, rows: whole[table] })
  })

  test('a killed backfill resumes where it stopped', async () => {
    // Slow enough to be met on its way.
    rpc.faults.maxLogs = 60
    rpc.faults.delayMs = 150
    const job = run('backfill', environment('killed'), range(DAY.firstBlock, FINALIZED))
    // Recorded as read: ticks are stored before that.
    await once('killed', 'SELECT toUInt32(sum(ticks)) AS found FROM coverage FINAL', 800, () => job.stop('SIGKILL'))
    expect(job.output()).not.toContain('100.0 %')
    delete rpc.faults.maxLogs
    delete rpc.faults.delayMs
    const again = run('backfill', environment('killed'), range(DAY.firstBlock, FINALIZED))
    const [, first = ''] = await again.untilPrinted(/ (\d+\.\d) %/)
    expect(Number(first)).toBeGreaterThan(5)
    expect(await again.exited).toBe(0)
    await untilReady(start('killed', FINALIZED + 1))
    for (const table of tables)
      expect({ table, rows: await rows('killed', table, 6_046) }).toEqual({ table, rows: whole[table] })
  })

  test(
    'a backfill gives an estimate, stops after --max-requests, and the same command reads the rest',
    inSoak,
    async () => {
      const limited = [...range(DAY.firstBlock, FINALIZED), '--concurrency', '1', '--max-requests', '20']
      const job = run('backfill', environment('limited'), limited)
      expect(await job.exited).toBe(0)
      const stopped =
        /Stopped after \d\d requests, before block \d+: --max-requests is 20\. What is read stays; the same command reads the rest\. Its estimate was about ([\d,]+) requests, [\d,]+ (?:seconds?|minutes?)\.\n/
      const [, requests = ''] = stopped.exec(job.output()) ?? []
      expect(Number(requests.replaceAll(',', '')), job.output()).toBeGreaterThan(10)
      expect(job.output()).not.toContain('100.0 %')
      const again = run('backfill', environment('limited'), range(DAY.firstBlock, FINALIZED))
      const [, first = ''] = await again.untilPrinted(/ (\d+\.\d) %/)
      expect(Number(first)).toBeGreaterThan(5)
      await again.untilPrinted(/100\.0 %/)
      expect(await again.exited).toBe(0)
      await untilReady(start('limited', FINALIZED + 1))
      for (const table of tables)
        expect({ table, rows: await rows('limited', table, 6_046) }).toEqual({ table, rows: whole[table] })
    },
  )

  test('a limit ends the job of a running process', inSoak, async () => {
    await untilReady(start('owner', FINALIZED + 1))
    const limited = [...range(DAY.firstBlock, FINALIZED), '--concurrency', '1', '--max-requests', '20']
    const job = run('backfill', environment('owner'), limited)
    expect(await job.exited).toBe(0)
    expect(job.output()).toMatch(/Stopped after \d\d requests, before block/)
    const status = run('status', environment('owner'))
    expect(await status.exited).toBe(0)
    expect(status.output()).toMatch(/ backfill +\d+ to \d+ +stopped +Stopped after/)
  })

  test('a backfill refuses blocks that are not final, and says up to where it can go', async () => {
    const job = run('backfill', environment('refused'), range(DAY.firstBlock, FINALIZED + 1))
    expect(await job.exited).toBe(1)
    expect(job.output()).toContain(`is not final yet: a backfill can go up to block ${FINALIZED} now`)
  })

  test('a backfill that is refused beside a running process is not counted as failed: no alert fires', async () => {
    const [adminPort = 0] = await freePorts(1)
    const admin = { PORT: '0', ADMIN_PORT: String(adminPort) }
    const main = run('start', { ...environment('alert'), ETHEREUM_START: String(MIDDLE), ...admin })
    started.push(main)
    await untilReady(main)
    const job = run('backfill', environment('alert'), range(DAY.firstBlock, FINALIZED + 1))
    expect(await job.exited).toBe(1)
    expect(job.output()).toContain('is not final yet')
    const { samples } = await scrape(adminPort)
    const ended = (outcome: string) => sum(samples, 'candlepool_jobs_total', { task: 'backfill', outcome })
    expect([ended('refused'), ended('failed')]).toEqual([1, 0])
  })

  test('the command names every bad argument with its rule', async () => {
    const job = run('backfill', environment('refused'), [
      '--network',
      'solana',
      '--from-block',
      'x',
      '--pool',
      '0x12',
      '--concurrency',
      '99',
    ])
    expect(await job.exited).toBe(1)
    expect(job.output()).toMatchInlineSnapshot(`
      "--network is none of ethereum, arbitrum, polygon, base, optimism
      --from-block is not a block number
      --to-block is missing
      --pool is neither a v3 address nor a v4 id
      --concurrency is not 1 to 16
      Usage: npm run backfill -- --network NAME --from-block N --to-block M [--pool ADDRESS_OR_ID]… [--concurrency 1..16] [--max-requests N] [--again]
             npm run backfill -- --network NAME --files DIR [--from-block N] [--to-block M] [--pool ADDRESS_OR_ID]… [--again]
             npm run backfill -- --network NAME --cancel JOB
      "
    `)
  })

  const kafka = inject('kafka')
  const brokers = kafka && 'brokers' in kafka ? kafka.brokers : undefined

  test.skipIf(!brokers)(
    'a backfill in a cluster is stored through Kafka by the aggregator of the network',
    async () => {
      const database = await freshDatabase()
      const { url, username, password } = database.connection
      const shared = {
        ETHEREUM_RPC_URL: rpc.url,
        ETHEREUM_START: 'latest',
        KAFKA_BROKERS: (brokers ?? []).join(','),
        CLICKHOUSE_URL: url,
        CLICKHOUSE_USER: username,
        CLICKHOUSE_PASSWORD: password,
        CLICKHOUSE_DATABASE: database.database,
      }
      started.push(run('aggregate', shared))
      const job = run('backfill', shared, range(DAY.firstBlock, FINALIZED))
      expect(await job.exited).toBe(0)
      // Other suites share the broker: their stream may bring blocks above, but only the job says what is covered.
      const isFinal = (row: string) => Number((JSON.parse(row) as { block: string }).block) <= FINALIZED
      const stored = (await rowsOf(database.client, 'ticks')).filter(isFinal)
      expect(stored).toEqual((whole['ticks'] ?? []).filter(isFinal))
      const covered = await readCoverage(database.client, 'ethereum', undefined)
      expect(gapsIn({ from: DAY.firstBlock, to: FINALIZED }, covered)).toEqual([])
      await Promise.all(started.splice(0).map((it) => it.stop()))
      await database.drop()
    },
  )
})
