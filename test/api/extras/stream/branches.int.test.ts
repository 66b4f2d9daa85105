/** Readers of streams where the tables change between two statements of one poll, and where blocks are ahead of the clock. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { WriteEvent } from '../../../../aggregator/candles/changes.ts'
import { eventsOf } from '../../../../api/extras/clients/typescript/src/stream.ts'
import { formatTime } from '../../../../api/query/time.ts'
import type { Network } from '../../../../ingest/model/network.ts'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import { type Running, startAggregator } from '../../../aggregator/running.ts'
import { FoldedStream } from '../../../client/event-stream.ts'
import { asBlocks, type Chain, fullBlocks, mine, POOLS, withOwnTransactions } from '../../../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { type Gate, startGate } from '../../../support/gate.ts'
import { type Service, startService } from '../../service.ts'

const NETWORK: Network = NETWORKS.ethereum
const [POOL = { id: '' }] = POOLS
const LIMIT = 100
const TICKS = `/v0/ticks?pool=${POOL.id}&limit=${LIMIT}&include=position`
const CANDLES = `/v0/candles?pool=${POOL.id}&interval=1s&fill=none&limit=${LIMIT}`
const TIPS = /FROM blocks FINAL/
const CHANGES = /toString\(version\)[\s\S]*FROM changes/

describe.skipIf(withoutClickHouse)('a stream', () => {
  let database: TestDatabase
  /** Before the store, for the service. */
  let gate: Gate
  /** The same for the aggregator. */
  let writing: Gate
  let service: Service
  let running: Running
  let chain: Chain
  let now = 0
  let onWritten: (written: WriteEvent) => void
  let leave: () => void

  beforeEach(async () => {
    database = await freshDatabase()
    gate = await startGate(database.connection.url)
    writing = await startGate(database.connection.url)
    const client = database.connect({ url: gate.url })
    onWritten = () => {}
    leave = () => {}
    chain = grown(mine([], withOwnTransactions(fullBlocks(6, 1), 'first')), [100, 100])
    now = lastTime() + 2
    running = await startAggregator(database.connect({ url: writing.url }), {
      network: 'ethereum',
      onWritten: (written) => onWritten(written),
    })
    await running.append(asBlocks('ethereum', chain))
    service = await startService({ client, networks: [NETWORK], clock: () => new Date(now * 1_000), freshMs: 2_000 })
  })
  afterEach(async () => {
    leave()
    for (const one of [gate, writing]) one?.open()
    await running?.stop()
    await service?.stop()
    for (const one of [gate, writing]) one?.stop()
    await database?.drop()
  })

  const lastTime = () => chain.at(-1)?.timestamp ?? 0

  /** Blocks with trades, so many seconds after each other. */
  function grown(below: Chain, secondsLater: readonly number[], branch = 'first'): Chain {
    const plans = fullBlocks(secondsLater.length, 11).map((plan, index) => ({
      ...plan,
      secondsLater: secondsLater[index] ?? 1,
      ticks: plan.ticks.map((tick) => ({ ...tick, pool: POOL.id as typeof tick.pool })),
    }))
    return mine(below, withOwnTransactions(plans, `${branch} ${below.length}`), branch)
  }

  async function open(path = TICKS, { url, key } = service): Promise<FoldedStream> {
    const stop = new AbortController()
    leave = () => stop.abort()
    const headers = { 'X-API-KEY': key, Accept: 'text/event-stream' }
    const { body } = await fetch(url + path, { headers, signal: stop.signal })
    const folded = new FoldedStream(LIMIT)
    const read = async () => {
      if (body) for await (const event of eventsOf(body)) folded.take(event)
    }
    read().catch(() => undefined)
    await untilAtTip(folded)
    return folded
  }

  const untilAtTip = ({ tips }: FoldedStream) =>
    expect.poll(() => tips.get('ethereum')?.['hash']).toBe(chain.at(-1)?.hash)

  async function expectAnswer(folded: FoldedStream, path = TICKS): Promise<void> {
    await untilAtTip(folded)
    const { body } = await service.get(path)
    const { data } = body as { data: Record<string, unknown>[] }
    const from = formatTime(path === TICKS ? now - 3_600 : now - LIMIT)
    await expect.poll(() => folded.rowsOf(POOL.id, from)).toEqual(data)
    expect(folded.breaks).toBe(0)
  }

  test('a stream begins with the newest ticks up to its tip, where as many beyond it are stored', async () => {
    const [tip, ...beyond] = chain.slice(-3)
    const limit = beyond.reduce((sum, { ticks }) => sum + ticks.length, 0)
    const path = `/v0/ticks?pool=${POOL.id}&limit=${limit}&include=position`
    const { body } = await service.get(`${path}&to=${formatTime((tip?.timestamp ?? 0) + 1)}`)
    // As while a block is written, and while a rollback is under way: a block is on the ledger last, and goes first.
    await database.client.command({
      query: `INSERT INTO blocks SELECT * REPLACE (version + 1 AS version, 1 AS is_deleted) FROM blocks FINAL WHERE number > ${tip?.number}`,
    })
    const clock = () => new Date(now * 1_000)
    const another = await startService({ client: database.client, networks: [NETWORK], clock })
    chain = chain.slice(0, -2)
    const folded = await open(path, another)
    expect(folded.rowsOf(POOL.id)).toEqual((body as { data: unknown[] }).data)
    leave()
    await another.stop()
  })

  test('a stream has the blocks of a branch whose times are before those of the branch it replaced', async () => {
    const folded = await open()
    // A poll has read the tip of the first branch. It reads the changes after the rollback.
    await gate.shut(CHANGES)
    const kept = chain.slice(0, -2)
    chain = grown(kept, [1], 'second')
    await running.append(asBlocks('ethereum', chain.slice(-1)))
    gate.open()
    await gate.shut(TIPS)
    chain = grown(chain, [1, 1], 'second')
    await running.append(asBlocks('ethereum', chain.slice(-2)))
    gate.open()
    await expectAnswer(folded)
  })

  test('a stream has these blocks where the writer is in its process', async () => {
    onWritten = service.look
    chain = grown(chain, [1])
    await running.append(asBlocks('ethereum', chain.slice(-1)))
    const folded = await open()
    const notices: WriteEvent[] = []
    onWritten = (written) => void notices.push(written)
    await gate.shut(CHANGES)
    const rolledBack = writing.shut(/INSERT INTO ticks/)
    chain = grown(chain.slice(0, -3), [1, 1, 1, 1], 'second')
    const written = running.append(asBlocks('ethereum', chain.slice(-4)))
    await rolledBack
    gate.open()
    await gate.shut(TIPS)
    writing.open()
    await written
    expect(notices.map(({ flushed }) => flushed?.tip.number)).toEqual([undefined, 109, 109])
    for (const notice of notices) service.look(notice)
    await new Promise((resolve) => setTimeout(resolve, 50))
    gate.open()
    await expectAnswer(folded)
  })

  test.each([TICKS, CANDLES])('a stream of %s has blocks ahead of the clock once their time has come', async (path) => {
    const folded = await open(path)
    for (let block = 0; block < 2; block++) {
      chain = grown(chain, [5])
      await running.append(asBlocks('ethereum', chain.slice(-1)))
      await untilAtTip(folded)
    }
    for (now = lastTime() - 7; now < lastTime() + 2; now += 3) await expectAnswer(folded, path)
  })
})
