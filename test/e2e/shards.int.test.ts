/** Tables over two shards say what those of a single server say, row by row and answer by answer. */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { applyRetention, readHorizon } from '../../aggregator/candles/retention.ts'
import { verify } from '../../aggregator/extras/verify/verify.ts'
import { lowerCoverage, readCoverage } from '../../aggregator/history/coverage.ts'
import { openJob, readJob } from '../../aggregator/jobs/job.ts'
import { applyDurability } from '../../aggregator/store/durability.ts'
import { exportHistory } from '../../api/extras/export/export.ts'
import { openMarket } from '../../api/market/market.ts'
import { shardDatabaseOf } from '../../infra/clickhouse/cluster.ts'
import { openStore, type Store } from '../../infra/clickhouse/store.ts'
import { inProcessLog } from '../../infra/kafka/in-process.ts'
import type { RangeOverwrite } from '../../ingest/model/message.ts'
import { NETWORKS } from '../../ingest/model/networks.ts'
import { startAggregator } from '../aggregator/running.ts'
import { MARKET_TABLES, tablesOf } from '../aggregator/tables.ts'
import { Candles, Pools } from '../api/body.ts'
import { minute, NETWORKS_SERVED, POOLS as PAIRS, storeScenario, TIP } from '../api/scenario.ts'
import { type Service, startService } from '../api/service.ts'
import { tellStory } from '../chaos/story.ts'
import { randomOf } from '../simulation/random.ts'
import { run, type Script, temporaryFolder } from '../support/candlepool.ts'
import { POOLS } from '../support/chain.ts'
import { withoutClickHouse } from '../support/clickhouse.ts'
import { insertMany } from '../support/pool-rows.ts'
import { inSoak } from '../support/sample.ts'
import { type Shards, startShards } from '../support/shards.ts'
import { until } from '../support/until.ts'

const SEED = Number(process.env['SEED'] ?? 1)
const STEPS = 30
/** Its pools are on both shards. */
const network = 'polygon'
const ALL = { from: 0, to: 2 ** 32 - 1, pools: undefined }
const never = new AbortController().signal

/** A database is not dropped by those who are in it. */
const IN_NONE = { 'X-ClickHouse-Database': 'default' }

/** Rows without what depends on the moment or the version. */
const OTHER_TABLES = {
  coverage: 'SELECT * EXCEPT version FROM coverage FINAL ORDER BY ALL',
  jobs: 'SELECT * EXCEPT (version, created) FROM jobs FINAL ORDER BY ALL',
  owners: 'SELECT network, epoch FROM owners FINAL ORDER BY ALL',
  changes: 'SELECT DISTINCT network, pool, block FROM changes WHERE block > 0 ORDER BY ALL',
  market_pools: 'SELECT * FROM market_pools ORDER BY ALL',
  market_ticks: 'SELECT * FROM market_ticks ORDER BY ALL',
  market_candles: 'SELECT * FROM market_candles ORDER BY ALL',
} as const

