/** `npm run backfill -- --files`: Parquet files of cryo give the rows that endpoints give. */
import { copyFile, mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { gapsIn, readCoverage } from '../../aggregator/history/coverage.ts'
import { ask } from '../../aggregator/store/store.ts'
import { openStore } from '../../infra/clickhouse/store.ts'
import { run, temporaryFolder, untilReady } from '../support/candlepool.ts'
import { freshDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { type CryoRows, cryoRowsOf, writeCryoFile, writeCryoFiles } from '../support/cryo-files.ts'
import type { LogQuery } from '../support/fake-node.ts'
import { DAY } from '../support/recorded.ts'
import { startRecordedDay } from '../support/recorded-day.ts'
import { rowsOf } from '../support/rows.ts'
import type { RpcServer } from '../support/rpc-server.ts'

const [FROM, TO] = [DAY.firstBlock, DAY.firstBlock + 2_999]
const TABLES = ['ticks', 'candles', 'liquidity_changes', 'pools'] as const
/** As cryo itself has written them. */
const RECORDED = join(import.meta.dirname, '../fixtures/cryo')
const ETHEREUM = ['--network', 'ethereum']

function range(from: number, to: number): string[] {
  return [...ETHEREUM, '--from-block', String(from), '--to-block', String(to)]
}

describe.skipIf(withoutClickHouse)('npm run backfill -- --files', () => {
  let rpc: RpcServer
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let database: Awaited<ReturnType<typeof freshDatabase>>
  let rows: CryoRows
  let files: string
  let whole: ReturnType<typeof storeOf> | undefined

  beforeAll(async () => {
    rpc = await startRecordedDay()
    folder = await temporaryFolder()
    database = await freshDatabase()
    rows = await cryoRowsOf(rpc, FROM, TO)
    files = await filesFolder('whole')
    await writeCryoFiles(database.client, files, rows, { from: FROM, to: TO, chunk: 1_000 })
  })

  afterAll(async () => {
    await database?.drop()
    await folder?.remove()
    await rpc?.stop()
  })

  async function filesFolder(name: string): Promise<string> {
    const path = `${folder.path}/files-${name}`
    await mkdir(path)
    return path
  }

  function environment(name: string): Record<string, string> {
    return { ETHEREUM_RPC_URL: rpc.url, DATA_DIR: `${folder.path}/${name}` }
  }

  /** The store after a backfill of the blocks up to `to`. */
  async function storedBy(name: string, args: readonly string[], to: number) {
    const job = run('backfill', environment(name), args)
    expect(await job.exited, job.output()).toBe(0)
    return storeOf(name, to)
  }

  /** All of the files, read once. */
  function wholeStore() {
    whole ??= storedBy('files', [...ETHEREUM, '--files', files], TO)
    return whole
  }

  async function storeOf(name: string, to: number) {
    const store = await openStore({ store: { kind: 'embedded' } }, `${folder.path}/${name}/store`, () => {})
    try {
      const tables: Record<string, string[]> = {}
      for (const table of TABLES) tables[table] = await rowsOf(store.owner, table)
      const jobs = await ask<{ state: string }>(store.owner, 'SELECT id, kind, first, last, state FROM jobs FINAL', {})
      // Where ranges are cut depends on the source.
      const unread = gapsIn({ from: FROM, to }, await readCoverage(store.owner, 'ethereum', undefined))
      return { tables, jobs, unread }
    } finally {
      await store.close()
    }
  }

  test('the tables, the coverage and the job are those of a backfill over endpoints', async () => {
    const overRpc = await storedBy('rpc', range(FROM, TO), TO)
    const asked: LogQuery[] = []
    rpc.faults.answer = (method, [query]) => {
      if (method === 'eth_getLogs') asked.push(query as LogQuery)
      return undefined
    }
    const ofFiles = await wholeStore()
    expect(ofFiles).toEqual(overRpc)
    expect(ofFiles.tables['ticks']?.length).toBeGreaterThan(1_000)
    expect(ofFiles.unread).toEqual([])
    delete rpc.faults.answer
    // Ranges below are searched for the first prices; single blocks are asked for by hash.
    expect(asked.filter(({ toBlock }) => Number(toBlock) >= FROM)).toEqual([])
  })

  test('a backfill that is killed half way and begun again stores what one without an end has stored', async () => {
    const whole = await wholeStore()
    const job = run('backfill', environment('killed'), [...ETHEREUM, '--files', files])
    rpc.faults.answer = (method, [block]) => {
      // The first file is read, and its rows are on their way into the tables.
      if (method === 'eth_getBlockByNumber' && Number(block) === TO - 1_000) void job.stop('SIGKILL')
      return undefined
    }
    expect(await job.exited, job.output()).toBe(null)
    delete rpc.faults.answer
    const { jobs: _, ...tables } = await storedBy('killed', [...ETHEREUM, '--files', files], TO)
    expect(tables).toEqual({ tables: whole.tables, unread: whole.unread })
  })

  async function refused(name: string, args: readonly string[]): Promise<string> {
    const job = run('backfill', environment(name), [...ETHEREUM, ...args])
    expect(await job.exited, job.output()).toBe(1)
    return job.output()
  }

  test('a faulty file ends the job with its name; what was read before it stays, and the right file is read afterwards', async () => {
    const faulty = await filesFolder('faulty')
    for (const name of await readdir(files)) await copyFile(join(files, name), join(faulty, name))
    const [from, to] = [FROM + 2_000, TO]
    const own = rows.logs.filter((row) => Number(row['block_number']) >= from)
    const last = { ...own.at(-1), chain_id: 137 }
    await writeCryoFile(database.client, faulty, 'logs', own.with(-1, last), { from, to })
    expect(await refused('faulty', ['--files', faulty])).toMatch(
      new RegExp(`ethereum__logs__${from}_to_${to}\\.parquet: log \\d+ of block \\d+ is of chain 137\\.`),
    )
    const before = await storeOf('faulty', TO)
    expect(before.unread[0]?.from).toBeGreaterThanOrEqual(from)
    expect(before.jobs.map(({ state }) => state)).toEqual(['failed'])
    const { tables } = await storedBy('faulty', [...ETHEREUM, '--files', files], TO)
    expect(tables).toEqual((await wholeStore()).tables)
  })

  test.each<[string, string[], string]>([
    ['a bound of requests', ['--files', './cryo', '--max-requests', '10'], '--max-requests bounds what endpoints are'],
    ['a folder without a name', ['--files', ''], '--files names no folder'],
    ['a folder that is not there', ['--files', '/nowhere'], '--files: the folder /nowhere cannot be read: ENOENT'],
    [
      'blocks before those of the files',
      ['--files', RECORDED, '--from-block', '1', '--to-block', '2'],
      'No file has the logs of blocks 1 to 2: cryo logs',
    ],
    [
      'blocks after those of the files',
      ['--files', RECORDED, '--from-block', '99999999'],
      `has blocks ${FROM} to ${FROM + 199}: none of the wanted ones.`,
    ],
  ])('%s is refused in words', async (_, args, words) => {
    const said = await refused('refused', args)
    expect(said).toContain(words)
    expect(said).not.toMatch(/^ +at /m)
  })

  test('beside a process that runs on the same tables it is refused, and the process runs on', async () => {
    const main = run('start', { ...environment('beside'), ETHEREUM_START: String(TO), PORT: '0' })
    await untilReady(main)
    expect(await refused('beside', ['--files', RECORDED])).toContain(
      '--files: a process runs on these tables and would ask its endpoints. Stop it,',
    )
    expect(await main.stop(), main.output()).toBe(0)
  })

  test('files that cryo itself has written are read', async () => {
    const to = FROM + 199
    const overRpc = await storedBy('rpc-200', range(FROM, to), to)
    expect(await storedBy('cryo', [...ETHEREUM, '--files', RECORDED], to)).toEqual(overRpc)
    expect(overRpc.tables['ticks']?.length).toBeGreaterThan(100)
  })
})
