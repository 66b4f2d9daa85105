/** The cache of candles: an answer is at most a second older than the tables, and at rest equal to them. `STEPS=100` is a long random life. */

import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { inProcessLog } from '../../../../infra/kafka/in-process.ts'
import type { RangeOverwrite } from '../../../../ingest/model/message.ts'
import type { Network, NetworkName } from '../../../../ingest/model/network.ts'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import type { Pool, PoolId } from '../../../../ingest/model/pool.ts'
import { startAggregator } from '../../../aggregator/running.ts'
import { held, intercepted, queryOf } from '../../../aggregator/statements.ts'
import { type Random, randomOf } from '../../../simulation/random.ts'
import {
  asBlocks,
  asRange,
  asRestatement,
  type BlockPlan,
  type Chain,
  FIRST_SECOND,
  fullBlocks,
  mine,
  POOLS,
  withOwnTransactions,
} from '../../../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { withExtras } from '../../../support/extras.ts'
import { sample } from '../../../support/sample.ts'
import { until } from '../../../support/until.ts'
import { openStream, type Reply, type Service, startService } from '../../service.ts'

/** A network that knows the tokens of the chain's pools: all that they trade is called TT, for something that is always $1. */
const [{ token0: dollar }] = POOLS as [Pool]
const NETWORK: Network = {
  ...NETWORKS.ethereum,
  trustedTokens: [
    { ...dollar, symbols: ['USD'], role: 'stablecoin' },
    ...POOLS.map(({ token1 }) => ({ ...token1, symbols: ['TT'] as const, role: 'listed' as const })),
  ],
}
/** The cache's polls. */
const CHANGES = queryOf('api/market/cache/changes.sql')
const COUNT = queryOf('api/market/cache/changes-count.sql')
const SEED = Number(process.env['SEED'] ?? 1)
const STEPS = sample('STEPS', 2, 12)
/** While the tables are written to, in each act of a step. */
const QUESTIONS = 20
const DEEPEST_FORK = 8
const HOUR = 3_600
/** These are final. */
const FINAL = 40
/** The bound, and what a slow machine adds. */
const AT_REST_MS = 1_200