describe.skipIf(withoutClickHouse)('over two shards', () => {
  let shards: Shards
  let over: Store
  let single: Store
  let removeFolder: () => Promise<void>
  const services: Service[] = []

  beforeAll(async () => {
    const folder = await temporaryFolder()
    removeFolder = folder.remove
    shards = await startShards(2)
    single = await openStore({ store: { kind: 'embedded' } }, folder.path, () => {})
    over = await openStore({ store: shards.config }, folder.path, () => {})
  })
  afterAll(async () => {
    for (const service of services) await service.stop()
    await over?.close()
    await single?.close()
    await shards?.stop()
    await removeFolder?.()
  })

  test('a history of reorgs, restarts, backfills and a rebuild leaves the same rows', async () => {
    for (const store of [single, over]) await live(store)
    await expectSameRows()
    for await (const wrong of verify(over.owner, { network, signal: never })) expect.fail(JSON.stringify(wrong))
  })

  test('an export has the same files', inSoak, async () => {
    const { path: folder, remove } = await temporaryFolder()
    const exported = async ({ owner, reader }: Store, what: 'ticks' | 'candles', interval: number) => {
      const networks = [NETWORKS[network]]
      const market = openMarket({ reader, networks, clock: () => new Date(), freshMs: 0 })
      const out = join(folder, randomUUID())
      const request = {
        network: NETWORKS[network],
        view: undefined,
        what,
        interval,
        price: 'spot',
        format: 'ndjson',
      } as const
      const { days, rows } = await exportHistory({ client: owner, market, folder: out, signal: never }, request, {})
      return { rows, days: days.map(({ file, sha256 }) => [file, sha256]) }
    }
    for (const [what, interval] of [
      ['ticks', 1],
      ['candles', 60],
      ['candles', 420],
    ] as const) {
      const expected = await exported(single, what, interval)
      expect(expected.rows).toBeGreaterThan(10)
      expect(await exported(over, what, interval), `${what} of ${interval} s`).toEqual(expected)
    }
    await remove()
  })

  test('a candle that is wrong on either shard is found, and is right after a rebuild', inSoak, async () => {
    const pools = await rowsOf(over, `SELECT any(pool) AS pool FROM candles GROUP BY _shard_num`)
    expect(pools.length).toBe(2)
    for (const row of pools) {
      const { pool } = JSON.parse(row) as { pool: string }
      await over.owner.command({
        query: `INSERT INTO candles SELECT * REPLACE (close_ulps + 1 AS close_ulps, version + 1 AS version) FROM candles FINAL
          WHERE network = {network:String} AND pool = {pool:String} ORDER BY candles.resolution, candles.time LIMIT 1`,
        query_params: { network, pool },
      })
    }
    const found = []
    for await (const wrong of verify(over.owner, { network, signal: never })) found.push(wrong)
    expect(found.length).toBe(2)
    for (const store of [single, over]) {
      const life = await begin(store)
      await rebuildAll(store)
      await life.stop()
    }
    await expectSameRows()
  })

  test('a pool has its rows on one shard, and both have pools', async () => {
    const tables = ['ticks', 'candles', 'pools', 'liquidity_changes', 'pool_balances', 'pool_balance_hours']
    const each = tables.map((table) => `SELECT network, pool, _shard_num AS shard FROM ${table}`)
    const query = `SELECT toString(groupUniqArray(shard)) AS shards FROM (${each.join(' UNION ALL ')}) GROUP BY network, pool`
    expect(new Set(await rowsOf(over, query))).toEqual(new Set(['{"shards":"[1]"}', '{"shards":"[2]"}']))
  })

  test('a symbol of many tokens has its valuable pools of both', async () => {
    const { address, symbol } = PAIRS.main.token1
    for (const { owner } of [single, over]) {
      await storeScenario(owner)
      await insertMany(owner, { symbol: 'MANY', tokens: 200, pools: 200, other: [address, symbol] })
      await owner.command({
        query: `INSERT INTO pool_balance_hours (network, pool, hour, block, balance0, balance1, version, is_deleted)
          SELECT network, pool, toStartOfHour(time), block, 1, if(cityHash64(pool) % 8 = 0, 20e18, 1), version, 0 FROM pools
          WHERE network = 'ethereum' AND token0_symbol = 'MANY'`,
      })
    }
    const sound = await rowsOf(
      over,
      `SELECT pool AS id, toString(any(_shard_num)) AS shard FROM pools WHERE token0_symbol = 'MANY' AND cityHash64(pool) % 8 = 0 GROUP BY pool`,
    )
    expect(new Set(sound.map((row) => JSON.parse(row).shard))).toEqual(new Set(['1', '2']))
    const ids = sound.map((row) => JSON.parse(row).id as string).toSorted()
    for (const store of [single, over]) {
      const { body } = await (await serve(store)).get('/v0/pools?symbol=MANY-WETH')
      expect(
        Pools.parse(body)
          .data.map(({ id }) => id)
          .toSorted(),
      ).toEqual(ids)
    }
  })

  test('candles that the store merges are those of a single server', async () => {
    for (const { owner } of [single, over]) await storeScenario(owner)
    const question = `/v0/candles?pool=${PAIRS.main.id}&interval=86399s&limit=5`
    const [alone, both] = await Promise.all([serve(single), serve(over)])
    const { body } = await alone.get(question)
    expect(Candles.parse(body).data.length).toBeGreaterThan(0)
    expect((await both.get(question)).body).toEqual(body)
  })

  test('every question has the same answer', inSoak, async () => {
    for (const { owner } of [single, over]) await storeScenario(owner)
    await expectSameRows()
    // One asks the tables each time, one answers from memory where it can.
    const [alone, ...others] = await Promise.all([serve(single), serve(over), serve(over, 1_000)])
    for (const question of QUESTIONS) {
      const [wanted, ...found] = await Promise.all([alone, ...others].map((service) => answerOf(service, question)))
      expect(wanted?.status, question).toBe(200)
      for (const answer of found) expect(answer, question).toEqual(wanted)
      expect(await answerOf(others[1] ?? alone, question), `${question}, again`).toEqual(wanted)
    }
  })

  test('commands find the tables', async () => {
    const environment = { ...shards.environment, NETWORKS: network }
    const verifying = run('verify', environment, ['--network', network])
    expect(await verifying.exited, verifying.output()).toBe(0)
    expect(verifying.output()).toContain(`${network}: everything agrees.`)
  })

  test('a backup is restored, each share on its shard', inSoak, async () => {
    const command = async (script: Script) => {
      const process = run(script, shards.environment, ['nightly'])
      return { code: await process.exited, output: process.output() }
    }
    expect(await command('backup')).toMatchObject({ code: 0 })
    const refused = await command('restore')
    expect(refused).toMatchObject({ code: 1, output: expect.stringContaining('The tables hold something already') })
    for (const server of over.servers) {
      for (const database of [shards.config.database, shardDatabaseOf(shards.config.database)])
        await server.command({ query: `DROP DATABASE ${database} SYNC`, http_headers: IN_NONE })
    }
    expect(await command('restore')).toMatchObject({ code: 0 })
    await expectSameRows()
  })

  test('a statement that changes a whole table is sent to each shard', async () => {
    for (const server of over.servers) {
      await applyRetention(server, { ticks: 3_650, candles: { 1: 3_650 } })
      await applyDurability(server, 'every write')
    }
    expect((await readHorizon(over.owner))()).toBeGreaterThan(0)
    const told = "engine_full LIKE '%TTL%' AND engine_full LIKE '%fsync_after_insert = 1%'"
    for (const server of over.servers) {
      const answer = await server.query({
        query: `SELECT name FROM system.tables WHERE database = currentDatabase() AND ${told} ORDER BY name`,
        format: 'JSONEachRow',
      })
      expect(await answer.json()).toEqual([{ name: 'candles' }, { name: 'pool_balances' }, { name: 'ticks' }])
    }
    const covered = () => readCoverage(over.owner, network, undefined)
    expect((await covered()).length).toBeGreaterThan(0)
    const genesis = { number: 0, hash: `0x${'0'.repeat(64)}`, timestamp: 0 } as const
    await lowerCoverage(over.owner, over.shards, network, genesis)
    expect(await covered()).toEqual([])
  })

  test('the rows of a single server are brought over', inSoak, async () => {
    const old = await startShards(1)
    const next = await startShards(2, [Number(old.address.split(':')[1])])
    const { username, password, database } = old.config
    const from = await openStore({ store: { ...old.config, cluster: undefined } }, '', () => {})
    const to = await openStore({ store: { ...next.config, database: 'moved' } }, '', () => {})
    await storeScenario(from.owner)
    const tables = await rowsOf(
      from,
      `SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree'
       AND name NOT IN ('migrations', 'retention', 'changes')`,
    )
    for (const row of tables) {
      const { name } = JSON.parse(row) as { name: string }
      await to.owner.command({
        query: `INSERT INTO moved.${name} SELECT * FROM remote('${old.address}', ${database}, ${name}, '${username}', '${password}')`,
      })
    }
    const [found, wanted] = await Promise.all([tablesOf(to.owner), tablesOf(from.owner)])
    expect(found('ethereum')).toEqual(wanted('ethereum'))
    expect(found('ethereum').ticks.length).toBeGreaterThan(0)
    for await (const wrong of verify(to.owner, { network: 'ethereum', signal: never }))
      expect.fail(JSON.stringify(wrong))
    await to.close()
    await from.close()
    await next.stop()
    await old.stop()
  })

  async function serve({ reader, accounts }: Store, freshMs = 0): Promise<Service> {
    const networks = [...NETWORKS_SERVED, NETWORKS.base, NETWORKS.optimism]
    const clock = () => new Date(TIP * 1_000)
    const service = await startService({ client: reader, accounts, networks, clock, freshMs })
    services.push(service)
    return service
  }

  async function expectSameRows() {
    const [found, wanted] = await Promise.all([tablesOf(over.owner), tablesOf(single.owner)])
    for (const name of [network, 'ethereum', 'arbitrum'] as const) {
      for (const table of MARKET_TABLES) expect(found(name)[table], table).toEqual(wanted(name)[table])
    }
    expect(wanted(network).candles.length).toBeGreaterThan(100)
    for (const [table, query] of Object.entries(OTHER_TABLES)) {
      const rows = await rowsOf(single, query)
      expect(await rowsOf(over, query), table).toEqual(rows)
      expect(rows.length, table).toBeGreaterThan(0)
    }
  }
})

