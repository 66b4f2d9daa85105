/** The audit on real tables: whatever a broken index of logs leaves out or makes up, the tables end as those of a clean listener. */
import { numberToHex } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type AuditStep, createAudit } from '../../../../aggregator/extras/audit/audit.ts'
import { beginRecord, readRecords, writeRecord } from '../../../../aggregator/history/audit-record.ts'
import { gapsIn, readCoverage, recordCoverage } from '../../../../aggregator/history/coverage.ts'
import { openJob, openJobs, readJob } from '../../../../aggregator/jobs/job.ts'
import { finalRowVersion } from '../../../../aggregator/store/version.ts'
import { insertBlocks } from '../../../../aggregator/write/insert-blocks.ts'
import { contentOf, versionTicks } from '../../../../aggregator/write/tick-rows.ts'
import type { Store } from '../../../../infra/clickhouse/store.ts'
import { runBackfill } from '../../../../infra/jobs/job-runner.ts'
import { RequestBudgets } from '../../../../infra/process/request-budgets.ts'
import type { Run } from '../../../../infra/process/run.ts'
import { firstChoice } from '../../../../ingest/audit/audit.ts'
import { backfill } from '../../../../ingest/backfill/backfill.ts'
import { V3_TOPICS } from '../../../../ingest/decode/decode-v3.ts'
import type { RangeOverwrite } from '../../../../ingest/model/message.ts'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import type { TickLog } from '../../../../ingest/model/tick-log.ts'
import { getFinality, getHeads, type RpcLog } from '../../../../ingest/rpc/rpc.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { DAY_POOL, madeUpHash } from '../../../support/recorded.ts'
import { rowsOf } from '../../../support/rows.ts'
import { drawn, inSoak } from '../../../support/sample.ts'
import { until } from '../../../support/until.ts'
import { intercepted, queryOf } from '../../statements.ts'
import {
  DOG,
  DOG_POOL,
  FINALIZED,
  FIRST,
  LAST,
  type Listening,
  type Nodes,
  startListening,
  startNodes,
} from './audited.ts'

const DIGESTS = queryOf('aggregator/extras/audit/audit_digests.sql')
const TABLES = ['ticks', 'candles', 'liquidity_changes'] as const

