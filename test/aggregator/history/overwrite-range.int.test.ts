/** Restatements through the real aggregator: what a job says of final blocks is what counts. `RUNS=50` asks for that many random ones. */

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aggregate } from '../../../aggregator/aggregate.ts'
import { verify } from '../../../aggregator/extras/verify/verify.ts'
import { readCoverage } from '../../../aggregator/history/coverage.ts'
import { retime } from '../../../aggregator/history/retime.ts'
import { positionAfterStored } from '../../../aggregator/ledger/resume.ts'
import { inProcessLog } from '../../../infra/kafka/in-process.ts'
import { type Message, type RangeOverwrite, TIME_END } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import { asBlocks, asRestatement, blockPlan, type Chain, FIRST_BLOCK, mine, POOLS } from '../../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { rowsOf } from '../../support/rows.ts'
import { sample } from '../../support/sample.ts'
import { seededOnServers } from '../../support/seed.ts'
import { mortal } from '../statements.ts'

const NETWORK: NetworkName = 'ethereum'
const [plans] = fc.sample(fc.array(blockPlan({ full: true }), { minLength: 12, maxLength: 12 }), {
  numRuns: 1,
  seed: 7,
})
const truth: Chain = mine([], plans ?? [])

/** The chain as a faulty node answered it: swaps left out, and made up. */
const wrong: Chain = truth.map((block, index) => {
  if (index === 4) return { ...block, ticks: [], liquidity: [] }
  if (index === 6) return { ...block, ticks: block.ticks.map((tick) => ({ ...tick, logIndex: tick.logIndex + 500 })) }
  return block
})

const restatementOf = (chain: Chain, job: number, pools?: readonly PoolId[]) =>
  asRestatement(NETWORK, chain, { job, pools })

async function start({ client }: TestDatabase) {
  const stopping = new AbortController()
  const position = await positionAfterStored(client, NETWORK)
  const log = inProcessLog<Message>({ nextOffset: position.offset })
  const history = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
  const ended = aggregate(client, {
    network: NETWORK,
    log,
    history,
    position,
    report: () => {},
    signal: stopping.signal,
  })
  return {
    log,
    history,
    async stop() {
      stopping.abort()
      await Promise.all([log.close(), history.close()])
      await ended
    },
  }
}

describe.skipIf(withoutClickHouse)('a restatement', () => {
  let database: TestDatabase
  let clean: TestDatabase

  beforeAll(async () => {
    ;[database, clean] = await Promise.all([freshDatabase(), freshDatabase()])
    const running = await start(clean)
    await running.log.append(asBlocks(NETWORK, truth))
    await running.stop()
  })

  afterAll(async () => {
    await Promise.all([database?.drop(), clean?.drop()])
  })

  async function expectClean(): Promise<void> {
    for (const table of ['ticks', 'liquidity_changes', 'candles', 'blocks'] as const) {
      expect({ table, rows: await rowsOf(database.client, table) }).toEqual({
        table,
        rows: await rowsOf(clean.client, table),
      })
    }
  }

  test('a restatement brings what was left out, and buries what was made up, at every resolution', async () => {
    const running = await start(database)
    await running.log.append(asBlocks(NETWORK, wrong))
    await expect(expectClean()).rejects.toThrow()
    await running.history.append([restatementOf(truth.slice(3, 8), 1)])
    await expectClean()
    expect(await readCoverage(database.client, NETWORK, undefined)).toEqual([
      { from: FIRST_BLOCK + 3, to: FIRST_BLOCK + 7 },
    ])
    await running.stop()
  })

  test('a restatement that is repeated, or replayed over by the stream, changes nothing', async () => {
    const running = await start(database)
    await running.history.append([restatementOf(truth.slice(3, 8), 1)])
    await running.log.append(asBlocks(NETWORK, truth))
    await expectClean()
    await running.stop()
  })

  test('a restatement of some pools leaves the others as they are', async () => {
    const running = await start(database)
    const [first, ...others] = POOLS.map((pool) => pool.id)
    // A job that was told nonsense of one pool, and a later one that was told the truth.
    const nonsense = truth.map((block) => ({ ...block, ticks: [], liquidity: [] }))
    await running.history.append([restatementOf(nonsense, 2, first ? [first] : [])])
    const rows = await rowsOf(database.client, 'ticks')
    expect(rows.some((row) => first !== undefined && row.includes(first))).toBe(false)
    expect(rows.some((row) => others.some((pool) => row.includes(pool)))).toBe(true)
    await running.history.append([restatementOf(truth, 3, first ? [first] : [])])
    await expectClean()
    await running.stop()
  })

  test('a restatement progresses while the stream grows, and neither waits for ever', async () => {
    const running = await start(database)
    const more = mine(truth, plans ?? [])
    const cleaning = await start(clean)
    await cleaning.log.append(asBlocks(NETWORK, more.slice(truth.length)))
    await cleaning.stop()
    await Promise.all([
      running.history.append(truth.map((block) => restatementOf([block], 4))),
      ...asBlocks(NETWORK, more.slice(truth.length)).map((message) => running.log.append([message])),
    ])
    await expectClean()
    await running.stop()
  })
})

