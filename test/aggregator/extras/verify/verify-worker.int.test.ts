/** The permanent verification finds what is wrong, resumes where it was, wraps around, and reads little at a time. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readVerification } from '../../../../aggregator/extras/verify/position.ts'
import type { VerifyShare } from '../../../../aggregator/extras/verify/verify-worker.ts'
import { type JobRequest, openJob, readJob } from '../../../../aggregator/jobs/job.ts'
import type { AggregatorFact } from '../../../../aggregator/ledger/fact.ts'
import type { NetworkName } from '../../../../ingest/model/network.ts'
import { asBlocks, type Chain, fullBlocks, mine, POOLS } from '../../../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../../support/clickhouse.ts'
import { inSoak } from '../../../support/sample.ts'
import { until } from '../../../support/until.ts'
import { networkOf, type Running, startAggregator } from '../../running.ts'
import { intercepted, queryOf } from '../../statements.ts'

const network = networkOf('ethereum')
const CHAIN = mine([], fullBlocks(60, 11))
const [A, B] = POOLS.map(({ id }) => id)
/** Slices of a few rows: most pools are cut by them. */
const bounds = { ticks: 7, pools: 2, blocks: 4 }
const flatOut: VerifyShare = { share: 1, bounds, recheckMs: 20, saveMs: 0, restMs: 100 }

const SLICES = [
  queryOf('aggregator/extras/verify/slice_end.sql'),
  queryOf('aggregator/extras/verify/ledger_stretch.sql'),
]

type Fact<Kind extends AggregatorFact['kind']> = Extract<AggregatorFact, { kind: Kind }>

