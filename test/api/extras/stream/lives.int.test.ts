/**
 * Readers of streams through random lives of the service: forks, jobs, aggregators that die, API processes that restart, readers that leave
 * and come back, or pause after each event. At rest each reader's folded events equal the answer, without a loss and without a
 * repetition. LIVES and SEED choose them.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { formatTime } from '../../../../api/query/time.ts'
import { inProcessLog } from '../../../../infra/kafka/in-process.ts'
import type { RangeOverwrite } from '../../../../ingest/model/message.ts'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import { startAggregator } from '../../../aggregator/running.ts'
import { eventsAfter, FoldedStream } from '../../../client/event-stream.ts'
import { type Random, randomOf } from '../../../simulation/random.ts'
import {
  asBlocks,
  asRange,
  asRestatement,
  type Chain,
  fullBlocks,
  mine,
  newTo,
  POOLS,
  withOwnTransactions,
} from '../../../support/chain.ts'
import { freshDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { sample } from '../../../support/sample.ts'
import { until } from '../../../support/until.ts'
import { type Service, startService } from '../../service.ts'

const LIVES = sample('LIVES', 1, 4)
const FIRST_SEED = Number(process.env['SEED'] ?? 1)
const NETWORK = 'ethereum'
const ACTS = 14
const READERS = 5
/** Blocks that no fork replaces. */
const FINAL = 12
const ACT = [
  'grow',
  'grow',
  'grow',
  'fork',
  'fork',
  'restate',
  'crash',
  'restart-api',
  'leave',
  'leave',
  'slow',
] as const

type Query = { path: string; pool: string; limit: number; seconds: number; isTicks: boolean }

/** A reader that opens its stream again, after any end, from the last event that it has. */
class Reader {
  readonly folded: FoldedStream
  resumed = 0
  /** Between events. */
  pauseMs = 0
  #stop = new AbortController()
  #isLeft = false
  #done: Promise<void>

  constructor(query: Query, service: () => Service) {
    this.query = query
    this.folded = new FoldedStream(query.limit)
    this.#done = this.#run(service)
  }

  readonly query: Query

  leave(): void {
    this.#stop.abort()
  }

  async end(): Promise<void> {
    this.#isLeft = true
    this.#stop.abort()
    await this.#done
  }

  async #run(service: () => Service): Promise<void> {
    while (!this.#isLeft) {
      this.#stop = new AbortController()
      await this.#read(service(), this.#stop.signal).catch(() => undefined)
      await sleep(20)
    }
  }

  async #read({ url, key }: Service, signal: AbortSignal): Promise<void> {
    const { lastId } = this.folded
    const events = await eventsAfter(this.folded, { url: url + this.query.path, key, signal })
    if (!events) return
    let isFirst = true
    for await (const event of events) {
      if (isFirst && lastId !== undefined && event.event !== 'snapshot') this.resumed++
      isFirst = false
      this.folded.take(event)
      if (this.pauseMs > 0) await sleep(this.pauseMs, undefined, { signal })
    }
  }
}

function queryOf(random: Random): Query {
  const pool = (POOLS[random.between(0, POOLS.length - 1)] ?? POOLS[0])?.id ?? ''
  const limit = random.between(1, 60)
  if (random.chance(0.5)) {
    const path = `/v0/ticks?pool=${pool}&networks=${NETWORK}&limit=${limit}&include=position`
    return { path, pool, limit, seconds: 3_600, isTicks: true }
  }
  const [interval, seconds] = random.pick<readonly [string, number]>([
    ['1s', 1],
    ['7s', 7],
    ['1m', 60],
    ['1h', 3_600],
  ])
  const fill = random.pick(['previous', 'none'])
  const path = `/v0/candles?pool=${pool}&networks=${NETWORK}&interval=${interval}&fill=${fill}&limit=${limit}`
  return { path, pool, limit, seconds, isTicks: false }
}