describe.skipIf(withoutClickHouse)('the cache', () => {
  let database: TestDatabase
  let services: Service[]
  let now = 0

  beforeAll(async () => {
    database = await freshDatabase()
    // The first is told by the aggregator, as in one process; two look for changes themselves, one with hardly any memory.
    const first = await serve({ freshMs: 1_000 })
    services = [
      first,
      await serve({ key: first.key, freshMs: 1_000 }),
      await serve({ key: first.key, freshMs: 1_000, cacheBytes: 20_000 }),
    ]
  })
  afterAll(async () => {
    for (const service of services ?? []) await service.stop()
    await database?.drop()
  })

  function serve(options: { key?: string; freshMs?: number; cacheBytes?: number }): Promise<Service> {
    const clock = () => new Date(now * 1_000)
    return startService({ client: database.client, networks: [NETWORK], clock, ...options })
  }

  describe('a write during a read', () => {
    /** A chain that is stored up to shortly before an hour ends, and a block on top of it that is still in that hour. */
    async function scene(network: NetworkName) {
      const begun = mine([], fullBlocks(5, SEED))
      const untilHour = HOUR - ((begun.at(-1)?.timestamp ?? 0) % HOUR)
      const stored = mine(begun, [{ ...onePlan(SEED + 1), pools: POOLS, secondsLater: untilHour + HOUR - 20 }])
      const [next] = mine(stored, [{ ...onePlan(SEED + 2), secondsLater: 10 }]).slice(-1)
      const pool = next?.ticks[0]?.pool
      if (!next || !pool) throw new Error('A full block has a tick.')
      let second = next.timestamp + 5
      const networks = [{ ...NETWORKS.ethereum, name: network }]
      const key = services[0]?.key ?? ''
      const options = { client: database.client, networks, clock: () => new Date(second * 1_000), key }
      const writing = held(database.client, /INSERT INTO candles/, 'sent')
      const reading = held(database.client, queryOf('api/market/cache/buckets.sql'), 'answered')
      const aggregator = await startAggregator(writing.client, { network })
      await aggregator.append(asBlocks(network, stored))
      const holding = await startService({ ...options, client: reading.client, freshMs: 1_000 })
      const bare = await startService(options)
      onTestFinished(async () => {
        writing.release()
        reading.release()
        for (const service of [holding, bare]) await service.stop()
        await aggregator.stop()
      })
      return {
        writing,
        reading,
        question: (interval: string) => `/v0/candles?pool=${pool}&networks=${network}&interval=${interval}&limit=5`,
        ask: (question: string) => holding.get(question),
        toNextHour() {
          second = next.timestamp + 30
        },
        append: () => aggregator.append(asBlocks(network, [next])),
        async untilSeen() {
          await expect.poll(() => tipSeen(holding)).toBe(next.number)
        },
        /** Cached answers equal those from the tables. */
        async expectTrue(question: string) {
          const [one, other] = [await holding.get(question), await bare.get(question)]
          expect(one.status).toBe(200)
          expect(rows(one)).toEqual(rows(other))
        },
      }
    }

    test('rows that were read before a write and arrive after it are not held', async () => {
      const { reading, question, ask, append, untilSeen, expectTrue } = await scene('arbitrum')
      await ask(question('1h'))
      const late = reading.hold()
      const asked = ask(question('1m'))
      await late
      await append()
      await untilSeen()
      reading.release()
      await asked
      await expectTrue(question('1m'))
    })

    test('rows that were read during their write are not held', async () => {
      const { writing, reading, question, ask, append, untilSeen, expectTrue } = await scene('base')
      await ask('/v0/health')
      const begun = writing.hold()
      const appended = append()
      await begun
      // By now it has been looked for.
      await sleep(AT_REST_MS)
      const late = reading.hold()
      const asked = ask(question('1m'))
      await late
      writing.release()
      await appended
      await untilSeen()
      reading.release()
      await asked
      await expectTrue(question('1m'))
    })

    test('the close before the held candles is that of a trade that came late', async () => {
      const { question, ask, append, toNextHour, untilSeen, expectTrue } = await scene('optimism')
      toNextHour()
      await ask(question('1s'))
      await append()
      await untilSeen()
      await expectTrue(question('1s'))
    })
  })

  test('a block shows once its ticks and candles are in the tables, and its balances show once they are stored', async () => {
    const network = 'ethereum'
    const { client, drop } = await freshDatabase()
    const [first, second] = mine(
      [],
      [
        { ...onePlan(SEED), pools: POOLS },
        { ...onePlan(SEED + 1), pools: [] },
      ],
    )
    const pool = second?.ticks[0]?.pool
    if (!first || !second || !pool) throw new Error('A full block has a tick.')
    const others = held(client, /INSERT INTO (changes|pool_balance)/, 'sent')
    const clock = () => new Date((second.timestamp + 5) * 1_000)
    const options = { client, networks: [NETWORK], clock }
    const told = await startService({ ...options, freshMs: 3_600_000 })
    const bare = await startService({ ...options, key: told.key })
    const aggregator = await startAggregator(others.client, { network, onWritten: told.look })
    onTestFinished(async () => {
      others.release()
      await aggregator.stop()
      for (const service of [told, bare]) await service.stop()
      await drop()
    })
    const candles = `/v0/candles?pool=${pool}&interval=1s&limit=5`
    const pools = '/v0/pools?symbol=TT-USD'
    const seen = async (service: Service) => ({
      candles: rows(await service.get(candles)),
      pools: rows(await service.get(pools)),
      tip: await tipSeen(service),
    })
    await aggregator.append(asBlocks(network, [first]))
    const before = await seen(told)
    const unrecorded = others.hold()
    const appended = aggregator.append(asBlocks(network, [second]))
    await unrecorded
    await expect.poll(() => tipSeen(told)).toBe(second.number)
    const between = await seen(told)
    expect(await tipSeen(bare)).toBe(first.number)
    // A reader of the ledger finds the previous block meanwhile.
    told.look({ network })
    await sleep(AT_REST_MS)
    expect(await tipSeen(told)).toBe(second.number)
    others.release()
    await appended
    const after = await seen(bare)
    expect(between.candles).not.toEqual(before.candles)
    expect(between.candles).toEqual(after.candles)
    expect(between.pools).not.toEqual(after.pools)
    await expect.poll(() => seen(told)).toEqual(after)
  })

  test('a fork within the hour reaches the kept bytes of a closed range', async () => {
    const network = 'ethereum'
    const { client, drop } = await freshDatabase()
    const planned = (seed: number) => ({ ...onePlan(seed), pools: POOLS, secondsLater: 30 })
    const chain = mine([], [SEED, SEED + 1, SEED + 2].map(planned))
    const branch = mine(chain.slice(0, 1), [SEED + 3, SEED + 4, SEED + 5].map(planned), 'branch')
    const [, abandoned, tip] = chain
    const pool = abandoned?.ticks[0]?.pool
    if (!tip || !pool) throw new Error('A full block has a tick.')
    const clock = () => new Date((tip.timestamp + 60) * 1_000)
    const options = { client, networks: [NETWORK], clock }
    const told = await startService({ ...options, freshMs: 1_000 })
    const polling = await startService({ ...options, freshMs: 1_000, key: told.key })
    const [first, second] = [
      await startService({ ...options, key: told.key }),
      await startService({ ...options, key: told.key }),
    ]
    const aggregator = await startAggregator(client, { network, onWritten: told.look })
    onTestFinished(async () => {
      await aggregator.stop()
      for (const service of [told, polling, first, second]) await service.stop()
      await drop()
    })
    const to = new Date(tip.timestamp * 1_000).toISOString()
    const question = `/v0/candles?pool=${pool}&interval=1s&limit=100&to=${to}`
    const seen = async (service: Service) => tagged(question, await service.get(question, direct(told.key)))
    await aggregator.append(asBlocks(network, chain))
    await sleep(AT_REST_MS)
    const before = await seen(first)
    expect(before.etag).toMatch(/^W/)
    for (const service of [told, told, polling, polling]) expect(await seen(service)).toEqual(before)
    await aggregator.append(asBlocks(network, branch.slice(1)))
    await sleep(AT_REST_MS)
    // One that was not asked before holds nothing.
    const after = await seen(second)
    expect(after.data).not.toEqual(before.data)
    for (const service of [told, polling]) expect(await seen(service)).toEqual(after)
  })

  test('liquidity that a restatement removes is gone from answers, in blocks without trades', async () => {
    const network = 'polygon'
    const plans = fullBlocks(3, SEED).map((plan) => ({ ...plan, ticks: [], balances: [] }))
    const chain = mine([], plans)
    const stated = chain.map((block) => ({ ...block, pools: [], liquidity: [] }))
    const history = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
    const aggregator = await startAggregator(database.client, { network, history })
    await aggregator.append([asRange(network, chain)])
    const key = services[0]?.key ?? ''
    const clock = () => new Date(FIRST_SECOND * 1_000)
    const options = { client: database.client, networks: [{ ...NETWORK, name: network }], clock, key } as const
    const [holding, bare] = [await startService({ ...options, freshMs: 1_000 }), await startService(options)]
    const question = '/v0/pools?symbol=TT-USD'
    const before = rows(await holding.get(question))
    await history.append([asRestatement(network, stated, { job: 1 })])
    await expect.poll(async () => rows(await holding.get(question))).not.toEqual(before)
    expect(rows(await holding.get(question))).toEqual(rows(await bare.get(question)))
    await holding.stop()
    await bare.stop()
    await aggregator.stop()
    await history.close()
  })

  test('the tables are rarely asked for their state while notifications of flushes arrive', withExtras, async () => {
    const network = 'base'
    const own = await freshDatabase()
    onTestFinished(own.drop)
    let [looks, counts, began] = [0, 0, 0]
    let written: Promise<unknown> = Promise.resolve()
    const client = intercepted(own.client, async (send, _statement, [asked]) => {
      const { query } = asked as { query: string }
      if (CHANGES.test(query)) looks++
      if (!COUNT.test(query)) return send()
      // Within a flush there are rows without a notification.
      await written
      counts++
      return send()
    })
    // A pool that is found later is known to a service within its `freshMs`.
    const plans = fullBlocks(12, SEED).map((plan, index) => (index === 0 ? { ...plan, pools: POOLS } : plan))
    const chain = mine([], plans)
    const clock = () => new Date((chain.at(-1)?.timestamp ?? 0) * 1_000)
    const options = { networks: [{ ...NETWORK, name: network }], clock } as const
    const told = await startService({ ...options, client, freshMs: 3_600_000 })
    const bare = await startService({ ...options, client: own.client, key: told.key })
    const writing = held(own.client, /INSERT INTO candles/, 'sent')
    const aggregator = await startAggregator(writing.client, { network, onWritten: told.look })
    const question = '/v0/candles?symbol=TT-USD&networks=base&interval=1m'
    await aggregator.append([asRange(network, chain.slice(0, 1))])
    // A service without a query for two seconds applies no notification, and the count that would find the write is held here until the answers are
    // the same: they would differ for `freshMs`. An open stream keeps the service listening, however long an append takes.
    const stream = await openStream(told, `/v0/candles?pool=${POOLS[0]?.id}&networks=base&interval=1m`)
    async function add(block: Chain[number]): Promise<void> {
      await aggregator.append(asBlocks(network, [block]))
      const isSame = async () => expect(rows(await told.get(question))).toEqual(rows(await bare.get(question)))
      await until(() => isSame().then(() => true), 'the answers are the same')
    }
    for (const [index, block] of chain.slice(1).entries()) {
      // The first one finds all that was there before.
      if (index === 1) [looks, began] = [0, performance.now()]
      const begun = index === 4 ? writing.hold() : undefined
      written = add(block)
      if (begun) {
        await begun
        await sleep(2_100)
        writing.release()
      }
      await written
      const before = counts
      const counted = async () => (await told.get(question)) && counts
      await expect.poll(counted).toBeGreaterThan(before + 1)
    }
    // Some come by the clock, in five seconds one; without flushes there would be one for each block and more.
    expect(looks - Math.ceil((performance.now() - began) / 5_000)).toBeLessThan(4)
    stream.close()
    for (const service of [told, bare]) await service.stop()
    await aggregator.stop()
  })

  test('a write that a service without queries missed is read before a later one is shown', async () => {
    const network = 'base'
    const own = await freshDatabase()
    onTestFinished(own.drop)
    const [one = '', other = ''] = POOLS.map(({ id }) => `/v0/candles?pool=${id}&networks=${network}&interval=1m`)
    const [plan] = fullBlocks(1, SEED)
    const [tick] = plan?.ticks ?? []
    if (!plan || !tick) throw new Error('A full block has a tick.')
    const trade = (at: number, price: number): BlockPlan => {
      const ticks = [{ ...tick, pool: POOLS[at]?.id as PoolId, logIndex: 0, price }]
      return { ...plan, secondsLater: 1, pools: [], liquidity: [], ticks }
    }
    const plans = [{ ...plan, pools: POOLS }, trade(0, 2), trade(1, 3), trade(0, 4), trade(1, 5)]
    const chain = mine([], withOwnTransactions(plans, network))
    // Nothing but the writes themselves says that there is something new.
    let resume = () => {}
    const counting = new Promise<void>((resolve) => {
      resume = resolve
    })
    const client = intercepted(own.client, async (send, _statement, [asked]) => {
      if (COUNT.test((asked as { query: string }).query)) await counting
      return send()
    })
    const clock = () => new Date((chain.at(-1)?.timestamp ?? 0) * 1_000)
    const options = { networks: [{ ...NETWORK, name: network }], clock } as const
    const told = await startService({ ...options, client, freshMs: 3_600_000 })
    const bare = await startService({ ...options, client: own.client })
    const aggregator = await startAggregator(own.client, { network, onWritten: told.look })
    const isTold = async (question: string) =>
      expect(rows(await told.get(question))).toEqual(rows(await bare.get(question)))
    const untilTold = (question: string) => until(() => isTold(question).then(() => true), 'it is told')
    await aggregator.append([asRange(network, chain.slice(0, 1))])
    for (const [index, block] of chain.slice(1, 3).entries()) {
      await aggregator.append(asBlocks(network, [block]))
      await untilTold(index === 0 ? one : other)
    }
    await isTold(one)
    await sleep(2_100)
    const before = rows(await bare.get(one))
    await aggregator.append(asBlocks(network, chain.slice(3, 4)))
    await expect.poll(async () => rows(await bare.get(one))).not.toEqual(before)
    await told.get(other)
    await aggregator.append(asBlocks(network, chain.slice(4)))
    await untilTold(other)
    await isTold(one)
    resume()
    for (const service of [told, bare]) await service.stop()
    await aggregator.stop()
  })

  test('cached answers are those of the tables, under writes, forks, restarts, repairs and rebuilds', {
    timeout: STEPS * 600_000,
  }, async () => {
    const random = randomOf(SEED)
    let chain: Chain = mine([], fullBlocks(FINAL, SEED))
    let running = await start()
    await running.aggregator.append([asRange('ethereum', chain)])
    let asking = true
    let job = 0
    const questions: string[] = []
    /** Asked at each rest, so that their answers are kept while the next writes change them. */
    const repeated: string[] = []
    const statuses = new Set<string>()
    /** So many are asked in each act, however long it takes. */
    let allowed = 0
    const ask = async () => {
      while (asking) {
        // The next writer's turn.
        await sleep(5)
        if (allowed-- <= 0) continue
        const question = questionOf(random, now)
        questions.push(question)
        await Promise.all(services.map(({ get }) => get(question)))
        await Promise.all(services.map(({ get, key }) => get(question, direct(key))))
      }
    }
    for (let step = 0; step < STEPS; step++) {
      now = (chain.at(-1)?.timestamp ?? 0) + random.between(0, 30)
      asking = true
      const askers = [ask(), ask()]
      for (let acts = random.between(1, 4); acts > 0; acts--) {
        const kind = random.pick(['grow', 'grow', 'fork', 'restate', 'restart'])
        allowed = QUESTIONS
        if (kind === 'restart') {
          await running.stop()
          running = await start()
        } else if (kind === 'restate') {
          const from = random.between(0, FINAL - 1)
          const isStated = (index: number) => from <= index && index < Math.min(FINAL, from + 5)
          // Of what had been told less is true.
          const [ticks, liquidity] = random.pick([
            [1, 0],
            [0, 1],
          ])
          chain = chain.map((block, index) =>
            isStated(index)
              ? { ...block, ticks: block.ticks.slice(ticks), liquidity: block.liquidity.slice(liquidity) }
              : block,
          )
          job++
          await running.history.append([
            asRestatement(
              'ethereum',
              chain.filter((_, index) => isStated(index)),
              { job },
            ),
          ])
        } else {
          const kept = kind === 'fork' ? Math.max(FINAL, chain.length - random.between(1, DEEPEST_FORK)) : chain.length
          chain = mine(
            chain.slice(0, kept),
            fullBlocks(random.between(1, 5), random.between(1, 2 ** 30)),
            `step ${step}.${acts}`,
          )
          for (const block of chain.slice(kept)) await running.aggregator.append(asBlocks('ethereum', [block]))
        }
      }
      asking = false
      await Promise.all(askers)
      await new Promise((resolve) => setTimeout(resolve, AT_REST_MS))
      // One that has just been started holds nothing.
      const bare = await serve({ key: services[0]?.key ?? '' })
      repeated.push(...closedQuestions(chain.at(-1)?.timestamp ?? 0))
      for (const question of new Set([...questions.splice(0).slice(-40), ...repeated.slice(-30)])) {
        const wanted = tagged(question, await bare.get(question))
        for (const { get, key } of services) {
          expect(tagged(question, await get(question))).toEqual(wanted)
          expect(tagged(question, await get(question, direct(key)))).toEqual(wanted)
        }
        statuses.add(`${question.split('?')[0]} ${wanted.status}`)
      }
      await bare.stop()
    }
    await running.stop()
    expect(statuses).toEqual(new Set(['/v0/candles 200', '/v0/pools 200', '/v0/ticks 200']))

    async function start() {
      const history = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
      const aggregator = await startAggregator(database.client, {
        network: 'ethereum',
        history,
        onWritten: (written) => services[0]?.look(written),
      })
      const stop = async () => {
        await aggregator.stop()
        await history.close()
      }
      return { aggregator, history, stop }
    }
  })
})

