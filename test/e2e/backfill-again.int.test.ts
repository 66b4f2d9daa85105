/** `npm run backfill -- --again` over parts of what earlier jobs have read: the range stays covered before, while and after it is read. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Running, run, type Script, temporaryFolder, untilReady } from '../support/candlepool.ts'
import { withoutClickHouse } from '../support/clickhouse.ts'
import { DAY } from '../support/recorded.ts'
import { startRecordedDay } from '../support/recorded-day.ts'
import type { RpcServer } from '../support/rpc-server.ts'
import { until } from '../support/until.ts'

const FIRST = DAY.firstBlock
const MIDDLE = FIRST + 500
const LAST = FIRST + 999
const POOL = '0x88e6a0c2ddd26feeb64f039a2c41296fcb3f5640'
const range = (from: number, to: number) => ['--from-block', String(from), '--to-block', String(to)]

describe.skipIf(withoutClickHouse)('npm run backfill -- --again', () => {
  let rpc: RpcServer
  let folder: Awaited<ReturnType<typeof temporaryFolder>>

  beforeAll(async () => {
    rpc = await startRecordedDay({ finalized: DAY.lastBlock - 40 })
    folder = await temporaryFolder()
    // Two jobs, so that a range can overlap the coverage of both.
    for (const [from, to] of [
      [FIRST, MIDDLE - 1],
      [MIDDLE, LAST],
    ] as const)
      expect(await command('backfill', ...range(from, to))).toMatchObject({ code: 0 })
  })

  afterAll(async () => {
    await folder?.remove()
    await rpc?.stop()
  })

  function begin(script: Script, ...args: string[]): Running {
    const environment = { ETHEREUM_RPC_URL: rpc.url, DATA_DIR: folder.path }
    return run(script, environment, script === 'status' ? args : ['--network', 'ethereum', ...args])
  }

  async function command(script: Script, ...args: string[]): Promise<{ code: number | null; output: string }> {
    const running = begin(script, ...args)
    const code = await running.exited
    return { code, output: running.output() }
  }

  async function expectWhole(): Promise<void> {
    expect(await command('verify')).toEqual({ code: 0, output: 'ethereum: everything agrees.\n' })
    const { output } = await command('status', '--json')
    const [{ known, gaps }] = JSON.parse(output)
    expect({ known, gaps }).toMatchObject({ known: [{ from: FIRST, to: LAST }], gaps: [] })
  }

  test('reads a part of a covered range, of two of them, and of one pool, and leaves all of it covered', async () => {
    for (const args of [
      range(FIRST + 100, FIRST + 120),
      range(MIDDLE - 50, MIDDLE + 50),
      [...range(MIDDLE - 10, MIDDLE + 100), '--pool', POOL],
    ]) {
      const { code, output } = await command('backfill', ...args, '--again')
      expect({ code, output }).toMatchObject({
        code: 0,
        output: expect.stringMatching(/100\.0 %.* [1-9][\d,]* ticks\/s/),
      })
      await expectWhole()
    }
  })

  test('leaves the range covered where it is killed on its way, and the next start reads the rest', async () => {
    Object.assign(rpc.faults, { maxLogs: 20, delayMs: 200 })
    const job = begin('backfill', ...range(FIRST + 10, LAST - 10), '--again')
    await job.untilPrinted(/ [1-9]\d?\.\d %/)
    await job.stop('SIGKILL')
    expect(job.output()).not.toContain('100.0 %')
    delete rpc.faults.maxLogs
    delete rpc.faults.delayMs
    await expectWhole()
    const main = run('start', {
      ...{ ETHEREUM_RPC_URL: rpc.url, DATA_DIR: folder.path, PORT: '0' },
      ETHEREUM_START: String(DAY.lastBlock - 100),
    })
    // Before that, either of the two commands may have the folder.
    await untilReady(main)
    const status = async () => JSON.parse((await command('status', '--json')).output)[0].jobs[0]
    await until(async () => ((await status()).state === 'done' ? true : undefined), 'the interrupted job is done')
    await main.stop()
    const { output } = await command('verify')
    expect(output).toBe('ethereum: everything agrees.\n')
  })

  test('names the block at which --max-requests has stopped it, since the range stays covered', async () => {
    rpc.faults.maxLogs = 20
    const args = [...range(FIRST, LAST), '--concurrency', '1', '--max-requests', '20', '--again']
    const { code, output } = await command('backfill', ...args)
    delete rpc.faults.maxLogs
    expect({ code, output }).toMatchObject({
      code: 0,
      output: expect.stringMatching(
        /before block (\d+): --max-requests is 20\. What is read stays; the same command from --from-block \1 on reads the rest\./,
      ),
    })
  })
})
