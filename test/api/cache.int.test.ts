/** What is held in memory: an answer is one that the tables would have given at most a second ago, and at rest what they give now. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inProcessLog } from '../../infra/log/in-process.ts'
import type { Restatement } from '../../ingest/message.ts'
import { NETWORKS } from '../../ingest/networks.ts'
import { startAggregator } from '../aggregator/running.ts'
import { type Random, randomOf } from '../simulation/random.ts'
import { asBlocks, asRange, asRestatement, type Chain, fullBlocks, mine, POOLS } from '../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { type Reply, type Service, startService } from './service.ts'

const SEED = Number(process.env['SEED'] ?? 1)
const STEPS = Number(process.env['STEPS'] ?? 12)
const DEEPEST_FORK = 8
/** These are final. */
const FINAL = 40
/** What the issue allows, and what a slow machine takes on top. */
const AT_REST_MS = 1_200

describe.skipIf(withoutClickHouse)('candles in memory', () => {
  let database: TestDatabase
  let services: Service[]
  let now = 0

  beforeAll(async () => {
    database = await freshDatabase()
    const options = { client: database.client, networks: [NETWORKS.ethereum], clock: () => new Date(now * 1_000) }
    const first = await startService({ ...options, freshMs: 1_000 })
    // Two processes that hear of changes by themselves, the second with hardly any memory; the third remembers nothing.
    services = [
      first,
      await startService({ ...options, key: first.key, freshMs: 1_000, cacheBytes: 20_000 }),
      await startService({ ...options, key: first.key }),
    ]
  })
  afterAll(async () => {
    for (const service of services ?? []) await service.stop()
    await database?.drop()
  })

  test('are those of the tables, under writes, forks, restarts, repairs and rebuilds', {
    timeout: STEPS * 15_000,
  }, async () => {
    const random = randomOf(SEED)
    let chain: Chain = mine([], fullBlocks(FINAL, SEED))
    let running = await start()
    await running.aggregator.append([asRange('ethereum', chain)])
    let asking = true
    let job = 0
    const questions: string[] = []
    const ask = async () => {
      while (asking) {
        const question = questionOf(random, now)
        questions.push(question)
        await Promise.all(services.slice(0, 2).map(({ get }) => get(question)))
      }
    }
    for (let step = 0; step < STEPS; step++) {
      now = (chain.at(-1)?.timestamp ?? 0) + random.between(0, 30)
      asking = true
      const askers = [ask(), ask()]
      for (let acts = random.between(1, 4); acts > 0; acts--) {
        const kind = random.pick(['grow', 'grow', 'fork', 'restate', 'restart'])
        if (kind === 'restart') {
          await running.stop()
          running = await start()
        } else if (kind === 'restate') {
          const from = random.between(0, FINAL - 1)
          const isStated = (index: number) => from <= index && index < Math.min(FINAL, from + 5)
          chain = chain.map((block, index) => (isStated(index) ? { ...block, ticks: block.ticks.slice(1) } : block))
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
      for (const question of new Set(questions.splice(0).slice(-20))) {
        const [one, two, bare] = await Promise.all(services.map(({ get }) => get(question)))
        expect({ question, ...rows(one) }).toEqual({ question, ...rows(bare) })
        expect({ question, ...rows(two) }).toEqual({ question, ...rows(bare) })
      }
    }
    await running.stop()

    async function start() {
      const history = inProcessLog<Restatement>({ nextOffset: 0 })
      const aggregator = await startAggregator(database.client, { network: 'ethereum', history })
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
  const pool = POOLS[random.between(0, POOLS.length - 1)]?.id
  const interval = random.pick(['1s', '7s', '1m', '7m', '45m', '1h', '5h', '1d', '86399s'])
  const end = random.chance(0.5) ? '' : `&to=${new Date((now - random.between(0, 200_000)) * 1_000).toISOString()}`
  const fill = random.pick(['previous', 'previous', 'none'])
  const price = random.pick(['execution', 'spot'])
  return `/v0/candles?pool=${pool}&interval=${interval}&limit=${random.between(1, 100)}&fill=${fill}&price=${price}${end}`
}

function rows({ status, body }: Reply | undefined = { status: 0, headers: new Headers(), body: undefined }) {
  return { status, body }
}