const at = (minutes: number) => new Date(minute(minutes) * 1_000).toISOString()

/** Times of the story are after the scenario's now: requests name them. */
const QUESTIONS = [
  ...POOLS.flatMap(({ id }) => [
    ...['1s', '7m', '86399s'].map(
      (interval) => `/v0/candles?pool=${id}&networks=${network}&interval=${interval}&limit=100&to=2024-02-02`,
    ),
    `/v0/candles?pool=${id}&networks=${network}&interval=1h&limit=100&fill=none&price=spot&to=2024-02-20`,
    `/v0/ticks?pool=${id}&networks=${network}&limit=1000&from=2024-01-01&to=2024-04-01`,
  ]),
  ...['5m', '45s', '4h'].map((interval) => `/v0/candles?symbol=WETH-USDC&interval=${interval}&limit=100`),
  `/v0/candles?symbol=USDC-WETH&interval=1m&from=${at(0)}&to=${at(100)}&limit=100`,
  `/v0/candles?symbol=WETH-DAI&interval=1h&networks=ethereum,arbitrum`,
  `/v0/candles?pool=${PAIRS.v4.id}&interval=1m`,
  `/v0/ticks?symbol=WETH-USDC&limit=1000`,
  `/v0/ticks?pool=${PAIRS.side.id}&from=${at(0)}&to=${at(100)}`,
  ...['WETH-USDC', 'ETH-DAI', 'WBTC-WETH', 'PEPE-WETH'].map((symbol) => `/v0/pools?symbol=${symbol}`),
  '/v0/pools/top?per=pair',
  '/v0/pools/new',
  '/v0/health',
]

