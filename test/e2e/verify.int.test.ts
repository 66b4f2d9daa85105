/** `npm run verify` and `npm run rebuild`, beside a running `npm start` and alone: what was spoilt is found, and mended. */
import type { ClickHouseClient } from '@clickhouse/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../../infra/clickhouse/client/client.ts'
import { findEngine } from '../../infra/clickhouse/engine/engine-access.ts'
import { type Running, run, type Script, temporaryFolder, untilReady } from '../support/candlepool.ts'
import { withoutClickHouse } from '../support/clickhouse.ts'
import { DAY } from '../support/recorded.ts'
import { startRecordedDay } from '../support/recorded-day.ts'
import { rowsOf } from '../support/rows.ts'
import type { RpcServer } from '../support/rpc-server.ts'
import { inSoak } from '../support/sample.ts'
import { until } from '../support/until.ts'

const FINALIZED = DAY.lastBlock - 40
const FROM = DAY.lastBlock - 900
const ETHEREUM = ['--network', 'ethereum']

describe.skipIf(withoutClickHouse)('npm run verify and npm run rebuild', () => {
  let rpc: RpcServer
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let main: Running
  let store: ClickHouseClient
  let clean: Record<'ticks' | 'candles', string[]>

  beforeAll(async () => {
    rpc = await startRecordedDay({ finalized: FINALIZED })
    folder = await temporaryFolder()
    await start()
    await until(async () => ((await tip()) === DAY.lastBlock ? true : undefined), 'the listener is at the head')
    // An audit would mend what is spoilt before it gets there.
    await until(async () => ((await auditedTo()) === FINALIZED ? true : undefined), 'all is audited')
    clean = await stored()
  })

  afterAll(async () => {
    await store?.close()
    await main?.stop()
    await folder?.remove()
    await rpc?.stop()
  })

  const environment = () => ({ ETHEREUM_RPC_URL: rpc.url, DATA_DIR: folder.path, ETHEREUM_START: String(FROM) })

  async function start(): Promise<void> {
    main = run('start', { ...environment(), PORT: '0' })
    await untilReady(main)
    const engine = await until(() => findEngine(`${folder.path}/store`), 'the engine answers')
    store = connect({ url: engine.url, database: engine.database, ...engine.users.owner })
  }

  async function ask(number: string): Promise<number> {
    const answer = await store.query({ query: `SELECT ${number} AS number`, format: 'JSONEachRow' })
    const [row] = await answer.json<{ number: string }>()
    return Number(row?.number)
  }

  const tip = () => ask('(SELECT max(number) FROM blocks FINAL)')
  const auditedTo = () => ask('(SELECT max(next) - 1 FROM audits FINAL)')
  const stored = async () => ({ ticks: await rowsOf(store, 'ticks'), candles: await rowsOf(store, 'candles') })

  async function command(script: Script, ...args: string[]): Promise<{ code: number | null; output: string }> {
    const process = run(script, environment(), args)
    const code = await process.exited
    return { code, output: process.output() }
  }

  /** The highest price of the day, in its last digit; a swap of a final block; ten one-minute candles. */
  async function spoil(): Promise<void> {
    for (const query of [
      'INSERT INTO candles SELECT * REPLACE (high_ulps + 5 AS high_ulps, version + 1 AS version) FROM candles FINAL WHERE resolution = 86400',
      `INSERT INTO ticks SELECT * REPLACE (1 AS is_deleted, version + 1 AS version) FROM ticks FINAL
       WHERE block <= ${FINALIZED} ORDER BY block DESC LIMIT 1`,
      'INSERT INTO candles SELECT * REPLACE (0 AS trades, version + 1 AS version) FROM candles FINAL WHERE resolution = 60 LIMIT 10',
    ]) {
      await store.command({ query })
    }
  }

  test('find nothing where nothing is wrong', async () => {
    expect(await command('verify', ...ETHEREUM)).toEqual({ code: 0, output: 'ethereum: everything agrees.\n' })
  })

  test('find what is wrong, and mend it, beside npm start', async () => {
    await spoil()
    const { code, output } = await command('verify', ...ETHEREUM)
    expect(code).toBe(1)
    expect(output).toMatch(/^block \d+\n {2}stored {2}\d+ ticks, digest \d+\n {2}counted \d+ ticks/m)
    expect(output).toMatch(/^candle 0x\w{40} 86400 s 2024-01-05T00:00:00Z\n {2}stored {2}\d\S+ .*\n {2}counted \d/m)
    expect(output).toMatch(/^ethereum: \d+ differences.$/m)
    const mended = await command('verify', ...ETHEREUM, '--repair')
    expect(mended.output).toContain('ethereum: everything agrees.')
    expect(mended.code).toBe(0)
    expect(await stored()).toEqual(clean)
  })

  test('a part of the time is looked at alone', async () => {
    expect((await command('verify', ...ETHEREUM, '--to', '2024-01-04')).code).toBe(0)
  })

  test('a rebuild of one resolution mends it alone', async () => {
    await store.command({
      query: `INSERT INTO candles SELECT * REPLACE (low_ulps - 1000 AS low_ulps, version + 1 AS version)
              FROM candles FINAL WHERE resolution IN (60, 3600)`,
    })
    expect(await command('rebuild', ...ETHEREUM, '--resolution', '60')).toMatchObject({ code: 0 })
    const { code, output } = await command('verify', ...ETHEREUM)
    expect(code).toBe(1)
    expect(output).not.toMatch(/ 60 s /)
    expect(output).toMatch(/ 3600 s /)
    expect(await command('rebuild', ...ETHEREUM)).toMatchObject({ code: 0 })
    expect(await stored()).toEqual(clean)
  })

  test('alone, with the engine to themselves', inSoak, async () => {
    await spoil()
    await store.close()
    await main.stop()
    expect((await command('verify', ...ETHEREUM)).code).toBe(1)
    expect((await command('verify', ...ETHEREUM, '--repair')).code).toBe(0)
    expect(await command('rebuild', ...ETHEREUM)).toMatchObject({ code: 0 })
    await start()
    expect(await stored()).toEqual(clean)
  })

  test.each([
    ['verify', [], '--network is none of ethereum, arbitrum, polygon, base, optimism'],
    ['verify', [...ETHEREUM, '--from', 'yesterday'], '--from is not a time: 2024-01-05 or 2024-01-05T00:00:00Z'],
    ['rebuild', [...ETHEREUM, '--resolution', '61'], '--resolution is none of 1, 60, 3600, 86400 seconds'],
  ] as const)('%s %j says what is wrong with it', async (script, args, message) => {
    const { code, output } = await command(script, ...args)
    expect(code).toBe(1)
    expect(output).toContain(message)
  })
})