describe.skipIf(withoutClickHouse)('history of a job where nothing was written', () => {
  let database: TestDatabase
  let clean: TestDatabase

  beforeAll(async () => {
    ;[database, clean] = await Promise.all([freshDatabase(), freshDatabase()])
  })
  afterAll(async () => {
    await Promise.all([database?.drop(), clean?.drop()])
  })

  const rows = (of: TestDatabase) =>
    Promise.all((['ticks', 'liquidity_changes', 'candles'] as const).map((table) => rowsOf(of.client, table)))

  /** From which block on, and how many of them. */
  const piece = fc.record({
    kind: fc.constant('state' as const),
    from: fc.nat(20),
    count: fc.integer({ min: 1, max: 8 }),
  })
  const next = fc.record({
    kind: fc.constantFrom('state next' as const, 'append' as const),
    count: fc.integer({ min: 1, max: 6 }),
  })
  const restart = fc.record({ kind: fc.constant('restart' as const), count: fc.constant(0) })
  const act = fc.oneof(
    { weight: 2, arbitrary: piece },
    { weight: 6, arbitrary: next },
    { weight: 1, arbitrary: restart },
  )

  test('piece by piece, in any order, before, behind and beside a stream in the same hours and days, is what a listener would have stored', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(blockPlan({ full: true }), { minLength: 28, maxLength: 28 }),
        fc.array(act, { minLength: 4, maxLength: 14 }),
        fc.array(fc.constantFrom(0, 1, 12, 600, 3_600, 20_000), { minLength: 28, maxLength: 28 }),
        async (plans, acts, gaps) => {
          for (const of of [database, clean]) {
            for (const table of ['blocks', 'ticks', 'liquidity_changes', 'pools', 'candles', 'coverage', 'owners']) {
              await of.client.command({ query: `TRUNCATE TABLE ${table}` })
            }
          }
          const chain = mine(
            [],
            plans.map((plan, index) => ({ ...plan, secondsLater: gaps[index] ?? 0 })),
          )
          let running = await start(database)
          let appended = 0
          let stated = 0
          const state = async (from: number, count: number) => {
            const blocks = chain.slice(from, from + count)
            if (blocks.length === 0) return
            const message = restatementOf(blocks, 1)
            const before = chain[from - 1]
            await running.history.append([{ ...message, firstTimestamp: before?.timestamp ?? message.firstTimestamp }])
            stated = from + blocks.length
          }
          const append = async (count: number) => {
            await running.log.append(asBlocks(NETWORK, chain.slice(appended, appended + count)))
            appended += count
          }
          for (const act of acts) {
            if (act.kind === 'state') await state(act.from, act.count)
            else if (act.kind === 'state next') await state(stated, act.count)
            else if (act.kind === 'append') await append(act.count)
            else {
              await running.stop()
              running = await start(database)
            }
          }
          await append(chain.length)
          await running.stop()
          const listener = await start(clean)
          await listener.log.append(asBlocks(NETWORK, chain))
          await listener.stop()
          expect(await rows(database)).toEqual(await rows(clean))
        },
      ),
      seededOnServers({ numRuns: sample('RUNS', 1, 6) }),
    )
  })

  /** Messages in turn: blocks of the stream, or of a job. Each begins a new day where it says so. */
  const TOLD = {
    'beside the stream, which is still behind it in the same day': [
      { by: 'stream', blocks: [0] },
      { by: 1, blocks: [10, 11] },
      { by: 'stream', blocks: [1, 2, 3] },
      { by: 1, blocks: [12, 13] },
    ],
    'on both sides of what another job has stated in the same day': [
      { by: 1, blocks: [8] },
      { by: 2, blocks: [2, 3] },
      { by: 2, blocks: [9, 10] },
    ],
  } as const
  const FIRST_OF_DAY = 6

  test.each(Object.entries(TOLD))('%s, is folded into what is there', async (_, told) => {
    for (const table of ['blocks', 'ticks', 'pools', 'candles', 'coverage', 'owners']) {
      await database.client.command({ query: `TRUNCATE TABLE ${table}` })
    }
    const trade = blockPlan({ full: true })
    const chain = mine(
      [],
      fc.sample(trade, { numRuns: 14, seed: 3 }).map((plan, index) => ({
        ...plan,
        secondsLater: index === FIRST_OF_DAY && told[0]?.by === 1 ? 86_400 : 600,
      })),
    )
    const running = await start(database)
    for (const { by, blocks } of told) {
      const stretch = chain.slice(blocks[0], (blocks.at(-1) ?? 0) + 1)
      if (by === 'stream') await running.log.append(asBlocks(NETWORK, stretch))
      else await running.history.append([restatementOf(stretch, by)])
    }
    await running.stop()
    const differences = []
    for await (const one of verify(database.client, { network: NETWORK, signal: new AbortController().signal }))
      differences.push(one)
    expect(differences).toEqual([])
  })
})