/** Without what differs from answer to answer, the address of the documentation among it. */
async function answerOf(service: Service, question: string) {
  const { status, headers, body } = await service.get(question)
  const names = [...headers.keys()].filter((name) => /^(x-market|cache-control)/.test(name))
  const said = names.map((name) => [name, headers.get(name)])
  return { status, body: JSON.stringify(body).replaceAll(service.url, ''), headers: said }
}

async function rowsOf({ owner }: Pick<Store, 'owner'>, query: string): Promise<string[]> {
  const answer = await owner.query({ query, format: 'JSONStringsEachRow' })
  return (await answer.text()).trim().split('\n')
}

async function begin({ owner, shards }: Store) {
  const history = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
  return { history, ...(await startAggregator(owner, { network, history, shards })) }
}

/** The same story for every listener. */
async function live(store: Store): Promise<void> {
  const random = randomOf(SEED)
  const story = tellStory(network, random, { withRange: true })
  let life = await begin(store)
  await life.append(story.opening())
  for (let step = 0; step < STEPS; step++) {
    const act = random.pick(['grow', 'grow', 'fork', 'replay', 'restart', 'restate'])
    if (act === 'grow') await life.append(story.grow())
    if (act === 'fork') await life.append(story.fork().messages)
    if (act === 'replay') await life.append(story.replay())
    if (act === 'restate') await life.history.append(story.restatement())
    if (act !== 'restart') continue
    expect(await life.stop()).toBe(undefined)
    life = await begin(store)
  }
  await rebuildAll(store)
  expect(await life.stop()).toBe(undefined)
}

async function rebuildAll({ owner }: Store): Promise<void> {
  const { id } = await openJob(owner, { network, ...ALL, concurrency: 1 }, 'rebuild')
  const isDone = async () => ((await readJob(owner, network, id))?.state === 'done' ? true : undefined)
  await until(isDone, 'the rebuild is done')
}