describe.skipIf(withoutClickHouse)('the permanent verification', () => {
  let database: TestDatabase
  const running: Running[] = []

  beforeEach(async () => {
    database = await freshDatabase()
  })
  afterEach(async () => {
    for (const aggregator of running.splice(0)) await aggregator.stop()
    await database?.drop()
  })

  async function start(verify?: VerifyShare, client = database.client): Promise<Running> {
    const aggregator = await startAggregator(client, { network, verify })
    running.push(aggregator)
    return aggregator
  }
  const factsOf = <Kind extends AggregatorFact['kind']>({ facts }: Running, kind: Kind) =>
    facts.filter((fact): fact is Fact<Kind> => fact.kind === kind)
  const passes = async (aggregator: Running, count: number) => {
    await until(async () => factsOf(aggregator, 'verify-passed').length >= count || undefined, `${count} passes`)
    return factsOf(aggregator, 'verify-passed')[count - 1]
  }
  const command = (query: string) => database.client.command({ query })

  test('compares all that is final, again and again, and finds nothing where nothing is wrong', inSoak, async () => {
    const aggregator = await start(flatOut)
    await aggregator.append(finalBlocks(network, CHAIN))
    await passes(aggregator, 2)
    expect(factsOf(aggregator, 'verify-mismatch')).toEqual([])
    expect(factsOf(aggregator, 'verify-failed')).toEqual([])
    const first = factsOf(aggregator, 'verified')
    expect(first.filter(({ phase }) => phase === 'candles').length).toBeGreaterThan(10)
    expect(first.filter(({ phase }) => phase === 'blocks').length).toBeGreaterThan(5)
  })

  test('finds a wrong candle, a missing one and one without ticks, and each named command repairs what it names', async () => {
    await (await start()).append(finalBlocks(network, CHAIN))
    await running.pop()?.stop()
    const at = async (pool: string | undefined, resolution: number) => {
      const answer = await database.client.query({
        query: `SELECT toUnixTimestamp(min(time)) AS start FROM candles FINAL WHERE pool = '${pool}' AND resolution = ${resolution}`,
        format: 'JSONEachRow',
      })
      return (await answer.json<{ start: number }>())[0]?.start ?? 0
    }
    const spoil = (where: string, change: string) =>
      command(
        `INSERT INTO candles SELECT * REPLACE (${change}, version + 1 AS version) FROM candles FINAL WHERE ${where}`,
      )
    const [minute, second] = [await at(A, 60), await at(B, 1)]
    await spoil(
      `pool = '${A}' AND resolution = 60 AND toUnixTimestamp(candles.time) = ${minute}`,
      'high_ulps + 5 AS high_ulps',
    )
    await spoil(`pool = '${B}' AND resolution = 1 AND toUnixTimestamp(candles.time) = ${second}`, '0 AS trades')
    await spoil(
      `pool = '${B}' AND resolution = 1 AND toUnixTimestamp(candles.time) = ${second}`,
      '1 AS trades, time + 1 AS time',
    )
    const aggregator = await start(flatOut)
    await passes(aggregator, 1)
    const found = factsOf(aggregator, 'verify-mismatch')
    const name = (pool: string | undefined, resolution: number, start: number) =>
      `the candle of ${pool}, ${resolution} s, from ${timeOf(start)} on`
    expect(new Set(found.map(({ where }) => where))).toEqual(
      new Set([name(A, 60, minute), name(B, 1, second), name(B, 1, second + 1)]),
    )
    expect(found.find(({ where }) => where === name(B, 1, second))?.stored).toBe('none')
    expect(found.find(({ where }) => where === name(B, 1, second + 1))?.counted).toBe('none')
    const stored = await until(async () => {
      const row = await readVerification(database.client, network)
      return row && row.passes > 0 ? row : undefined
    }, 'the pass is saved')
    expect(stored.passedMismatches).toBe(3)
    expect(stored.newest).toContain('Repair: npm run rebuild -- --network ethereum --pool 0x')
    for (const { command } of found) await rebuildBy(command)
    const before = factsOf(aggregator, 'verify-passed').length
    const repaired = await passes(aggregator, before + 2)
    expect(repaired?.mismatches).toBe(0)
    // Saved after it is reported.
    await expect.poll(async () => (await readVerification(database.client, network))?.newest).toBe('')
  })

  /** As `npm run rebuild` reads it. */
  async function rebuildBy(command: string): Promise<void> {
    const [, pool = '', from = '', to = ''] = /--pool (\S+) --from (\S+) --to (\S+)$/.exec(command) ?? []
    const request: JobRequest = {
      ...{ network, concurrency: 1, pools: [pool as `0x${string}`] },
      ...{ from: Date.parse(from) / 1000, to: Date.parse(to) / 1000 },
    }
    const { id } = await openJob(database.client, request, 'rebuild')
    const state = async () => (await readJob(database.client, network, id))?.state
    expect(await until(async () => ((await state()) === 'open' ? undefined : state()), 'the rebuild has ended')).toBe(
      'done',
    )
  }

  test('finds a block without one of its ticks, and ticks of a block that is not on the ledger', async () => {
    await (await start()).append(finalBlocks(network, CHAIN))
    await running.pop()?.stop()
    const [gone, extra] = [CHAIN[10]?.number ?? 0, (CHAIN[20]?.number ?? 0) + 1]
    await command(
      `INSERT INTO ticks SELECT * REPLACE (1 AS is_deleted, version + 1 AS version) FROM ticks FINAL WHERE block = ${gone} LIMIT 1`,
    )
    await command(
      `INSERT INTO blocks SELECT * REPLACE (1 AS is_deleted, version + 1 AS version) FROM blocks FINAL WHERE number = ${extra}`,
    )
    const aggregator = await start(flatOut)
    await passes(aggregator, 1)
    const blocks = factsOf(aggregator, 'verify-mismatch').filter(({ what }) => what === 'block')
    expect(blocks.map(({ where, command }) => [where, command])).toEqual(
      [gone, extra].map((block) => [
        `block ${block}`,
        `npm run backfill -- --network ethereum --from-block ${block} --to-block ${block} --again`,
      ]),
    )
    expect(blocks[1]?.stored).toBe('not on the ledger')
  })

  test('resumes after a restart where it was', async () => {
    const first = await start(flatOut)
    await first.append(finalBlocks(network, CHAIN))
    await until(async () => factsOf(first, 'verified').length >= 8 || undefined, 'some slices')
    await running.pop()?.stop()
    const saved = await readVerification(database.client, network)
    const isAhead = saved?.passes !== 0 || saved.pool !== '' || saved.phase !== 'candles'
    expect(isAhead).toBe(true)
    const asked: Record<string, unknown>[] = []
    const client = intercepted(database.client, (send, _, [options]) => {
      const { query, query_params = {} } = options as { query: string; query_params?: Record<string, unknown> }
      if (SLICES.some((slice) => slice.test(query))) asked.push(query_params)
      return send()
    })
    const second = await start(flatOut, client)
    await until(async () => asked.length > 0 || undefined, 'it has begun')
    const { phase, pool = '', second: from = 0, block = 0 } = saved ?? {}
    expect(asked[0]).toMatchObject(
      phase === 'blocks' ? { from: block } : phase === 'candles' ? { pool, second: from } : {},
    )
    await passes(second, 1)
  })
})

function timeOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000', '')
}

/** All but the newest two are final. */
function finalBlocks(network: NetworkName, chain: Chain) {
  return asBlocks(network, chain).map((message) => ({ ...message, finalized: Math.max(0, message.number - 2) }))
}
