/** A rewind through the real aggregator: whatever was stored above a block, final or not, the tables are those of a reader that never saw it. `STRIDE=1` cuts it off before each statement. */
import type { ClickHouseClient } from '@clickhouse/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { verify } from '../../../aggregator/extras/verify/verify.ts'
import { beginRecord, readRecords, writeRecord } from '../../../aggregator/history/audit-record.ts'
import { type Job, openJob, readJob } from '../../../aggregator/jobs/job.ts'
import { storedChain } from '../../../aggregator/ledger/stored-blocks.ts'
import { inProcessLog } from '../../../infra/kafka/in-process.ts'
import type { Message, RangeOverwrite } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { TickLog } from '../../../ingest/model/tick-log.ts'
import { type ArrayLog, arrayLog } from '../../support/array-log.ts'
import { asBlocks, asRange, asRestatement, type Chain, fullBlocks, mine, newTo } from '../../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { drawn, sample } from '../../support/sample.ts'
import { until } from '../../support/until.ts'
import { networkOf, type Running, startAggregator } from '../running.ts'
import { Died, intercepted } from '../statements.ts'
import { copyNetwork, tablesOf } from '../tables.ts'

const PLANS = fullBlocks(24, 5)
const BASE = mine([], PLANS.slice(0, 8))
const OLD = mine(BASE, PLANS.slice(8, 16), 'old')
/** The same swaps in the same places, some of them; then others. */
const NEW = mine(mine(BASE, PLANS.slice(8, 11), 'new'), PLANS.slice(16, 19), 'new')
const TO = BASE.at(-1)?.number ?? 0
const AT_ONCE = 4
/** A rewind is cut off before every statement of so many. */
const STRIDE = sample('STRIDE', 24, 3)

const refined = (chain: Chain, from: number, to: number) => chain.filter(({ number }) => number >= from && number <= to)

/** Ranges of jobs, and audits, of the old branch. */
function restatements(network: NetworkName): RangeOverwrite[] {
  const [first, tip] = [BASE[4]?.number ?? 0, OLD.at(-1)?.number ?? 0]
  return [
    asRestatement(network, refined(OLD, first, TO + 3), { job: 1 }),
    asRestatement(network, refined(OLD, TO + 4, tip), { job: 1 }),
    // What was found not to be there is buried below all live rows.
    asRestatement(
      network,
      refined(OLD, TO + 2, TO + 2).map((block) => ({ ...block, ticks: [], liquidity: [] })),
      { job: 2 },
    ),
  ]
}

/** A log of jobs that keeps what it is told. */
const historyOf = (messages: readonly RangeOverwrite[]) =>
  arrayLog([...messages] as unknown as Message[]) as unknown as TickLog<RangeOverwrite>