describe.skipIf(withoutClickHouse)('readers of streams', () => {
  test.each(Array.from({ length: LIVES }, (_, index) => FIRST_SEED + index))(
    'know the answer after any life, SEED=%i',
    async (seed) => {
      const random = randomOf(seed)
      const { client, drop } = await freshDatabase()
      let chain: Chain = mine([], withOwnTransactions(fullBlocks(FINAL, seed), 'first'))
      let said = chain
      let second = 0
      const clock = () => new Date(second * 1_000)
      const setClock = () => {
        // A fork may end long before what it replaced; the clock does not go back.
        second = Math.max(second, (chain.at(-1)?.timestamp ?? 0) + 2)
      }
      setClock()
      const start = (key?: string) =>
        startService({ client, networks: [NETWORKS[NETWORK]], clock, freshMs: 300, ...(key !== undefined && { key }) })
      const first = await start()
      const services = [first, await start(first.key)]
      let death = new AbortController()
      let job = 0
      const open = async () => {
        const history = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
        death = new AbortController()
        const onWritten: Service['look'] = (written) => services[0]?.look(written)
        const aggregator = await startAggregator(client, { network: NETWORK, history, onWritten, death: death.signal })
        return { aggregator, history }
      }
      let running = await open()
      await running.aggregator.append([asRange(NETWORK, chain)])
      const readers = Array.from({ length: READERS }, () => {
        const place = random.between(0, 1)
        return new Reader(queryOf(random), () => (services[place] ?? services[0]) as Service)
      })

      onTestFinished(async () => {
        for (const reader of readers) await reader.end()
        await running.aggregator.stop()
        await running.history.close()
        for (const service of services) await service.stop()
        await drop()
      })

      async function tell(): Promise<void> {
        const fresh = newTo(said, chain)
        said = chain
        for (const block of fresh) await running.aggregator.append(asBlocks(NETWORK, [block]))
      }

      for (let step = 0; step < ACTS; step++) {
        const act = random.pick(ACT)
        const reader = readers[random.between(0, READERS - 1)]
        if (act === 'leave') reader?.leave()
        else if (act === 'slow' && reader) reader.pauseMs = random.between(1, 40)
        else if (act === 'restart-api') {
          const place = random.between(0, 1)
          await services[place]?.stop()
          services[place] = await start(first.key)
        } else if (act === 'crash') {
          death.abort()
          await running.aggregator.stop()
          await running.history.close()
          running = await open()
        } else if (act === 'restate') {
          const from = random.between(0, FINAL - 3)
          const isStated = (index: number) => from <= index && index < from + 3
          chain = chain.map((block, index) => (isStated(index) ? { ...block, ticks: block.ticks.slice(1) } : block))
          said = chain
          job++
          await running.history.append([asRestatement(NETWORK, chain.slice(from, from + 3), { job })])
        } else {
          const kept = act === 'fork' ? Math.max(FINAL, chain.length - random.between(1, 6)) : chain.length
          const longest = random.pick([12, 12, 60, 60, 3_600, 86_400])
          const plans = fullBlocks(random.between(1, 4), random.between(1, 2 ** 30)).map((plan) => ({
            ...plan,
            secondsLater: Math.min(plan.secondsLater, longest),
          }))
          chain = mine(chain.slice(0, kept), withOwnTransactions(plans, `${step}`), `${step}`)
          setClock()
          await tell()
        }
        if (random.chance(0.5)) await sleep(random.between(0, 150))
      }
      chain = mine(chain, withOwnTransactions(fullBlocks(1, seed), 'last'), 'last')
      setClock()
      await tell()

      for (const reader of readers) {
        reader.pauseMs = 0
        const { path, pool, limit, seconds, isTicks } = reader.query
        const from = formatTime(isTicks ? second - seconds : Math.ceil((second - limit * seconds) / seconds) * seconds)
        const isTrue = async () => {
          expect(reader.folded.tips.get(NETWORK)?.['hash']).toBe(chain.at(-1)?.hash)
          const { body } = (await services[0]?.get(path)) ?? {}
          expect({ path, rows: reader.folded.rowsOf(pool, from) }).toEqual({
            path,
            rows: (body as { data: unknown }).data,
          })
          return true as const
        }
        await until(isTrue, 'the reader knows the answer')
        expect(reader.folded.breaks).toBe(0)
      }
    },
  )
})
