/** `npm run status` over a node with a recorded day: what a listener and a backfill apart from it leave known, and what between. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../../infra/clickhouse/client/client.ts'
import { findEngine } from '../../infra/clickhouse/engine/engine-access.ts'
import { type Running, run, temporaryFolder, untilReady } from '../support/candlepool.ts'
import { withoutClickHouse } from '../support/clickhouse.ts'
import { DAY } from '../support/recorded.ts'
import { startRecordedDay } from '../support/recorded-day.ts'
import type { RpcServer } from '../support/rpc-server.ts'
import { inSoak } from '../support/sample.ts'
import { until } from '../support/until.ts'

const FINALIZED = DAY.lastBlock - 40
const LIVE_FROM = DAY.lastBlock - 200
const FIRST = LIVE_FROM - 500
const GAP = { from: FIRST + 100, to: LIVE_FROM - 1 }

describe.skipIf(withoutClickHouse)('npm run status', () => {
  let rpc: RpcServer
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let main: Running

  beforeAll(async () => {
    rpc = await startRecordedDay({ finalized: FINALIZED })
    folder = await temporaryFolder()
    main = run('start', { ...environment(), ETHEREUM_START: String(LIVE_FROM), PORT: '0' })
    await untilReady(main)
  })

  afterAll(async () => {
    await main?.stop()
    await folder?.remove()
    await rpc?.stop()
  })

  const environment = () => ({ ETHEREUM_RPC_URL: rpc.url, DATA_DIR: folder.path })

  async function status(args: readonly string[] = [], more: Record<string, string> = {}): Promise<string> {
    const command = run('status', { ...environment(), ...more }, args)
    expect(await command.exited).toBe(0)
    return command.output()
  }

  async function backfill(from: number, to: number): Promise<void> {
    const range = ['--network', 'ethereum', '--from-block', String(from), '--to-block', String(to)]
    expect(await run('backfill', environment(), range).exited).toBe(0)
  }

  const untilStored = () =>
    until(async () => {
      const [ethereum] = JSON.parse(await status(['--json']))
      return ethereum?.tip?.number === DAY.lastBlock ? ethereum : undefined
    }, 'the listener is at the head')

  test('a listener alone leaves no gap', async () => {
    expect(await untilStored()).toMatchObject({
      network: 'ethereum',
      head: DAY.lastBlock,
      lag: { blocks: 0 },
      first: LIVE_FROM,
      gaps: [],
    })
    expect(await status()).toMatch(
      new RegExp(`ethereum +${DAY.lastBlock} +${DAY.lastBlock} .* s, 0 blocks +${LIVE_FROM} +none `),
    )
  })

  test('a backfill apart from it leaves one, with the command that fills it', inSoak, async () => {
    await backfill(FIRST, GAP.from - 1)
    const [ethereum] = JSON.parse(await status(['--json']))
    expect(ethereum).toMatchObject({ first: FIRST, gaps: [GAP] })
    const text = await status()
    expect(text).toContain(`no data for ${(GAP.to - GAP.from + 1).toLocaleString('en')} blocks in 1 gap`)
    const [, command = ''] = /npm run backfill -- (.+)/.exec(text) ?? []
    expect(await run('backfill', environment(), command.split(' ')).exited).toBe(0)
    const [filled] = JSON.parse(await status(['--json']))
    expect(filled).toMatchObject({ first: FIRST, gaps: [] })
    expect(filled.known).toHaveLength(1)
  })

  test('tells the sums of the audit', async () => {
    const engine = await until(() => findEngine(`${folder.path}/store`), 'the engine answers')
    const client = connect({ ...engine, ...engine.users.owner })
    const counts = { logs: 500, mismatched: 3, omitted: 2, invented: 1, repriced: 4 }
    await client.insert({
      table: 'audits',
      // Of another network: the process that runs here keeps its own.
      values: [
        { network: 'base', job: 0, first: 10, next: 21, ...counts, undecided: [15, 16], repairing: [], version: 1 },
        { network: 'base', job: 7, first: 1, next: 6, ...counts, undecided: [], repairing: [2], version: 1 },
      ],
      format: 'JSONEachRow',
    })
    await client.insert({
      table: 'coverage',
      values: [{ network: 'base', filter: '', source: 'backfill', first: 1, last: 5, first_time: 1, last_time: 5 }],
      format: 'JSONEachRow',
    })
    await client.close()
    const statuses = JSON.parse(await status(['--json'])) as { network: string; audit: unknown }[]
    expect(statuses.find((it) => it.network === 'base')?.audit).toEqual({
      ...{ upTo: 20, logs: 1_000, mismatched: 6, omitted: 4, invented: 2, repriced: 8, undecided: 2, repairing: 1 },
    })
    const text = await status()
    expect(text).toMatch(/\nbase +- +- +- +- +1 +none +6 +20\n/)
    expect(text).toContain('base: the audit found 6 blocks for which two answers had different logs.')
    expect(text).toContain('  repaired   4 logs added, 2 logs removed, 8 blocks repriced')
  })

  test('tells a request budget and its use', async () => {
    const engine = await until(() => findEngine(`${folder.path}/store`), 'the engine answers')
    const client = connect({ ...engine, ...engine.users.owner })
    await client.command({ query: "INSERT INTO request_counts VALUES ('ethereum', toDate(now('UTC')), 12000)" })
    await client.command({ query: "INSERT INTO request_counts VALUES ('ethereum', toDate(now('UTC')), 300)" })
    await client.close()
    const budget = { ETHEREUM_RPC_BUDGET: '25/s,2000000/d' }
    const [ethereum] = JSON.parse(await status(['--json'], budget))
    expect(ethereum.budget).toEqual({ perSecond: 25, perDay: 2_000_000, used: 12_300 })
    expect(await status([], budget)).toContain(
      'ethereum: request budget: 12,300 of 2,000,000 requests of this UTC day are used, at most 25 a second.',
    )
    expect(await status()).not.toContain('request budget')
  })

  test('says so where nothing is stored, and names what it does not understand', async () => {
    const text = await status([], { NETWORKS: 'ethereum,polygon', POLYGON_RPC_URL: 'http://127.0.0.1:9' })
    expect(text).toMatch(/\npolygon +- +- +- +- +- +- +- +-\n/)
    expect(text).toContain('Nothing is stored yet of polygon.')
    const wrong = run('status', environment(), ['--jsn'])
    expect(await wrong.exited).toBe(1)
    expect(wrong.output()).toContain('Usage: npm run status [-- --json]')
  })
})
