/** Streams of candles and ticks: a snapshot, the changes of each block and reorg, and what a reader that comes back gets. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { createKey, createNamedKey, revokeKey } from '../../../../api/accounts/keys.ts'
import { eventsOf, type StreamEvent } from '../../../../api/extras/clients/typescript/src/stream.ts'
import { formatTime } from '../../../../api/query/time.ts'
import { inProcessLog } from '../../../../infra/kafka/in-process.ts'
import type { RangeOverwrite } from '../../../../ingest/model/message.ts'
import type { Network } from '../../../../ingest/model/network.ts'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import type { PoolId } from '../../../../ingest/model/pool.ts'
import { type Running, startAggregator } from '../../../aggregator/running.ts'
import { FoldedStream } from '../../../client/event-stream.ts'
import { asBlocks, type Chain, fullBlocks, mine, POOLS, withOwnTransactions } from '../../../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { type Service, startService } from '../../service.ts'

const NETWORK: Network = NETWORKS.ethereum
const [POOL = { id: '' }, OTHER = { id: '' }] = POOLS
const STREAM = { Accept: 'text/event-stream' }

/** The events without tips but one at the end: how often a tip is sent depends on when more is stored or has become final. */
function withNewestTips(events: readonly StreamEvent[]): StreamEvent[] {
  return events.filter(({ event }, index) => event !== 'tip' || index === events.length - 1)
}

type Reader = { events: StreamEvent[]; folded: FoldedStream; response: Response; close(): void; ended: Promise<void> }

