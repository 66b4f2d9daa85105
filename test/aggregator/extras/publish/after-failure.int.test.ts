/** Publications after a failure or a crash: of a first publication, of a retraction, of an overwrite whose statements came late. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { PublishSink } from '../../../../aggregator/extras/publish/publication.ts'
import { truncateToCheckpoint } from '../../../../aggregator/ledger/checkpoint.ts'
import { inProcessLog } from '../../../../infra/kafka/in-process.ts'
import type { RangeOverwrite } from '../../../../ingest/model/message.ts'
import type { Pool } from '../../../../ingest/model/pool.ts'
import { asBlocks, asRestatement, blockPlan, type Chain, mine, POOLS } from '../../../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { until } from '../../../support/until.ts'
import { networkOf, startAggregator } from '../../running.ts'
import { Died, intercepted } from '../../statements.ts'
import { expectAsStored, type FoldedTopics, foldTopics, rowsOfFolded } from './folded-topics.ts'

const KINDS = new Set(['ticks', 'pools', 'candles'] as const)
const PLANS = fc.sample(blockPlan({ full: true }), { numRuns: 20, seed: 11 }).map((plan, index) => ({
  ...plan,
  secondsLater: 5,
  ...(index === 0 && { pools: POOLS }),
}))

describe.skipIf(withoutClickHouse)('publications after a failure', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database?.drop())

  const untilPublished = (network: ReturnType<typeof networkOf>, folded: FoldedTopics) =>
    until(
      () => expectAsStored(database.client, network, rowsOfFolded(folded), 'published').then(() => true),
      'everything is published',
      20_000,
    )

  /** The client of a process: none of its statements is heard after its death. */
  const killedBy = (death: AbortSignal) =>
    intercepted(database.client, async (send) => {
      if (death.aborted) throw new Died('The process is dead.')
      return send()
    })

  test('the blocks below a fork that came before the first publication are published', async () => {
    const network = networkOf('fork before the first publication')
    const { broker, folded, publish } = awayBroker()
    const base = mine([], PLANS.slice(0, 8))
    const aggregator = await startAggregator(database.client, { network, publish })
    await aggregator.append(asBlocks(network, base))
    await aggregator.append(asBlocks(network, mine(base.slice(0, 6), PLANS.slice(8, 12), 'branch').slice(6)))
    broker.isAway = false
    await untilPublished(network, folded)
    await aggregator.stop()
  })

  test('the blocks that were stored before a restart are published', async () => {
    const network = networkOf('restart before the first publication')
    const { broker, folded, publish } = awayBroker()
    const atVenue = (pools: readonly Pool[]) => pools.map((pool) => ({ ...pool, venue: 'sushi' as const }))
    const plans = PLANS.slice(0, 12).map((plan) => ({ ...plan, pools: atVenue(plan.pools) }))
    const chain = mine([], plans)
    const first = await startAggregator(database.client, { network, publish })
    await first.append(asBlocks(network, chain.slice(0, 8)))
    await first.stop()
    const second = await startAggregator(database.client, { network, publish })
    await second.append(asBlocks(network, chain.slice(8)))
    broker.isAway = false
    await untilPublished(network, folded)
    await second.stop()
    const pools = folded.publications.flatMap(({ pools, ticks, candles }) => [...pools, ...ticks, ...candles])
    expect(new Set(pools.map(({ pool }) => pool?.venue))).toStrictEqual(new Set(['sushi']))
  })

  test('a branch that a crash left retracted is published again when it comes back', async () => {
    const network = networkOf('a branch comes back')
    const folded = foldTopics()
    const publish = publishTo(folded.sink)
    const chain = mine([], PLANS.slice(0, 9))
    const before = await startAggregator(database.client, { network, publish })
    await before.append(asBlocks(network, chain.slice(0, 8)))
    await untilPublished(network, folded)
    await before.stop()

    const death = new AbortController()
    const sink: PublishSink = {
      async publish(publication) {
        await folded.sink.publish(publication)
        if (publication.ticks.some(({ op }) => op === 'retract')) death.abort()
      },
    }
    const dying = { network, publish: publishTo(sink), death: death.signal }
    const forking = await startAggregator(killedBy(death.signal), dying)
    const branch = mine(chain.slice(0, 5), PLANS.slice(10, 14), 'branch')
    await forking.append(asBlocks(network, branch.slice(5))).catch(() => undefined)
    await forking.stop()
    expect(death.signal.aborted).toBe(true)

    const after = await startAggregator(database.client, { network, publish })
    await after.append(asBlocks(network, chain.slice(8)))
    await untilPublished(network, folded)
    await after.stop()
  })

  test('an overwrite is published in full where tombstones of a dead process come late', async () => {
    const network = networkOf('late tombstones')
    const { client } = database
    const folded = foldTopics()
    const publish = publishTo(folded.sink)
    const chain = mine([], PLANS.slice(0, 12))
    const stated = asRestatement(network, withoutLastTicks(chain.slice(4, 9)), { job: 1 })
    // The checkpoint stays at the fourth block: a start goes back to it.
    const disk = { sync: async () => {}, everyMs: 3_600_000 }
    const before = await startAggregator(client, { network, disk, publish })
    await before.append(asBlocks(network, chain.slice(0, 4)))
    await before.stop()

    const late = withLateTombstones(client)
    const history = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
    const dying = await startAggregator(late.client, { network, disk, publish, history, death: late.death })
    await dying.append(asBlocks(network, chain.slice(4)))
    await untilPublished(network, folded)
    history.append([stated]).catch(() => undefined)
    await late.untilHeld
    late.die()
    await dying.stop()
    await history.close()

    await truncateToCheckpoint(client, network)
    const again = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
    const next = await startAggregator(client, { network, disk, publish, history: again })
    await next.append(asBlocks(network, chain.slice(4)))
    // Twice each: by the process that died, and by this one.
    const inserted = () =>
      folded.publications.flatMap(({ ticks }) =>
        ticks.filter(({ op, block }) => op === 'insert' && block.number === chain.at(-1)?.number),
      )
    await until(
      async () => inserted().length === 2 * (chain.at(-1)?.ticks.length ?? 0),
      'the stream is published again',
    )
    await late.carryOut()
    await again.append([stated])
    await untilPublished(network, folded)
    await next.stop()
    await again.close()
    expect([...folded.ticks.values()].filter(({ op }) => op === 'retract')).not.toEqual([])
  })

  test('blocks that a power cut took off the ledger are taken back where another branch comes', async () => {
    const network = networkOf('blocks above the checkpoint')
    const { client } = database
    const folded = foldTopics()
    const publish = publishTo(folded.sink)
    const chain = mine([], PLANS.slice(0, 8))
    const branch = mine(chain.slice(0, 4), PLANS.slice(10, 13), 'branch')
    const disk = { sync: async () => {}, everyMs: 3_600_000 }
    const before = await startAggregator(client, { network, disk, publish })
    await before.append(asBlocks(network, chain.slice(0, 4)))
    await before.stop()
    const death = new AbortController()
    const cut = await startAggregator(killedBy(death.signal), { network, disk, publish, death: death.signal })
    await cut.append(asBlocks(network, chain.slice(4)))
    await untilPublished(network, folded)
    death.abort()
    await cut.stop()

    await truncateToCheckpoint(client, network)
    const next = await startAggregator(client, { network, disk, publish })
    await next.append(asBlocks(network, branch.slice(4)))
    await untilPublished(network, folded)
    await next.stop()
  })

  test('a job that a power cut took off the ledger leaves nothing published once the next job took it back', async () => {
    const network = networkOf('a job above the checkpoint')
    const { client } = database
    const folded = foldTopics()
    const publish = publishTo(folded.sink)
    const chain = mine([], PLANS.slice(0, 12))
    const disk = { sync: async () => {}, everyMs: 3_600_000 }
    const before = await startAggregator(client, { network, disk, publish })
    await before.append(asBlocks(network, chain.slice(0, 4)))
    await before.stop()

    const death = new AbortController()
    const history = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
    const dying = { network, disk, publish, history, death: death.signal }
    const cut = await startAggregator(killedBy(death.signal), dying)
    await cut.append(asBlocks(network, chain.slice(4)))
    await untilPublished(network, folded)
    await history.append([asRestatement(network, withOneMoreTick(chain.slice(4, 9)), { job: 1 })])
    await until(async () => cut.facts.some(({ kind }) => kind === 'restated'), 'the job is stored')
    death.abort()
    await cut.stop()
    await history.close()

    await truncateToCheckpoint(client, network)
    const again = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
    const next = await startAggregator(client, { network, disk, publish, history: again })
    await again.append([asRestatement(network, chain.slice(4, 9), { job: 2 })])
    await until(async () => next.facts.some(({ kind }) => kind === 'restated'), 'the next job is stored')
    await next.append(asBlocks(network, chain.slice(4)))
    await untilPublished(network, folded)
    await next.stop()
    await again.close()
  })
})

