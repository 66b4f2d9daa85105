/** `npm run backup` beside a running `npm start`, and `npm run restore` on another machine, which then continues like the first. */
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../../infra/clickhouse/client/client.ts'
import { findEngine } from '../../infra/clickhouse/engine/engine-access.ts'
import { type Running, run, type Script, temporaryFolder, untilReady } from '../support/candlepool.ts'
import { withoutClickHouse } from '../support/clickhouse.ts'
import { DAY } from '../support/recorded.ts'
import { startRecordedDay } from '../support/recorded-day.ts'
import { MARKET_TABLES, rowsOf } from '../support/rows.ts'
import type { RpcServer } from '../support/rpc-server.ts'
import { inSoak } from '../support/sample.ts'
import { until } from '../support/until.ts'

const FROM = DAY.lastBlock - 900

describe.skipIf(withoutClickHouse)('a backup', () => {
  let rpc: RpcServer
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let other: Awaited<ReturnType<typeof temporaryFolder>>
  let main: Running | undefined

  beforeAll(async () => {
    rpc = await startRecordedDay({ finalized: DAY.lastBlock - 400 })
    rpc.chain.head = DAY.lastBlock - 300
    folder = await temporaryFolder()
    other = await temporaryFolder()
  })

  afterAll(async () => {
    await main?.stop()
    await folder?.remove()
    await other?.remove()
    await rpc?.stop()
  })

  const environment = (dataDir: string) => ({
    ETHEREUM_RPC_URL: rpc.url,
    DATA_DIR: dataDir,
    ETHEREUM_START: String(FROM),
  })

  async function start(dataDir: string): Promise<void> {
    main = run('start', { ...environment(dataDir), PORT: '0' })
    await untilReady(main)
  }

  /** Answers to a user, once all of the chain is stored. */
  async function storedIn(dataDir: string): Promise<Record<string, string[]>> {
    const engine = await until(() => findEngine(join(dataDir, 'store')), 'the engine answers')
    const client = connect({ url: engine.url, database: engine.database, ...engine.users.owner })
    const tip = async () => {
      const answer = await client.query({ query: 'SELECT max(number) AS tip FROM blocks FINAL', format: 'JSONEachRow' })
      const [row] = await answer.json<{ tip: string }>()
      return Number(row?.tip) === rpc.chain.head ? true : undefined
    }
    await until(tip, 'all is stored')
    const rows = await Promise.all(MARKET_TABLES.map(async (table) => [table, await rowsOf(client, table)] as const))
    await client.close()
    return Object.fromEntries(rows)
  }

  async function command(script: Script, dataDir: string, ...args: string[]) {
    const process = run(script, environment(dataDir), args)
    const code = await process.exited
    return { code, output: process.output() }
  }

  test('a backup made while blocks arrive is complete, and its restored copy continues', inSoak, async () => {
    await start(folder.path)
    await storedIn(folder.path)
    // Blocks come while it is made.
    const growing = setInterval(() => rpc.chain.head < DAY.lastBlock && rpc.chain.head++, 20)
    const saved = await command('backup', folder.path, 'nightly')
    expect(saved).toEqual({ code: 0, output: 'Saved as backups/nightly, beside the tables.\n' })
    clearInterval(growing)
    rpc.chain.head = DAY.lastBlock
    const whole = await storedIn(folder.path)
    expect(whole['ticks']?.length).toBeGreaterThan(500)
    await main?.stop()

    await cp(join(folder.path, 'store/backups'), join(other.path, 'store/backups'), { recursive: true })
    expect(await command('restore', other.path, 'nightly')).toEqual({
      code: 0,
      output: 'Restored from backups/nightly.\n',
    })
    await start(other.path)
    expect(await storedIn(other.path)).toEqual(whole)
    expect(await command('verify', other.path, '--network', 'ethereum')).toMatchObject({ code: 0 })
  })

  test('is not restored over what is there, and its name is no path', inSoak, async () => {
    expect(await command('restore', other.path, 'nightly')).toEqual({
      code: 1,
      output: 'The tables hold something already: restore into an empty DATA_DIR or database.\n',
    })
    expect(await command('backup', other.path, '../elsewhere')).toMatchObject({
      code: 1,
      output: expect.stringMatching(/^NAME is letters, digits/),
    })
  })
})