describe.skipIf(withoutClickHouse)('a stream', () => {
  let database: TestDatabase
  let service: Service
  let running: Running
  let chain: Chain = mine([], withOwnTransactions(fullBlocks(6, 1), 'first'))
  const now = () => (chain.at(-1)?.timestamp ?? 0) + 2
  const readers: Reader[] = []

  beforeAll(async () => {
    database = await freshDatabase()
    const { client } = database
    service = await startService({ client, networks: [NETWORK], clock: () => new Date(now() * 1_000), freshMs: 1_000 })
    const history = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
    running = await startAggregator(client, { network: 'ethereum', history, onWritten: service.look })
    await running.append(asBlocks('ethereum', chain))
  })
  afterEach(() => {
    vi.useRealTimers()
    for (const reader of readers.splice(0)) reader.close()
  })
  afterAll(async () => {
    await running?.stop()
    await service?.stop()
    await database?.drop()
  })

  async function open(path: string, headers: Record<string, string> = {}): Promise<Reader> {
    const stop = new AbortController()
    const response = await fetch(service.url + path, {
      headers: { 'X-API-KEY': service.key, ...STREAM, ...headers },
      signal: stop.signal,
    })
    const events: StreamEvent[] = []
    const folded = new FoldedStream(Number(new URL(path, service.url).searchParams.get('limit') ?? 5))
    const read = async () => {
      if (!response.headers.get('content-type')?.includes('event-stream') || !response.body) return
      for await (const event of eventsOf(response.body)) {
        events.push(event)
        folded.take(event)
      }
    }
    const reader = { events, folded, response, close: () => stop.abort(), ended: read().catch(() => undefined) }
    readers.push(reader)
    return reader
  }

  /** Blocks on top of the first `kept`, by another branch where some are dropped. */
  async function grow(count: number, kept = chain.length, seed = chain.length + 7): Promise<void> {
    const branch = `${kept} of ${chain.length}`
    chain = mine(chain.slice(0, kept), withOwnTransactions(fullBlocks(count, seed), branch), branch)
    for (const block of chain.slice(kept)) await running.append(asBlocks('ethereum', [block]))
  }

  /** A block with so many trades of the first pool on top of the first `kept`. */
  async function growBy(trades: number, kept = chain.length): Promise<void> {
    const [plan] = fullBlocks(1, 1)
    const tick = plan?.ticks[0]
    if (!plan || !tick) throw new Error('A full block has a tick.')
    const ticks = Array.from({ length: trades }, (_, logIndex) => ({ ...tick, pool: POOL.id as PoolId, logIndex }))
    const branch = `${kept} of ${chain.length}`
    const plans = withOwnTransactions([{ ...plan, secondsLater: 1, liquidity: [], ticks }], branch)
    chain = mine(chain.slice(0, kept), plans, branch)
    await running.append(asBlocks('ethereum', chain.slice(-1)))
  }

  const atTip = ({ folded }: Reader) =>
    expect.poll(() => folded.tips.get('ethereum')?.['hash']).toBe(chain.at(-1)?.hash)

  async function expectAnswer(reader: Reader, path: string, limit: number, pool = POOL.id): Promise<void> {
    const { body, status } = await service.get(path)
    expect(status).toBe(200)
    const { data } = body as { data: Record<string, unknown>[] }
    // Ticks of the last hour; candles that begin in the last `limit` minutes.
    const from = formatTime(path.startsWith('/v0/ticks') ? now() - 3_600 : Math.ceil((now() - limit * 60) / 60) * 60)
    expect(reader.folded.rowsOf(pool, from)).toEqual(data)
    expect(reader.folded.breaks).toBe(0)
  }

  const CANDLES = `/v0/candles?pool=${POOL.id}&interval=1m&limit=20`
  const TICKS = `/v0/ticks?pool=${POOL.id}&limit=30&include=position`
  const PLAIN_TICKS = `/v0/ticks?pool=${POOL.id}&limit=30`

  test.each([CANDLES, `${CANDLES}&fill=none&price=spot`, TICKS, PLAIN_TICKS])(
    'a stream of %s begins with its answer',
    async (path) => {
      const reader = await open(path)
      await atTip(reader)
      const { body, headers } = await service.get(path)
      const { data, credits_used } = body as { data: unknown; credits_used: number }
      const [first] = reader.events
      expect(first).toMatchObject({
        event: 'snapshot',
        data: { network: 'ethereum', pool: POOL.id, data, credits_used },
      })
      expect(first?.data['pair']).toBe(headers.get('x-market-pair'))
      expect(reader.response.headers.get('x-market-pool')).toBe(POOL.id)
      expect(reader.response.headers.get('cache-control')).toContain('no-transform')
      expect(headers.get('vary')).toContain('Accept')
    },
  )

  test('a stream says the changes of each block, and folds to the answer', async () => {
    const [candles, ticks] = [await open(CANDLES), await open(TICKS)]
    for (let block = 0; block < 4; block++) {
      await grow(1)
      for (const reader of [candles, ticks]) await atTip(reader)
      await expectAnswer(candles, CANDLES, 20)
      await expectAnswer(ticks, TICKS, 30)
    }
    expect(candles.events.some(({ event }) => event === 'candle')).toBe(true)
    expect(ticks.events.filter(({ event }) => event === 'tick').length).toBeGreaterThan(0)
  })

  test('a stream tells each tick with the fields that were asked for', async () => {
    const asked = [PLAIN_TICKS, TICKS, `${TICKS},sender`]
    const readers = await Promise.all(asked.map((path) => open(path)))
    await growBy(2)
    for (const [index, reader] of readers.entries()) {
      await atTip(reader)
      const { data } = (await service.get(asked[index] ?? '')).body as { data: object[] }
      const newest = reader.events.filter(({ event }) => event === 'tick').map(({ data }) => data)
      expect(newest).toEqual(data.slice(-2).map((row) => ({ network: 'ethereum', pool: POOL.id, ...row })))
    }
    const counts = readers.map(
      ({ events }) => Object.keys(events.find(({ event }) => event === 'tick')?.data ?? {}).length,
    )
    expect(counts).toEqual([11, 13, 14])
  })

  test('the id of a stream with other fields does not resume a stream', async () => {
    const first = await open(TICKS)
    await atTip(first)
    const second = await open(PLAIN_TICKS, { 'Last-Event-ID': first.folded.lastId ?? '' })
    await atTip(second)
    expect(second.events[0]?.event).toBe('snapshot')
  })

  test('a stream retracts what a reorg removes, newest first, before what replaces it', async () => {
    const [candles, ticks] = [await open(CANDLES), await open(`${TICKS}`)]
    await grow(1)
    for (const trades of [2, 3]) await growBy(trades)
    for (const reader of [candles, ticks]) await atTip(reader)
    const seen = ticks.events.length
    const idsOf = ({ ticks }: Chain[number]) => ticks.map((tick) => `${tick.transactionHash}-${tick.logIndex}`)
    const removed = chain.slice(-2).flatMap(idsOf)
    await grow(3, chain.length - 2)
    for (const reader of [candles, ticks]) await atTip(reader)
    await expectAnswer(candles, CANDLES, 20)
    await expectAnswer(ticks, TICKS, 30)
    const after = ticks.events.slice(seen)
    const retracted = after.flatMap(({ event, data }) => (event === 'retract' ? (data['ids'] as string[]) : []))
    expect(retracted).toEqual(removed.reverse())
    const kinds = after.map(({ event }) => event)
    expect(kinds.lastIndexOf('retract')).toBeLessThan(kinds.indexOf('tick'))
  })

  test('a stream has the candles without trades once the tables have caught up with the clock', async () => {
    const hours = `/v0/candles?pool=${POOL.id}&interval=1h&limit=20`
    await growBy(1)
    const [plan] = fullBlocks(1, 1)
    if (!plan) throw new Error('unreachable')
    chain = mine(chain, [{ ...plan, secondsLater: 7_200, liquidity: [], ticks: [] }], 'two hours later')
    const reader = await open(hours)
    await running.append(asBlocks('ethereum', chain.slice(-1)))
    await atTip(reader)
    const { data } = (await service.get(hours)).body as { data: unknown[] }
    expect(reader.folded.rowsOf(POOL.id, formatTime(Math.ceil((now() - 20 * 3_600) / 3_600) * 3_600))).toEqual(data)
  })

  test('the last id resumes a stream without a loss or a repetition', async () => {
    const first = await open(TICKS)
    await growBy(2)
    await atTip(first)
    first.close()
    await growBy(1, chain.length - 1)
    await growBy(2)
    const second = await open(TICKS, { 'Last-Event-ID': first.folded.lastId ?? '' })
    await atTip(second)
    const missed = withNewestTips(second.events)
    expect(missed.map(({ event }) => event)).toEqual(['retract', 'tick', 'tick', 'tick', 'tip'])
    for (const event of second.events) first.folded.take(event)
    await expectAnswer(first, TICKS, 30)
    // In the middle of what was sent.
    const third = await open(TICKS, { 'Last-Event-ID': missed[2]?.id ?? '' })
    await expect.poll(() => withNewestTips(third.events)).toEqual(missed.slice(3))
  })

  test.each(['', 'x', '6a8f9f3e-0000-4000-8000-000000000000.7'])(
    'a stream begins again for the id “%s”',
    async (id) => {
      const reader = await open(TICKS, { 'Last-Event-ID': id })
      await atTip(reader)
      expect(reader.events[0]?.event).toBe('snapshot')
    },
  )

  test('a stream has several pools, each with a snapshot of its own', async () => {
    const path = `/v0/candles?pool=${POOL.id}&pool=${OTHER.id}&interval=1m&limit=20`
    const reader = await open(path)
    await grow(2)
    await atTip(reader)
    expect(reader.events.filter(({ event }) => event === 'snapshot').map(({ data }) => data['pool'])).toEqual([
      POOL.id,
      OTHER.id,
    ])
    for (const pool of [POOL.id, OTHER.id])
      await expectAnswer(reader, `/v0/candles?pool=${pool}&interval=1m&limit=20`, 20, pool)
  })

  test.each([
    [`${CANDLES}&to=2024-01-05`, 400, 'to must be left out of a stream'],
    [
      `/v0/ticks?${Array.from({ length: 21 }, (_, index) => `pool=0x${String(index).padStart(40, '0')}`).join('&')}`,
      400,
      'pool must be given at most 20 times',
    ],
    [`/v0/ticks?pool=0x${'0'.repeat(40)}`, 404, 'is known on'],
  ])('a stream of %s is refused as an answer would be', async (path, status, text) => {
    const { response } = await open(path)
    expect(response.status).toBe(status)
    expect(response.headers.get('content-type')).toContain('application/problem+json')
    expect(await response.text()).toContain(text)
  })

  test('a stream costs its snapshot and one credit for each minute that begins', async () => {
    const used = async () =>
      ((await service.get('/v0/usage')).body as { credits: { month: { used: number } } }).credits.month.used
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const before = await used()
    const reader = await open(CANDLES)
    await expect.poll(() => reader.events.length).toBeGreaterThan(0)
    const cost = Number(reader.events[0]?.data['credits_used'])
    expect(await used()).toBe(before + cost)
    vi.advanceTimersByTime(180_000)
    await expect.poll(used).toBe(before + cost + 3)
  })

  test('a stream ends with a last event where its key is revoked', async () => {
    const { key, id } = await createNamedKey({ client: database.client, plan: 'free', name: 'to be revoked' })
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const reader = await open(CANDLES, { 'X-API-KEY': key })
    await expect.poll(() => reader.events.length).toBeGreaterThan(0)
    await revokeKey({ client: database.client, id })
    const isEnded = async () => {
      vi.advanceTimersByTime(5_000)
      return reader.events.at(-1)?.event
    }
    await expect.poll(isEnded).toBe('error')
    expect(reader.events.at(-1)?.data).toMatchObject({ code: 'unauthorized', status: 401 })
    await reader.ended
  })

  test('a stream ends where its key has no credit left, and no key has more than its plan allows', async () => {
    const key = await createKey({ client: database.client, plan: 'free', name: 'of little' })
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const opened: Reader[] = []
    for (let count = 0; count < 10; count++) opened.push(await open(CANDLES, { 'X-API-KEY': key }))
    const { response } = await open(CANDLES, { 'X-API-KEY': key })
    expect(response.status).toBe(429)
    expect(await response.json()).toMatchObject({ code: 'too_many_streams' })
    const ended = () => {
      vi.advanceTimersByTime(60_000)
      return opened.map(({ events }) => events.at(-1)?.data['code'])
    }
    await expect.poll(ended).toContain('minute_credits_exceeded')
  })

  test('a client that hangs up at any moment leaves nothing open', async () => {
    const open = () => service.facts.reduce((sum, fact) => sum + (fact.kind === 'streams-open' ? fact.change : 0), 0)
    const before = open()
    const { hostname, port } = new URL(service.url)
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const begin = () => {
      const socket = connect(Number(port), hostname).on('error', () => undefined)
      socket.write(`GET ${TICKS} HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${service.key}\r\nAccept: text/event-stream\r\n\r\n`)
      return socket
    }
    for (let wait = 0; wait < 40; wait++) {
      const socket = begin()
      await sleep(wait / 2)
      socket.destroy()
    }
    const last = begin()
    await once(last, 'data')
    last.destroy()
    await sleep(1_000)
    await expect.poll(open).toBe(before)
    // One that is open is charged by a timer.
    await expect.poll(() => vi.getTimerCount()).toBe(0)
  })

  test('the stream of a reader that does not read is ended, and holds no more than its bound', async () => {
    const stop = new AbortController()
    const response = await fetch(`${service.url}/v0/ticks?pool=${POOL.id}&pool=${OTHER.id}&limit=1000`, {
      headers: { 'X-API-KEY': service.key, ...STREAM },
      signal: stop.signal,
    })
    expect(response.status).toBe(200)
    const opened = () => service.facts.reduce((sum, fact) => sum + (fact.kind === 'streams-open' ? fact.change : 0), 0)
    const before = opened()
    for (let step = 0; step < 40 && opened() === before; step++) await growBy(2_000)
    expect(opened()).toBe(before - 1)
    stop.abort()
  })
})
