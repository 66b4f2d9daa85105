/** Commands for networks that no running process serves, and jobs that wait: refused with the reason, or told while they wait. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type Running, run, type Script, temporaryFolder, untilReady } from '../support/candlepool.ts'
import { freshDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { DAY } from '../support/recorded.ts'
import { startRecordedDay } from '../support/recorded-day.ts'
import type { RpcServer } from '../support/rpc-server.ts'
import { inSoak } from '../support/sample.ts'

const FINALIZED = DAY.lastBlock - 40
const LIVE_FROM = DAY.lastBlock - 200
const rangeOf = (network: string, from: number, to: number) => [
  ...['--network', network],
  ...['--from-block', String(from), '--to-block', String(to)],
]

describe.skipIf(withoutClickHouse)('a network that no running process serves', () => {
  let rpc: RpcServer
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let main: Running
  const started: Running[] = []

  beforeAll(async () => {
    rpc = await startRecordedDay({ finalized: FINALIZED })
    folder = await temporaryFolder()
    main = run('start', { ...environment(), ETHEREUM_START: String(LIVE_FROM), PORT: '0' })
    await untilReady(main)
  })

  afterEach(async () => {
    delete rpc.faults.maxLogs
    delete rpc.faults.delayMs
    await Promise.all(started.splice(0).map((it) => it.stop('SIGKILL')))
  })

  afterAll(async () => {
    await main?.stop()
    await folder?.remove()
    await rpc?.stop()
  })

  const environment = () => ({ ETHEREUM_RPC_URL: rpc.url, DATA_DIR: folder.path })

  function begin(script: Script, args: readonly string[], more: Record<string, string> = {}): Running {
    const command = run(script, { ...environment(), ...more }, args)
    started.push(command)
    return command
  }

  async function command(script: Script, args: readonly string[], more: Record<string, string> = {}) {
    const it = begin(script, args, more)
    const code = await it.exited
    return { code, output: it.output() }
  }

  const polygon = () => ({ POLYGON_RPC_URL: rpc.url })
  const jobs = async () => {
    const { output } = await command('status', ['--json'], polygon())
    return (JSON.parse(output) as { network: string; jobs: unknown[] }[]).flatMap((it) => it.jobs)
  }

  test.each([
    ['backfill', rangeOf('polygon', 100, 200)],
    ['backfill', [...rangeOf('polygon', 100, 200), '--again']],
    ['rebuild', ['--network', 'polygon']],
  ] as const)('npm run %s %j is refused, says who would take it, and leaves nothing behind', async (script, args) => {
    const { code, output } = await command(script, args, polygon())
    expect(code).toBe(1)
    expect(output).toMatch(/polygon/)
    expect(output).toContain('on these tables serve ethereum.')
    expect(output).toContain('POLYGON_RPC_URL')
    expect(output).toContain('npm start')
    expect(output).toContain('Nothing was changed.')
    expect(await jobs()).toEqual([])
  })

  test.each([[], ['--repair']])(
    'npm run verify of a network of which nothing is stored does not say that it agrees',
    async (...more) => {
      const { code, output } = await command('verify', ['--network', 'polygon', ...more])
      expect(output).toContain('Nothing is stored of polygon: there is nothing to verify.')
      expect(output).not.toContain('agrees')
      expect(code).toBe(2)
    },
  )

  test('a backfill on tables of a server that no process uses is refused', inSoak, async () => {
    const { connection, database, drop } = await freshDatabase()
    const { url, username, password } = connection
    const server = {
      CLICKHOUSE_URL: url,
      CLICKHOUSE_USER: username,
      CLICKHOUSE_PASSWORD: password,
      CLICKHOUSE_DATABASE: database,
    }
    for (const [script, args] of [
      ['backfill', rangeOf('ethereum', 100, 200)],
      ['rebuild', ['--network', 'ethereum']],
    ] as const) {
      const { code, output } = await command(script, args, server)
      expect(code).toBe(1)
      expect(output).toMatch(/^No process (reads history|stores blocks) of ethereum on these tables/)
      expect(output).toContain('Nothing was changed.')
    }
    await drop()
  })

  test(
    'a job that waits for another one says so, is shown, and is taken back, as a job that is read is',
    inSoak,
    async () => {
      rpc.faults.maxLogs = 10
      rpc.faults.delayMs = 300
      const slow = begin('backfill', rangeOf('ethereum', DAY.firstBlock, DAY.firstBlock + 5_000))
      await slow.untilPrinted(/ of 5,001 blocks/)
      const waiting = begin('backfill', rangeOf('ethereum', LIVE_FROM - 200, LIVE_FROM - 1))
      const [, second = '', first = ''] = await waiting.untilPrinted(
        /Job (\d+) waits: job (\d+) of ethereum is done before it/,
      )
      const takeBack = (id: string) => `npm run backfill -- --network ethereum --cancel ${id}`
      expect(waiting.output()).toContain(takeBack(second))
      const { output } = await command('status', [])
      expect(output).toMatch(
        new RegExp(
          `${first} +ethereum +backfill +${DAY.firstBlock} to ${DAY.firstBlock + 5_000} +running +\\d+\\.\\d %`,
        ),
      )
      expect(output).toMatch(
        new RegExp(`${second} +ethereum +backfill +${LIVE_FROM - 200} to ${LIVE_FROM - 1} +waiting +0.0 %`),
      )

      for (const [id, job] of [
        [second, waiting],
        [first, slow],
      ] as const) {
        expect(await command('backfill', ['--network', 'ethereum', '--cancel', id])).toEqual({
          code: 0,
          output: `Job ${id} of ethereum is taken back. What it has read stays.\n`,
        })
        expect(await job.exited).toBe(1)
        expect(job.output()).toContain('It was taken back.')
      }
      expect(await command('backfill', ['--network', 'ethereum', '--cancel', second])).toMatchObject({ code: 1 })
      delete rpc.faults.maxLogs
      delete rpc.faults.delayMs
      // The process that read the first one takes the next.
      expect(await command('backfill', rangeOf('ethereum', LIVE_FROM - 50, LIVE_FROM - 1))).toMatchObject({ code: 0 })
      expect((await command('status', [])).output).toMatch(/ethereum +backfill +\d+ to \d+ +done/)
    },
  )
})
