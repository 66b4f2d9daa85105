/** Restatements through the real aggregator: what a job says of final blocks is what counts. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aggregate } from '../../aggregator/aggregate.ts'
import { readCoverage } from '../../aggregator/coverage.ts'
import { positionAfterStored } from '../../aggregator/resume.ts'
import { inProcessLog } from '../../infra/log/in-process.ts'
import type { Message, Restatement } from '../../ingest/message.ts'
import type { NetworkName } from '../../ingest/network.ts'
import type { PoolId } from '../../ingest/pool.ts'
import { asBlocks, blockPlan, type Chain, FIRST_BLOCK, mine, POOLS } from '../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { rowsOf } from '../support/rows.ts'

const NETWORK: NetworkName = 'ethereum'
const [plans] = fc.sample(fc.array(blockPlan({ full: true }), { minLength: 12, maxLength: 12 }), {
  numRuns: 1,
  seed: 7,
})
const truth: Chain = mine([], plans ?? [])

/** What a node left out and made up: the chain as a faulty answer told it. */
const wrong: Chain = truth.map((block, index) => {
  if (index === 4) return { ...block, ticks: [], liquidity: [] }
  if (index === 6) return { ...block, ticks: block.ticks.map((tick) => ({ ...tick, logIndex: tick.logIndex + 500 })) }
  return block
})

function restatementOf(chain: Chain, job: number, pools?: readonly PoolId[]): Restatement {
  const [first, last] = [chain[0], chain.at(-1)]
  if (!first || !last) throw new Error('A restatement has at least one block.')
  const isWanted = ({ pool }: { pool: PoolId }) => pools === undefined || pools.includes(pool)
  return {
    kind: 'restatement',
    network: NETWORK,
    job,
    pools,
    from: first.number,
    to: last.number,
    firstTimestamp: first.timestamp,
    timestamp: last.timestamp,
    hash: last.hash,
    blocks: chain.map(({ parentHash: _, ...block }) => ({
      ...block,
      ticks: block.ticks.filter(isWanted),
      liquidity: block.liquidity.filter(isWanted),
    })),
  }
}

async function start({ client }: TestDatabase) {
  const stopping = new AbortController()
  const position = await positionAfterStored(client, NETWORK)
  const log = inProcessLog<Message>({ nextOffset: position.offset })
  const history = inProcessLog<Restatement>({ nextOffset: 0 })
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

  test('brings what was left out, and buries what was made up, at every resolution', async () => {
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

  test('repeated, or replayed over by the stream, changes nothing', async () => {
    const running = await start(database)
    await running.history.append([restatementOf(truth.slice(3, 8), 1)])
    await running.log.append(asBlocks(NETWORK, truth))
    await expectClean()
    await running.stop()
  })

  test('of some pools says nothing of the others', async () => {
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

  test('goes on while the stream grows, and neither waits for ever', async () => {
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