describe.skipIf(withoutClickHouse)('a rewind below finality', () => {
  let database: TestDatabase
  let client: ClickHouseClient
  let networks = 0

  beforeAll(async () => {
    database = await freshDatabase()
    client = database.client
  })
  afterAll(() => database?.drop())

  const another = () => networkOf(`rewound ${++networks}`)

  async function stop(aggregator: Running): Promise<void> {
    expect(await aggregator.stop()).toBeUndefined()
  }

  /** The old branch, read by ranges and block by block, and restated. */
  async function storeOld(network: NetworkName, log?: ArrayLog): Promise<void> {
    for (const _ of [1, 2])
      await openJob(client, { network, from: 1, to: 2, pools: undefined, concurrency: 1 }, 'audit')
    const aggregator = await startAggregator(client, { network, log, history: historyOf(restatements(network)) })
    await aggregator.append([asRange(network, BASE.slice(0, 4)), ...asBlocks(network, BASE.slice(4))])
    await aggregator.append([asRange(network, OLD.slice(8, 12)), ...asBlocks(network, OLD.slice(12))])
    await until(
      async () => (aggregator.facts.filter(({ kind }) => kind === 'restated').length === 3 ? true : undefined),
      'it is restated',
    )
    const record = { ...beginRecord({ network, job: 0, pools: undefined, from: 100, to: 120 }), next: TO + 5 }
    await writeRecord(client, { ...record, undecided: [TO - 1, TO + 1], repairing: [TO + 2] })
    await stop(aggregator)
  }

  const askFor = (network: NetworkName, to = TO): Promise<Job> =>
    openJob(client, { network, from: to + 1, to: OLD.at(-1)?.number ?? 0, pools: undefined, concurrency: 1 }, 'rewind')

  const untilDone = (network: NetworkName, { id }: Job) =>
    until(async () => {
      const job = await readJob(client, network, id)
      if (job?.state === 'failed') throw new Error(job.reason)
      return job?.state === 'done' ? true : undefined
    }, 'it is rewound')

  async function expectNew(network: NetworkName, clean: NetworkName): Promise<void> {
    const tables = await tablesOf(client)
    // Of the hour in which the block lies, what was held before may be gone: the next balance that is read takes its place.
    const { pool_balance_hours: _, ...rows } = tables(network)
    const { pool_balance_hours: __, ...expected } = tables(clean)
    expect(rows).toEqual(expected)
    const faults: unknown[] = []
    for await (const fault of verify(client, { network, signal: new AbortController().signal })) faults.push(fault)
    expect(faults).toEqual([])
  }

  async function storeClean(log = arrayLog()): Promise<NetworkName> {
    const network = another()
    const below = restatements(network)
      .slice(0, 1)
      .map(() => asRestatement(network, refined(BASE, BASE[4]?.number ?? 0, TO), { job: 1 }))
    const aggregator = await startAggregator(client, { network, log, history: historyOf(below) })
    await aggregator.append([asRange(network, BASE.slice(0, 4)), ...asBlocks(network, BASE.slice(4))])
    await until(
      async () => (aggregator.facts.some(({ kind }) => kind === 'restated') ? true : undefined),
      'it is restated',
    )
    await aggregator.append(asBlocks(network, newTo(BASE, NEW)))
    await stop(aggregator)
    return network
  }

  const coverageOf = async (network: NetworkName) => {
    const query = `SELECT first, last, toUnixTimestamp(first_time), toUnixTimestamp(last_time), ticks, digest, job
      FROM coverage FINAL WHERE network = '${network}' ORDER BY ALL`
    return (await client.query({ query, format: 'JSONStringsEachRow' })).json()
  }

  test.each(drawn('logs', ['in one process', 'over a log that keeps its messages'], 1))(
    'a rewind %s leaves the rows of a reader of the new branch',
    async (kind) => {
      const clean = await storeClean()
      const network = another()
      const log = kind === 'in one process' ? undefined : arrayLog()
      await storeOld(network, log)
      const history = historyOf(restatements(network))
      const aggregator = await startAggregator(client, { network, log, history })
      const job = await askFor(network)
      await untilDone(network, job)
      expect(await storedChain(client, network).tip()).toMatchObject({ number: TO, hash: BASE.at(-1)?.hash })
      expect(await coverageOf(network)).toEqual(await coverageOf(clean))
      const [record] = await readRecords(client, network)
      expect(record).toMatchObject({ next: TO + 1, undecided: [TO - 1], repairing: [] })
      expect(aggregator.facts).toContainEqual(expect.objectContaining({ kind: 'rewound', to: TO, depth: 8 }))
      // What the log has of the old branch is not news to a listener.
      const newest = await log?.last()
      expect(newest?.offset ?? -1).toBeLessThan((await storedChain(client, network).passed?.()) ?? 0)
      await aggregator.append(asBlocks(network, newTo(BASE, NEW)))
      await expectNew(network, clean)
      await stop(aggregator)
      // All that the logs keep is shown again.
      const again = await startAggregator(client, { network, log, history })
      const more = mine(NEW, PLANS.slice(19, 21), 'new')
      await again.append(asBlocks(network, newTo(NEW, more)))
      await stop(again)
      expect(await coverageOf(network)).toEqual(await coverageOf(clean))
      const goesOn = await startAggregator(client, { network: clean })
      await goesOn.append(asBlocks(clean, newTo(NEW, more)))
      await stop(goesOn)
      await expectNew(network, clean)
    },
  )

  test('a rewind that is cut off before any of its statements is done by the next process', async () => {
    const clean = await storeClean()
    const prepared = another()
    await storeOld(prepared)
    let cuts = 0
    async function cutOff(after: number): Promise<boolean> {
      const network = another()
      await copyNetwork(client, prepared, [network])
      for (const table of ['coverage', 'jobs', 'audits']) {
        const query = `INSERT INTO ${table} SELECT * REPLACE ('${network}' AS network)
          FROM (SELECT * FROM ${table} WHERE network = '${prepared}')`
        await client.command({ query })
      }
      const death = new AbortController()
      let left = Number.POSITIVE_INFINITY
      let isArmed = false
      const dying = intercepted(client, async (send, _, [options]) => {
        const { query = '' } = options as { query?: string }
        if (isArmed && /Tombstones for the live rows of blocks/.test(query) && left === Number.POSITIVE_INFINITY)
          left = after
        if (--left < 0) death.abort()
        if (death.signal.aborted) throw new Died('The process is dead.')
        return send()
      })
      const first = await startAggregator(dying, { network, death: death.signal })
      isArmed = true
      const job = await askFor(network)
      await until(
        async () =>
          death.signal.aborted || (await readJob(client, network, job.id))?.state === 'done' ? true : undefined,
        'it is dead or done',
      )
      const wasCut = death.signal.aborted
      await first.stop()
      const second = await startAggregator(client, { network })
      await untilDone(network, job)
      await second.append(asBlocks(network, newTo(BASE, NEW)))
      await stop(second)
      await expectNew(network, clean)
      expect(await coverageOf(network)).toEqual(await coverageOf(clean))
      if (wasCut) cuts++
      return wasCut
    }
    for (let after = 0; ; after += STRIDE * AT_ONCE) {
      const numbers = Array.from({ length: AT_ONCE }, (_, index) => after + STRIDE * index)
      const cut = await Promise.all(numbers.map(cutOff))
      if (cut.includes(false)) break
    }
    expect(cuts).toBeGreaterThan(Math.floor(18 / STRIDE))
  })

  test('a rewind that is asked for amid a restatement takes back all of it', async () => {
    const network = another()
    let isArmed = false
    let asked: Promise<Job> | undefined
    let isOpen = false
    let isSeen = () => {}
    const seen = new Promise<void>((resolve) => {
      isSeen = resolve
    })
    const client = intercepted(database.client, async (send, _, [options]) => {
      const { query = '', query_params = {} } = options as { query?: string; query_params?: Record<string, unknown> }
      if (isArmed && !asked && query.startsWith('INSERT INTO ticks')) {
        asked = askFor(network)
        await asked
        isOpen = true
        await seen
        // It waits for its turn.
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
      const answer = await send()
      if (isOpen && query_params['kind'] === 'rewind') isSeen()
      return answer
    })
    const history = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
    const aggregator = await startAggregator(client, { network, history })
    await aggregator.append(asBlocks(network, OLD))
    isArmed = true
    await history.append([asRestatement(network, refined(OLD, TO + 1, OLD.at(-1)?.number ?? 0), { job: 0 })])
    await untilDone(network, await (asked ?? Promise.reject(new Error('Nothing was stated.'))))
    expect(await coverageOf(network)).toEqual([])
    await aggregator.append(asBlocks(network, newTo(BASE, NEW)))
    await history.close()
    await stop(aggregator)
    const clean = another()
    const reader = await startAggregator(database.client, { network: clean })
    await reader.append(asBlocks(clean, NEW))
    await stop(reader)
    await expectNew(network, clean)
  })

  test('a late block of the removed branch is no stall, and another gap is one', async () => {
    const network = another()
    const aggregator = await startAggregator(client, { network })
    await aggregator.append(asBlocks(network, OLD))
    await untilDone(network, await askFor(network))
    const longer = mine(OLD, PLANS.slice(19, 22), 'old')
    await aggregator.append(asBlocks(network, newTo(OLD, longer)))
    expect(aggregator.facts.filter(({ kind }) => kind === 'stalled')).toEqual([])
    expect(await storedChain(client, network).tip()).toMatchObject({ number: TO })
    await aggregator.append(asBlocks(network, newTo(BASE, NEW)))
    expect(await storedChain(client, network).tip()).toMatchObject({ number: NEW.at(-1)?.number })
    const gap = mine(NEW, PLANS.slice(19, 21), 'new').slice(-1)
    await aggregator.append(asBlocks(network, gap))
    expect(aggregator.facts.filter(({ kind }) => kind === 'stalled')).toHaveLength(1)
    await stop(aggregator)
  })

  test('a rewind to a block that is not on the ledger fails, and changes nothing', async () => {
    const network = another()
    await storeOld(network)
    const before = (await tablesOf(client))(network)
    const aggregator = await startAggregator(client, { network })
    const job = await askFor(network, 5)
    const ended = async () => {
      const { state, reason } = (await readJob(client, network, job.id)) ?? job
      return state === 'open' ? undefined : { state, reason }
    }
    expect(await until(ended, 'it has failed')).toEqual({
      state: 'failed',
      reason: `Block 5 is not on the ledger of ${network}.`,
    })
    await stop(aggregator)
    expect((await tablesOf(client))(network)).toEqual(before)
  })
})
