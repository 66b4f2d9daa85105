/** An owner that was thought dead and writes on, beside the one that came after it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aggregate } from '../../../aggregator/aggregate.ts'
import { positionInLog } from '../../../aggregator/ledger/resume.ts'
import { newestBlock } from '../../../aggregator/ledger/stored-blocks.ts'
import { inProcessLog } from '../../../infra/kafka/in-process.ts'
import type { RangeOverwrite } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import type { Entry, TickLog } from '../../../ingest/model/tick-log.ts'
import { arrayLog } from '../../support/array-log.ts'
import { asBlocks, type Chain, fullBlocks, mine } from '../../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { networkOf, startAggregator } from '../running.ts'
import { intercepted, tableOf, watched } from '../statements.ts'
import { MARKET_TABLES, type Tables, tablesOf } from '../tables.ts'

/** All in one minute, hour and day. */
const PLANS = fullBlocks(6, 11).map((plan) => ({ ...plan, secondsLater: 1 }))
const CHAIN = mine([], PLANS)

/** While it is shut, callers wait. */
function gate() {
  let open: Promise<void> = Promise.resolve()
  let release = () => {}
  return {
    shut() {
      open = new Promise((resolve) => {
        release = resolve
      })
    },
    open: () => release(),
    pass: () => open,
  }
}

function restatementOf(network: NetworkName, chain: Chain): RangeOverwrite {
  const [first, last] = [chain[0], chain.at(-1)]
  if (!first || !last) throw new Error('A restatement has at least one block.')
  const { hash, timestamp } = last
  const blocks = chain.map(({ parentHash: _, ...block }) => block)
  const stated = { from: first.number, to: last.number, firstTimestamp: first.timestamp, timestamp, hash, blocks }
  return { kind: 'restatement', network, job: 1, pools: undefined, ...stated }
}

describe.skipIf(withoutClickHouse).concurrent('an owner that wakes up beside its successor', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database?.drop())

  async function cleanRun(name: string, chain: Chain): Promise<Tables> {
    const network = networkOf(name)
    const aggregator = await startAggregator(database.client, { network })
    await aggregator.append(asBlocks(network, chain))
    await aggregator.stop()
    return (await tablesOf(database.client))(network)
  }

  async function expectClean(network: NetworkName, clean: Tables, of = MARKET_TABLES): Promise<void> {
    const tables = (await tablesOf(database.client))(network)
    for (const table of of) expect(tables[table], table).toStrictEqual(clean[table])
  }

  async function tipOf(network: NetworkName): Promise<number | undefined> {
    return (await newestBlock(database.client, network))?.number
  }

  test.each(['ticks and candles', 'candles alone'])(
    'late %s that the successor has yet to read count once',
    async (what) => {
      const network = networkOf(what)
      const clean = await cleanRun(`clean ${what}`, CHAIN)
      const log = arrayLog()
      const sleep = gate()
      const late = gate()
      const candles = gate()
      const staleClient = intercepted(database.client, async (send, statement, [options]) => {
        if (statement !== 'query') await sleep.pass()
        if (tableOf(options) === 'ticks') await late.pass()
        const answer = await send()
        if (tableOf(options) === 'candles') candles.open()
        return answer
      })
      const stale = await startAggregator(staleClient, { network, log })
      const messages = asBlocks(network, CHAIN)
      await stale.append(messages.slice(0, 2))
      sleep.shut()
      candles.shut()
      if (what === 'candles alone') late.shut()
      const appended = stale.append(messages.slice(2))

      const position = await positionInLog(database.client, network, log)
      const stop = new AbortController()
      const stepByStep: TickLog = {
        ...log,
        async *read() {
          yield []
          // From here on the successor knows what is stored.
          sleep.open()
          await (what === 'candles alone' ? candles.pass() : appended)
          for (const [at, message] of messages.entries()) yield [{ offset: at, message }] satisfies Entry[]
          stop.abort()
        },
      }
      await aggregate(database.client, { network, log: stepByStep, position, report: () => {}, signal: stop.signal })
      await expectClean(network, clean)
      late.open()
      await appended
      await stale.stop()
      await expectClean(network, clean)
    },
  )

  test.each(['a flush', 'a rollback'])(
    'the last statement of %s is refused by the ledger, so that the tip is what the successor has read',
    async (what) => {
      const network = networkOf(`late ${what}`)
      const log = { ...arrayLog(), confirm: async () => undefined }
      const late = gate()
      let arrive = () => {}
      const arrived = new Promise<void>((resolve) => {
        arrive = resolve
      })
      const staleClient = intercepted(database.client, async (send, _, [options]) => {
        const { query } = options as { query: string }
        if (/INSERT INTO blocks/.test(query)) {
          arrive()
          await late.pass()
        }
        return send()
      })
      const stale = await startAggregator(staleClient, { network, log })
      const other = mine(CHAIN.slice(0, 2), PLANS.slice(2, 4), 'other')
      const messages = asBlocks(network, what === 'a flush' ? CHAIN : [...CHAIN.slice(0, 3), ...other.slice(2)])
      await stale.append(messages.slice(0, 3))
      late.shut()
      const appended = stale.append(messages.slice(3))
      appended.catch(() => undefined)
      await arrived

      const successor = await startAggregator(database.client, {
        network,
        log: { ...arrayLog(log.messages.slice(0, 3)), confirm: log.confirm },
      })
      late.open()
      expect(await appended.catch((error: Error) => error.name)).toBe('EpochOver')
      await stale.stop()
      expect(await tipOf(network)).toBe(CHAIN[2]?.number)
      await successor.stop()
    },
  )

  test('a restatement that the owner finishes late is done again by the successor', async () => {
    const network = networkOf('restating')
    const clean = await cleanRun('clean restating', CHAIN)
    const messages = asBlocks(
      network,
      CHAIN.map((block) => ({ ...block, ticks: block.ticks.slice(1) })),
    )
    const restatement = restatementOf(network, CHAIN)
    const sleep = gate()
    const run = async (
      client: TestDatabase['client'],
      batches: () => AsyncGenerator<readonly Entry<RangeOverwrite>[]>,
    ) => {
      const log = inProcessLog({ nextOffset: 100 })
      const stop = new AbortController()
      const history: TickLog<RangeOverwrite> = { ...inProcessLog<RangeOverwrite>({ nextOffset: 0 }), read: batches }
      const position = { generation: 0, offset: 100 }
      const ended = aggregate(client, { network, log, history, position, report: () => {}, signal: stop.signal })
      return {
        log,
        stop: async () => {
          stop.abort()
          await ended
        },
      }
    }
    let read = () => {}
    const restated = new Promise<void>((resolve) => {
      read = resolve
    })
    const stale = await run(watched(database.client, sleep.pass), async function* () {
      yield []
      await started
      sleep.shut()
      yield [{ offset: 0, message: restatement }]
      read()
    })
    let start = () => {}
    const started = new Promise<void>((resolve) => {
      start = resolve
    })
    await stale.log.append(messages.slice(0, 1))
    start()

    const successor = await run(database.client, async function* () {
      yield []
      await caughtUp
      yield [{ offset: 0, message: restatement }]
      read()
    })
    let catchUp = () => {}
    const caughtUp = new Promise<void>((resolve) => {
      catchUp = resolve
    })
    await successor.log.append(messages.slice(1))
    sleep.open()
    await restated
    catchUp()
    await successor.stop()
    await stale.stop()
    // The ledger still has the listener's blocks.
    await expectClean(network, clean, ['ticks', 'candles', 'liquidity_changes'])
  })
})