describe.skipIf(withoutClickHouse)('a block that is stored under a wrong time', () => {
  let database: TestDatabase
  let clean: TestDatabase
  const DAY = 86_400
  const LIE = 5

  beforeAll(async () => {
    ;[database, clean] = await Promise.all([freshDatabase(), freshDatabase()])
    const running = await start(clean)
    await running.log.append(asBlocks(NETWORK, truth))
    await running.stop()
  })
  afterAll(() => Promise.all([database?.drop(), clean?.drop()]))

  const QUESTIONS = {
    times: 'SELECT number, time FROM blocks FINAL ORDER BY number',
    hours: 'SELECT pool, hour FROM pool_balance_hours FINAL ORDER BY pool, hour',
    versions: 'SELECT number, version FROM blocks FINAL ORDER BY number',
  }
  async function stored({ client }: TestDatabase) {
    const answers: Record<string, unknown> = {}
    for (const [name, query] of Object.entries(QUESTIONS))
      answers[name] = await (await client.query({ query, format: 'JSONCompactEachRow' })).json()
    for (const table of ['ticks', 'liquidity_changes', 'candles'] as const) answers[table] = await rowsOf(client, table)
    return answers
  }
  async function differences(): Promise<unknown[]> {
    const found = []
    for await (const one of verify(database.client, { network: NETWORK, signal: new AbortController().signal }))
      found.push(one)
    return found
  }

  const told = (seconds: number, content: object = {}): Chain =>
    truth.map((block, index) =>
      index === LIE ? { ...block, ...content, timestamp: block.timestamp + seconds } : block,
    )

  async function empty(): Promise<void> {
    const market = ['blocks', 'ticks', 'liquidity_changes', 'pools', 'candles', 'pool_balances', 'pool_balance_hours']
    for (const table of [...market, 'coverage', 'owners', 'settled'])
      await database.client.command({ query: `TRUNCATE TABLE ${table}` })
  }
  async function expectClean(): Promise<void> {
    const [now, wanted] = [await stored(database), await stored(clean)]
    for (const name of Object.keys(wanted)) expect({ [name]: now[name] }).toEqual({ [name]: wanted[name] })
    expect(await differences()).toEqual([])
  }

  test.each([
    ['of a later day', 3 * DAY, {}],
    ['of a later month', 40 * DAY, {}],
    ['of an earlier month', -40 * DAY, {}],
    ['of the last day that can be stored', TIME_END - 1 - (truth[LIE]?.timestamp ?? 0), {}],
    ['of a later month and liquidity changes alone', 40 * DAY, { ticks: [], balances: [] }],
  ])(
    'a block with a time %s is stored under its own once it is restated, and nothing is left',
    async (_, seconds, content) => {
      await empty()
      const running = await start(database)
      await running.log.append(asBlocks(NETWORK, told(seconds, content)))
      await running.history.append([restatementOf(truth.slice(LIE - 1, LIE + 2), 1)])
      await running.stop()
      await expectClean()
    },
  )

  test.each([1, 2, 3])(
    'the block is mended where a process died before statement %i of the mend',
    async (statement) => {
      await empty()
      const running = await start(database)
      await running.log.append(asBlocks(NETWORK, told(40 * DAY)))
      const { client } = mortal(database.client, statement - 1)
      const stated = { network: NETWORK, first: FIRST_BLOCK + LIE, last: FIRST_BLOCK + LIE, pools: [], job: 1 }
      const mend = retime(client, { ...stated, blocks: truth.slice(LIE, LIE + 1) }, (task) => task())
      await expect(mend).rejects.toThrow('The process is dead.')
      await running.history.append([restatementOf(truth.slice(LIE, LIE + 1), 1)])
      await running.stop()
      await expectClean()
    },
  )
})