const publishTo = (sink: PublishSink) => ({ sink, kinds: KINDS, finality: 'instant' as const })

/** A sink that refuses new swaps until the broker is back; a fork and a start wait for what they publish. */
function awayBroker() {
  const broker = { isAway: true }
  const folded = foldTopics()
  const sink: PublishSink = {
    async publish(publication) {
      if (broker.isAway && publication.ticks.some(({ op }) => op === 'insert')) throw new Error('The broker is away.')
      await folded.sink.publish(publication)
    },
  }
  return { broker, folded, publish: publishTo(sink) }
}

function withoutLastTicks(chain: Chain): Chain {
  return chain.map((block) => ({ ...block, ticks: block.ticks.slice(0, -1) }))
}

/** A swap that is not on the chain, in each block that has some. */
function withOneMoreTick(chain: Chain): Chain {
  return chain.map((block) => {
    const last = block.ticks.at(-1)
    return last ? { ...block, ticks: [...block.ticks, { ...last, logIndex: last.logIndex + 5 }] } : block
  })
}

/** The client of a process whose tombstones of swaps are under way when it dies. */
function withLateTombstones(client: TestDatabase['client']) {
  const death = new AbortController()
  const held: (() => Promise<unknown>)[] = []
  let isHeld = () => {}
  const untilHeld = new Promise<void>((resolve) => {
    isHeld = resolve
  })
  return {
    death: death.signal,
    die: () => death.abort(),
    untilHeld,
    carryOut: () => Promise.all(held.map((send) => send())),
    client: intercepted(client, async (send, _, [options]) => {
      if (death.signal.aborted) throw new Died('The process is dead.')
      const { query, query_params } = options as { query: string; query_params?: { table?: string } }
      if (!query.includes('is_deleted') || query_params?.table !== 'ticks') return send()
      held.push(send)
      isHeld()
      return new Promise((_, reject) =>
        death.signal.addEventListener('abort', () => reject(new Died('The process is dead.'))),
      )
    }),
  }
}
