/** `npm run backfill -- --files`: Parquet files of cryo give the rows that endpoints give. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { gapsIn, readCoverage } from '../../aggregator/history/coverage.ts'
import { ask } from '../../aggregator/store/store.ts'
import { openStore } from '../../infra/clickhouse/store.ts'
import { run, temporaryFolder } from '../support/candlepool.ts'
import { freshDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { type CryoRows, cryoRowsOf, writeCryoFiles } from '../support/cryo-files.ts'
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
    const store = await openStore({ store: { kind: 'embedded' } }, `${folder.path}/${name}/store`, () => {})
    try {
      const tables: Record<string, string[]> = {}
      for (const table of TABLES) tables[table] = await rowsOf(store.owner, table)
      const jobs = await ask(store.owner, 'SELECT id, kind, first, last, state FROM jobs FINAL', {})
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
    const ofFiles = await storedBy('files', [...ETHEREUM, '--files', files], TO)
    expect(ofFiles).toEqual(overRpc)
    expect(ofFiles.tables['ticks']?.length).toBeGreaterThan(1_000)
    expect(ofFiles.unread).toEqual([])
    delete rpc.faults.answer
    // Ranges below are searched for the first prices; single blocks are asked for by hash.
    expect(asked.filter(({ toBlock }) => Number(toBlock) >= FROM)).toEqual([])
  })

  test('files that cryo itself has written are read', async () => {
    const to = FROM + 199
    const overRpc = await storedBy('rpc-200', range(FROM, to), to)
    expect(await storedBy('cryo', [...ETHEREUM, '--files', RECORDED], to)).toEqual(overRpc)
    expect(overRpc.tables['ticks']?.length).toBeGreaterThan(100)
  })
})