/** Mostly what is near the tip; now and then far back, and wider than is held. */
function questionOf(random: Random, now: number): string {
  if (random.chance(0.2)) return '/v0/pools?symbol=TT-USD'
  const pool = POOLS[random.between(0, POOLS.length - 1)]?.id
  const market = random.chance(0.5) ? `pool=${pool}` : `symbol=${random.pick(['TT-USD', 'USD-TT'])}`
  const age = random.between(0, random.pick([60, 1_000, 200_000]))
  const end = random.chance(0.4) ? '' : `&to=${new Date((now - age) * 1_000).toISOString()}`
  const price = random.pick(['execution', 'spot'])
  const rest = `limit=${random.between(1, 100)}&price=${price}${end}`
  if (random.chance(0.3)) return `/v0/ticks?${market}&${rest}`
  const interval = random.pick(['1s', '7s', '1m', '7m', '45m', '1h', '5h', '1d', '86399s'])
  const fill = random.pick(['previous', 'previous', 'none'])
  return `/v0/candles?${market}&interval=${interval}&fill=${fill}&${rest}`
}

async function tipSeen(service: Service): Promise<number | undefined> {
  const { body } = await service.get('/v0/health')
  return (body as { networks: [{ tip?: { number: number } }] }).networks[0].tip?.number
}

function rows({ status, body }: Reply) {
  const { data, credits_used } = body as { data: unknown; credits_used: number }
  return { status, data, credits_used }
}

/** Ranges that end at this second. */
function closedQuestions(second: number): string[] {
  const to = new Date(second * 1_000).toISOString()
  return POOLS.slice(0, 3).flatMap(({ id }) =>
    ['1s', '1m', '1h'].map((interval) => `/v0/candles?pool=${id}&interval=${interval}&limit=100&to=${to}`),
  )
}

/** The ETag is a hash of the bytes. A warning names the host, so that a body with one differs from service to service. */
function tagged(question: string, reply: Reply) {
  const etag = question.startsWith('/v0/candles?symbol=') ? undefined : reply.headers.get('etag')
  return { question, ...rows(reply), etag }
}

/** Such a request may be answered without Express. */
function direct(key: string): Record<string, string> {
  return { 'X-API-KEY': key, 'Accept-Encoding': 'identity' }
}

function onePlan(seed: number): BlockPlan {
  const [plan] = fullBlocks(1, seed)
  if (!plan) throw new Error('One was asked for.')
  return plan
}