describe.skipIf(withoutClickHouse)('an audit', () => {
  let nodes: Nodes
  let clean: Record<string, string[]>
  let database: TestDatabase
  let listening: Listening

  beforeAll(async () => {
    nodes = await startNodes()
    nodes.one.chain.head = LAST
    const reference = await freshDatabase()
    const listener = await startListening(reference, [nodes.one])
    await listener.untilStored(LAST)
    await listener.stop()
    clean = await tablesOf(reference)
    await reference.drop()
  })

  beforeEach(async () => {
    nodes.reset()
    database = await freshDatabase()
  })

  afterEach(async () => {
    await listening?.stop()
    await database.drop()
  })

  afterAll(() => nodes?.stop())

  async function tablesOf({ client }: TestDatabase): Promise<Record<string, string[]>> {
    return Object.fromEntries(await Promise.all(TABLES.map(async (table) => [table, await rowsOf(client, table)])))
  }

  /** The answers of both nodes are stored, with their faults. */
  async function listen(servers = [nodes.one, nodes.two], options: Parameters<typeof startListening>[2] = {}) {
    listening = await startListening(database, servers, options)
    await listening.untilStored(nodes.one.chain.head)
  }

  async function finish(step: AuditStep = listening.audit()): Promise<void> {
    while (await step());
  }

  /** The rest of the chain comes, and folds into buckets that a repair may have changed. */
  async function expectClean(): Promise<void> {
    for (const { chain } of [nodes.one, nodes.two]) chain.head = LAST
    for (const { faults } of [nodes.one, nodes.two]) delete faults.hideLogs
    await listening.untilStored(LAST)
    expect(await tablesOf(database)).toEqual(clean)
  }

  const record = async (job = 0) => (await readRecords(database.client, 'ethereum')).find((it) => it.job === job)
  const jobs = async () => (await database.client.query({ query: 'SELECT id FROM jobs', format: 'JSONEachRow' })).json()
  const accused = () => listening.facts.filter((fact) => fact.kind === 'endpoint-omitted-logs')
  const hostOf = ({ url }: { url: string }) => new URL(url).host

  function logsOf(topic: string, address: string = DAY_POOL): RpcLog[] {
    const isOurs = (log: RpcLog) => log.topics[0] === topic && log.address === address
    return nodes.one.chain.logs.filter((log) => isOurs(log) && Number(log.blockNumber) <= FINALIZED)
  }

  /** One in the middle, and the same each time. */
  function some(logs: readonly RpcLog[], share = 0.5): RpcLog {
    const log = logs[Math.floor(logs.length * share)]
    if (!log) throw new Error('The recording has no such log.')
    return log
  }

  const hide =
    (...hidden: RpcLog[]) =>
    (log: RpcLog) =>
      hidden.includes(log)
  const invented = (): RpcLog => ({ ...some(logsOf(V3_TOPICS.swap, DOG_POOL)), logIndex: numberToHex(950) })

  test('an audit of right blocks writes down how far it is, and nothing else', async () => {
    await listen()
    const versions = () =>
      database.client
        .query({ query: 'SELECT * FROM ticks ORDER BY ALL', format: 'JSONEachRow' })
        .then((it) => it.text())
    const before = await versions()
    await finish()
    expect(await versions()).toBe(before)
    expect(await jobs()).toEqual([])
    const { logs, ...rest } = (await record()) ?? { logs: 0 }
    expect(logs).toBeGreaterThan(500)
    expect(rest).toMatchObject({ first: FIRST, next: FINALIZED + 1, mismatched: 0, omitted: 0, repriced: 0 })
    await expectClean()
  })

  const OMITTED = [
    ['an omitted swap', { hidden: () => some(logsOf(V3_TOPICS.swap, DOG_POOL)), omitted: 1 }],
    ['an omitted mint', { hidden: () => some(logsOf(V3_TOPICS.mint)), omitted: 1 }],
    ['an omitted swap of the first block', { hidden: () => some(logsOf(V3_TOPICS.swap), 0), omitted: 1 }],
  ] as const
  test.each(drawn('omitted logs', OMITTED, 1))('finds %s, and repairs it', async (_, { hidden, omitted }) => {
    const log = hidden()
    nodes.one.faults.hideLogs = hide(log)
    await listen()
    expect(await tablesOf(database)).not.toEqual(clean)
    await finish()
    expect(await record()).toMatchObject({ omitted, invented: 0, mismatched: 1, undecided: [], repairing: [] })
    expect(accused()).toEqual([
      { kind: 'endpoint-omitted-logs', network: 'ethereum', endpoint: hostOf(nodes.one), logs: 1 },
    ])
    await expectClean()
  })

  test('an audit leaves blocks of a branch that lost to the rollback', async () => {
    nodes.one.faults.hideLogs = hide(some(logsOf(V3_TOPICS.swap, DOG_POOL)))
    await listen()
    // As where the aggregator was away while the chain replaced these blocks, and made the others final.
    const change = (hash: string, version: number) =>
      database.client.command({
        query: `INSERT INTO blocks SELECT * REPLACE (${hash} AS hash, version + ${version} AS version) FROM blocks FINAL WHERE number > ${FINALIZED - 3}`,
      })
    await change('reverse(hash)', 1)
    const step = listening.audit()
    await expect(finish(step)).rejects.toThrow(/once it has followed the chain/)
    expect(await jobs()).toEqual([])
    expect(accused()).toEqual([])
    await change('reverse(hash)', 2)
    await finish(step)
    expect(await record()).toMatchObject({ omitted: 1, mismatched: 1 })
    await expectClean()
  })

  test('an audit leaves blocks that the ledger has a second time, after those of a branch that the chain left again', async () => {
    await listen()
    const block = FINALIZED - 4
    const write = (table: string, changes: string, where: string) =>
      database.client.command({ query: `INSERT INTO ${table} SELECT * REPLACE (${changes}) FROM ${where}` })
    let reads = 0
    const client = intercepted(database.client, async (send, _, [request]) => {
      const { query, query_params } = request as { query: string; query_params?: { first: number; last: number } }
      if (!DIGESTS.test(query) || !query_params || query_params.last < block) return send()
      reads += 1
      // The writer takes the block back while the audit reads the first time, and has stored it again after the second time.
      if (reads === 1)
        await write('ticks', 'version + 1 AS version, 1 AS is_deleted', `ticks FINAL WHERE block = ${block}`)
      const answer = await send()
      if (reads !== 2) return answer
      await write('ticks', 'version + 2 AS version', `ticks WHERE block = ${block} AND is_deleted = 0`)
      await write('blocks', 'version + 2 AS version', `blocks FINAL WHERE number >= ${block}`)
      return answer
    })
    const { endpoints, history } = listening
    const report = (fact: Listening['facts'][number]) => listening.facts.push(fact)
    const { signal } = new AbortController()
    const options = { network: NETWORKS.ethereum, pools: undefined, everyMs: 0, againMs: 0, history, report, signal }
    const step = createAudit(client, endpoints, options)
    await expect(finish(step)).rejects.toThrow(/once it has followed the chain/)
    await finish(step)
    expect(await record()).toMatchObject({ omitted: 0, mismatched: 0 })
    expect(await jobs()).toEqual([])
    expect(accused()).toEqual([])
  })

  test('finds an invented swap, and takes it away', async () => {
    nodes.one.faults.inventLogs = [invented()]
    await listen()
    await finish()
    expect(await record()).toMatchObject({ omitted: 0, invented: 1, mismatched: 1 })
    await expectClean()
  })

  test('finds a block that was all made up, and an altered log', async () => {
    const empty = {
      ...invented(),
      blockNumber: numberToHex(FINALIZED - 1),
      blockHash: `0x${'0'.repeat(8)}${(FINALIZED - 1).toString(16).padStart(56, '0')}` as const,
    }
    const altered = some(logsOf(V3_TOPICS.swap), 0.3)
    nodes.one.faults.inventLogs = [empty]
    nodes.one.faults.twistLog = (log) =>
      log === altered ? { ...log, data: some(logsOf(V3_TOPICS.swap), 0.6).data } : log
    await listen()
    await finish()
    expect(await record()).toMatchObject({ omitted: 1, invented: 2, mismatched: 2 })
    delete nodes.one.faults.inventLogs
    await expectClean()
  })

  test('finds a block of a wrong time that is plausible, and puts it where it belongs', async () => {
    const log = some(logsOf(V3_TOPICS.swap, DOG_POOL))
    const { chain } = nodes.one
    // Between its neighbours, so that nothing contradicts it; no other log says otherwise.
    const late = numberToHex(chain.timestampOf(Number(log.blockNumber)) + 1)
    nodes.one.faults.twistLog = (it) => (it.blockNumber === log.blockNumber ? { ...it, blockTimestamp: late } : it)
    await listen()
    expect(await tablesOf(database)).not.toEqual(clean)
    delete nodes.one.faults.twistLog
    await finish()
    expect(await record()).toMatchObject({ mismatched: 1, undecided: [], repairing: [] })
    await expectClean()
  })

  test(
    'reprices what an omitted swap of a reference pool had priced, across ranges, up to its next swap',
    inSoak,
    async () => {
      // All of its swaps in the middle: many blocks of another pool follow, priced by the last one that is left.
      const swaps = logsOf(V3_TOPICS.swap).filter((log) => Math.abs(Number(log.blockNumber) - FIRST - 250) < 40)
      nodes.one.faults.hideLogs = hide(...swaps)
      await listen()
      await finish()
      expect(await record()).toMatchObject({ omitted: swaps.length, invented: 0, undecided: [] })
      expect((await record())?.repriced).toBeGreaterThan(0)
      await expectClean()
    },
  )

  test('is not misled by its own endpoint, and lets that rest', async () => {
    nodes.two.faults.hideLogs = hide(...logsOf(V3_TOPICS.swap).slice(100, 110))
    await listen()
    const before = await tablesOf(database)
    await finish()
    expect(await tablesOf(database)).toEqual(before)
    expect(await jobs()).toEqual([])
    expect(await record()).toMatchObject({ omitted: 0, invented: 0, repriced: 0 })
    expect(accused().reduce((sum, { logs }) => sum + logs, 0)).toBe(10)
    expect(accused().every(({ endpoint }) => endpoint === hostOf(nodes.two))).toBe(true)
    await expectClean()
  })

  test('reads no range from an endpoint that has lost its logs, and says so once', async () => {
    await listen()
    nodes.two.faults.hideLogs = () => true
    const before = await tablesOf(database)
    await finish()
    expect(await tablesOf(database)).toEqual(before)
    expect(await record()).toMatchObject({ omitted: 0, invented: 0, undecided: [], next: FINALIZED + 1 })
    const receipts = [nodes.one, nodes.two].map(({ calls }) => calls['eth_getBlockReceipts'] ?? 0)
    expect(receipts.reduce((sum, calls) => sum + calls, 0)).toBeLessThan(100)
    expect(accused()).toEqual([])
    expect(listening.facts.filter((fact) => fact.kind === 'endpoint-oddity')).toMatchObject([
      { endpoint: hostOf(nodes.two), oddity: 'no-old-logs' },
    ])
    await expectClean()
  })

  test(
    'takes the truth from receipts where both endpoints leave out other logs, of one block too',
    inSoak,
    async () => {
      const swaps = logsOf(V3_TOPICS.swap)
      const dog = some(logsOf(V3_TOPICS.swap, DOG_POOL), 0.2)
      const beside = swaps.find((log) => log.blockNumber === dog.blockNumber) ?? some(swaps, 0.2)
      nodes.one.faults.hideLogs = hide(some(swaps, 0.3), dog)
      nodes.two.faults.hideLogs = hide(some(swaps, 0.7), beside)
      await listen()
      await finish()
      expect(await record()).toMatchObject({ omitted: 2, invented: 0 })
      expect(new Set(accused().map(({ endpoint }) => endpoint))).toEqual(
        new Set([hostOf(nodes.one), hostOf(nodes.two)]),
      )
      await expectClean()
    },
  )

  test('has its receipts one by one where the node does not know how to give a whole block’s', async () => {
    for (const { faults } of [nodes.one, nodes.two]) faults.lacksMethods = ['eth_getBlockReceipts']
    nodes.one.faults.hideLogs = hide(some(logsOf(V3_TOPICS.swap)))
    await listen()
    await finish()
    expect(await record()).toMatchObject({ omitted: 1, undecided: [] })
    await expectClean()
  })

  test('takes what becomes final block by block together, and many blocks at once', inSoak, async () => {
    const toFinal = (block: number) => {
      for (const { chain } of [nodes.one, nodes.two]) chain.finalized = block
    }
    toFinal(FIRST + 20)
    await listen()
    const step = listening.audit(undefined, undefined, 60_000)
    const stepAfter = async (final: number) => {
      toFinal(final)
      await listening.endpoints.run((client) => getFinality(client, listening.endpoints.finality))
      return step()
    }
    expect(await stepAfter(FIRST + 20)).toBe(true)
    expect(await stepAfter(FIRST + 83)).toBe(false)
    expect(await record()).toMatchObject({ next: FIRST + 21 })
    expect(await stepAfter(FIRST + 84)).toBe(true)
    expect(await record()).toMatchObject({ next: FIRST + 85 })
    // Without a wait one block is audited at once.
    toFinal(FIRST + 85)
    await finish()
    expect(await record()).toMatchObject({ next: FIRST + 86 })
  })

  test('waits for its endpoint where that rests', inSoak, async () => {
    const log = some(logsOf(V3_TOPICS.swap))
    nodes.one.faults.hideLogs = hide(log)
    await listen([nodes.one, nodes.two], { coolDownMs: 1_000 })
    const step = listening.audit()
    const { endpoints } = listening
    let rests = 0
    for (let more = true; more; more = await step()) {
      // It fails just before each step, in which the first one would be asked at once.
      const { first } = await firstChoice(endpoints, 0)
      while (endpoints.waitForOther(first) === 0) {
        nodes.two.faults.nextStatus = [500]
        await endpoints.run((client) => getHeads(client, endpoints.finality), { notFirst: first })
      }
      rests++
    }
    expect(rests).toBeGreaterThan(2)
    expect(await record()).toMatchObject({ omitted: 1 })
    await expectClean()
  })

  test('asks a single endpoint again, which is right the second time', async () => {
    nodes.one.faults.hideLogs = hide(some(logsOf(V3_TOPICS.swap)))
    await listen([nodes.one])
    delete nodes.one.faults.hideLogs
    await finish()
    expect(await record()).toMatchObject({ omitted: 1 })
    await expectClean()
  })

  test('blocks without proof are left as they are, reported, and read again later', async () => {
    const log = some(logsOf(V3_TOPICS.swap))
    nodes.one.faults.hideLogs = hide(log)
    for (const { faults } of [nodes.one, nodes.two]) faults.hideReceipts = () => true
    await listen()
    const before = await tablesOf(database)
    const step = listening.audit()
    while ((await record())?.next !== FINALIZED + 1) await step()
    expect(await tablesOf(database)).toEqual(before)
    expect(await record()).toMatchObject({ omitted: 0, repriced: 0, undecided: [Number(log.blockNumber)] })
    const time = nodes.one.chain.timestampOf(Number(log.blockNumber))
    expect((await record())?.undecidedTimes).toEqual(new Map([[Number(log.blockNumber), time]]))
    expect((await record())?.comparedAt).toBeGreaterThan(Date.now() / 1000 - 60)
    expect(listening.facts).toContainEqual(expect.objectContaining({ kind: 'audit-found', undecided: 1 }))
    for (const { faults } of [nodes.one, nodes.two]) delete faults.hideReceipts
    await finish(step)
    expect(await record()).toMatchObject({ omitted: 1, undecided: [], next: FINALIZED + 1 })
    await expectClean()
  })

  test('passes on to newer blocks where a thousand older ones cannot be proven', inSoak, async () => {
    const log = some(logsOf(V3_TOPICS.swap), 0.8)
    nodes.one.faults.hideLogs = hide(log)
    for (const { faults } of [nodes.one, nodes.two]) faults.hideReceipts = () => true
    await listen()
    const older = Array.from({ length: 1_000 }, (_, index) => FIRST - 1_000 + index)
    const begun = beginRecord({ network: 'ethereum', job: 0, pools: undefined, from: FIRST, to: FINALIZED })
    await writeRecord(database.client, { ...begun, next: FIRST + 10, undecided: older })
    const step = listening.audit()
    for (let steps = 0; steps < 20 && (await record())?.next !== FINALIZED + 1; steps++) await step()
    expect(await record()).toMatchObject({ next: FINALIZED + 1 })
    expect((await record())?.undecided).toEqual([...older.slice(1), Number(log.blockNumber)])
  })

  test.each(drawn('crashes of an audit', ['nothing of a repair', 'half of a repair', 'a whole repair'], 1))(
    'resumes after a crash that left %s',
    async (left) => {
      nodes.one.faults.hideLogs = hide(some(logsOf(V3_TOPICS.swap)), some(logsOf(V3_TOPICS.swap, DOG_POOL), 0.8))
      await listen()
      const dying: TickLog<RangeOverwrite> = {
        ...listening.history,
        async append(restatements) {
          if (left === 'a whole repair') await listening.history.append(restatements)
          if (left === 'half of a repair') {
            // The first statement of a restatement: its ticks are there, its candles are not.
            const rows = restatements.flatMap(({ network, job, blocks }) =>
              blocks.map((block) => ({ network, block, version: finalRowVersion(job) })),
            )
            await insertBlocks(database.client, rows, versionTicks('ethereum', contentOf(rows)))
          }
          throw new Error('The process dies here.')
        },
      }
      await expect(finish(listening.audit(dying))).rejects.toThrow('dies here')
      expect((await record())?.next).toBeLessThan(FINALIZED)
      await finish()
      expect(await record()).toMatchObject({ omitted: 2, invented: 0, repairing: [], next: FINALIZED + 1 })
      expect(await openJobs(database.client, 'ethereum', 'audit')).toEqual([])
      await expectClean()
    },
  )

  test('resumes where an earlier process stopped, with the prices that are stored', async () => {
    const swaps = logsOf(V3_TOPICS.swap)
    // Priced by a swap before the range that begins with it.
    const dog = some(
      logsOf(V3_TOPICS.swap, DOG_POOL).filter(({ blockNumber }) => !swaps.some((it) => it.blockNumber === blockNumber)),
    )
    const next = Number(dog.blockNumber)
    nodes.one.faults.hideLogs = hide(dog)
    await listen()
    const begun = beginRecord({ network: 'ethereum', job: 0, pools: undefined, from: FIRST, to: FINALIZED })
    await writeRecord(database.client, { ...begun, next, compared: next })
    // A search on the chain now finds an older one.
    const last = swaps.filter((log) => Number(log.blockNumber) < next).slice(-3)
    nodes.one.faults.hideLogs = hide(dog, ...last)
    nodes.two.faults.hideLogs = hide(...last)
    await finish()
    expect(await record()).toMatchObject({ omitted: 1, repriced: 0, next: FINALIZED + 1 })
    await expectClean()
  })

  test('knows only the listener’s pools where it has a filter', async () => {
    const pools = [DOG_POOL]
    nodes.one.faults.hideLogs = hide(some(logsOf(V3_TOPICS.swap, DOG_POOL)))
    await listen([nodes.one, nodes.two], { pools })
    await finish()
    expect(await record()).toMatchObject({ omitted: 1, invented: 0, mismatched: 1, repriced: 0 })
    const isDog = (row: string) => row.includes(DOG_POOL)
    await listening.untilStored(nodes.one.chain.head)
    const [ticks, expected] = [await rowsOf(database.client, 'ticks'), (clean['ticks'] ?? []).filter(isDog)]
    expect(ticks).toEqual(expected.slice(0, ticks.length))
    expect(ticks.length).toBeGreaterThan(200)
  })

  test('reads what a backfill has read', async () => {
    await listen([nodes.one, nodes.two], { from: FIRST + 200 })
    const swap = logsOf(V3_TOPICS.swap).filter((log) => Number(log.blockNumber) < FIRST + 200)
    nodes.one.faults.hideLogs = hide(some(swap))
    const { endpoints, history } = listening
    const range = { from: FIRST, to: FIRST + 199 }
    const { id } = await openJob(database.client, { network: 'ethereum', ...range, pools: undefined, concurrency: 2 })
    const signal = new AbortController().signal
    await backfill(endpoints, {
      network: NETWORKS.ethereum,
      job: id,
      ranges: [range],
      pools: undefined,
      concurrency: 2,
      log: history,
      report: () => {},
      signal,
    })
    await finish()
    expect(await record(id)).toMatchObject({ first: FIRST, next: FIRST + 200, omitted: 1 })
    expect(await record(0)).toMatchObject({ first: FIRST + 200, next: FINALIZED + 1, omitted: 0, repriced: 0 })
    await expectClean()
  })

  test('does not wait with newer blocks for those that no endpoint has any more', async () => {
    await listen([nodes.one, nodes.two], { from: FIRST + 200 })
    const job = { network: 'ethereum', pools: undefined, concurrency: 1 } as const
    const earlier = await openJob(database.client, { ...job, from: FIRST - 500, to: FIRST - 401 })
    const later = await openJob(database.client, { ...job, from: FIRST, to: FIRST + 199 })
    for (const { id, from, to } of [earlier, later]) {
      const { timestampOf } = nodes.one.chain
      const ends = { from, to, firstTimestamp: timestampOf(from), timestamp: timestampOf(to), hash: madeUpHash(to) }
      const covered = {
        kind: 'restatement',
        network: 'ethereum',
        job: id,
        pools: undefined,
        ...ends,
        blocks: [],
      } as const
      await recordCoverage(database.client, [covered], finalRowVersion(id))
    }
    for (const { faults } of [nodes.one, nodes.two]) {
      faults.answer = (method, [filter]) => {
        const from = method === 'eth_getLogs' && Number((filter as { fromBlock?: string }).fromBlock)
        if (typeof from !== 'number' || from >= FIRST) return undefined
        return { error: { code: 4444, message: 'pruned history unavailable' } }
      }
    }
    await finish(listening.audit(undefined, undefined, 0, 3_600_000))
    expect(await record(0)).toMatchObject({ next: FINALIZED + 1 })
    expect(await record(later.id)).toMatchObject({ next: FIRST + 200 })
    expect((await record(earlier.id))?.next ?? earlier.from).toBe(earlier.from)
    expect(listening.facts.filter(({ kind }) => kind === 'audit-waiting')).toHaveLength(1)
  })

  describe('a token whose metadata cannot be read any more', () => {
    /** It reverts, whatever it is asked: it was destroyed, or its proxy points nowhere. */
    function destroyToken(): void {
      for (const { chain } of [nodes.one, nodes.two]) {
        chain.contracts = Object.fromEntries(Object.entries(chain.contracts).filter(([address]) => address !== DOG))
      }
    }

    test('keeps its swaps in an audit, which finds nothing', async () => {
      await listen()
      destroyToken()
      const before = await tablesOf(database)
      expect((before['ticks'] ?? []).filter((row) => row.includes(DOG_POOL)).length).toBeGreaterThan(200)
      await finish()
      expect(await tablesOf(database)).toEqual(before)
      expect(await record()).toMatchObject({ mismatched: 0, omitted: 0, invented: 0, undecided: [] })
      await expectClean()
    })

    test(
      'keeps its swaps where a backfill reads them again, and where it is repaired beside them',
      inSoak,
      async () => {
        const log = some(logsOf(V3_TOPICS.swap, DOG_POOL))
        nodes.one.faults.hideLogs = hide(log)
        await listen()
        delete nodes.one.faults.hideLogs
        destroyToken()
        const { client } = database
        const range = { from: FIRST, to: FINALIZED }
        const job = await openJob(client, { network: 'ethereum', ...range, pools: undefined, concurrency: 2 })
        const signal = new AbortController().signal
        await runBackfill(
          job,
          { network: NETWORKS.ethereum, urls: [nodes.one.url], isPublic: false, start: { kind: 'latest' } },
          listening.history,
          { owner: client } as Store,
          { deployment: { budgets: new RequestBudgets() }, report: () => {}, signal } as unknown as Run,
        )
        expect(await readJob(client, 'ethereum', job.id)).toMatchObject({ state: 'done' })
        await until(async () => {
          const covered = await readCoverage(client, 'ethereum', undefined)
          return gapsIn(range, covered).length === 0 ? true : undefined
        }, 'the job is stored')
        await expectClean()
      },
    )
  })
})
