/** Every question that the aggregator and the API ask of a large table reads by its primary key, or by its index of blocks. */
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AuditStep } from '../../aggregator/extras/audit/audit.ts'
import { PUBLISHED_KINDS } from '../../aggregator/extras/publish/publication.ts'
import { verify } from '../../aggregator/extras/verify/verify.ts'
import { knownRanges } from '../../aggregator/history/known-ranges.ts'
import { openJob, readJob } from '../../aggregator/jobs/job.ts'
import { mergeParts } from '../../aggregator/maintenance/part-merges.ts'
import { createReread } from '../../aggregator/names/reread.ts'
import { storeNames } from '../../aggregator/store/stored-tokens.ts'
import { listKeys } from '../../api/accounts/keys.ts'
import { exportHistory } from '../../api/extras/export/export.ts'
import { openMarket } from '../../api/market/market.ts'
import { inProcessLog } from '../../infra/kafka/in-process.ts'
import { connectChain } from '../../infra/rpc/chain-client.ts'
import { V3_TOPICS } from '../../ingest/decode/decode-v3.ts'
import type { RangeOverwrite } from '../../ingest/model/message.ts'
import { NETWORKS } from '../../ingest/model/networks.ts'
import { FINALIZED, HEAD, LAST, startListening, startNodes } from '../aggregator/extras/audit/audited.ts'
import { networkOf, startAggregator } from '../aggregator/running.ts'
import { type Asked, queryOf, recorded } from '../aggregator/statements.ts'
import { buyEther, minute, NETWORKS_SERVED, POOLS, storeScenario, TIP } from '../api/scenario.ts'
import { startService } from '../api/service.ts'
import { temporaryFolder } from '../support/candlepool.ts'
import { asBlocks, asRestatement, fullBlocks, mine } from '../support/chain.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { insertMany } from '../support/pool-rows.ts'
import { DAY_POOL } from '../support/recorded.ts'
import { addressOf, block, openStore } from '../support/store.ts'
import { until } from '../support/until.ts'

/** How rows of each growing table are found: columns of its key, or another index. */
const LARGE: Record<string, { keys: readonly string[]; or?: readonly string[] }> = {
  blocks: { keys: ['network'] },
  ticks: { keys: ['network', 'pool'], or: ['by_block'] },
  candles: { keys: ['network', 'pool'], or: ['by_version'] },
  liquidity_changes: { keys: ['network', 'pool'], or: ['by_block'] },
  pool_balance_hours: { keys: ['network', 'pool'], or: ['by_block', 'by_version'] },
  changes: { keys: ['network'] },
  usage: { keys: ['key_hash'] },
  credit_claims: { keys: ['written'] },
  pool_bounds: { keys: ['network', 'pool_hash'] },
  pools_by_token: { keys: ['network', 'token'], or: ['by_written'] },
  tokens_by_symbol: { keys: ['network', 'symbol'] },
  token_names: { keys: ['network'], or: ['by_written'] },
}

/** A verification, a rebuild and a rewind ask for everything that there is of a network. */
const WHOLE = [
  /^SELECT pool, .* AS ticks,/,
  /^SELECT toFloat64\(min\(block\)\) AS first/,
  queryOf('aggregator/maintenance/candles_since.sql'),
  /^SELECT 1 FROM pools_by_token/,
]
/** Asked once, at the start: the newest pieces of every pool. */
const NEWEST = [queryOf('aggregator/ledger/candles_above_tip.sql'), queryOf('aggregator/extras/publish/open_at.sql')]

type Plan = { 'Node Type': string; Description?: string; Plans?: Plan[]; Indexes?: Index[] }
type Index = { Type: string; Name?: string; Keys?: string[]; Condition?: string }
type Read = { table: string; indexes: readonly Index[] }

describe.skipIf(withoutClickHouse)('the questions of the aggregator and the API', () => {
  let database: TestDatabase
  let scenario: TestDatabase
  const questions: { client: ClickHouseClient; asked: Asked }[] = []

  beforeAll(async () => {
    database = await freshDatabase()
    scenario = await freshDatabase()
    for (const [client, work] of [
      [database.client, (client: ClickHouseClient) => aggregatorAtWork({ ...database, client })],
      [scenario.client, apiAtWork],
    ] as const) {
      const recording = recorded(client)
      await work(recording.client)
      for (const asked of recording.asked.values()) questions.push({ client, asked })
    }
  })
  afterAll(() => Promise.all([database?.drop(), scenario?.drop()]))

  test('every .sql file was asked', () => {
    const asked = questions.map(({ asked }) => asked.query)
    const files = ['aggregator', 'api'].flatMap((stage) =>
      readdirSync(stage, { recursive: true, encoding: 'utf8' }).map((path) => `${stage}/${path}`),
    )
    const isAsked = (text: string) => asked.some((query) => query.includes(text))
    const isUnasked = (path: string) => path.endsWith('.sql') && !isAsked(readFileSync(path, 'utf8'))
    expect(files.filter(isUnasked)).toEqual([])
  })

  test('every question is answered by the primary key', async () => {
    const unfound: string[] = []
    let reads = 0
    for (const { client, asked } of questions) {
      for (const { table, indexes } of await readsOf(client, asked)) {
        const wanted = LARGE[table]
        if (!wanted) continue
        reads++
        const keys = keysOf(asked.query) ?? wanted.keys
        const primary = indexes.find(({ Type }) => Type === 'PrimaryKey')
        const isByKey = keys.every((key) => primary?.Keys?.includes(key))
        const isByOther = indexes.some(({ Name }) => Name !== undefined && wanted.or?.includes(Name))
        if (!isByKey && !isByOther) unfound.push(`${table}: ${asked.query}`)
      }
    }
    expect(unfound).toEqual([])
    expect(reads).toBeGreaterThan(40)
  })
})

function keysOf(query: string): readonly string[] | undefined {
  if (NEWEST.some((newest) => newest.test(query))) return ['network', 'resolution', 'time']
  return WHOLE.some((whole) => whole.test(query)) ? ['network'] : undefined
}

/** Parts and granules that ClickHouse would read, and the indexes that it would use. */
async function readsOf(client: ClickHouseClient, { query, parameters }: Asked): Promise<Read[]> {
  const question = /^(?:\s*--.*\n)*\s*(?:INSERT\s+INTO\s+\S+\s+)?((?:WITH|SELECT)[\s\S]*?)\s*(?:FORMAT \w+\s*)?$/.exec(
    query,
  )?.[1]
  if (question === undefined) return []
  const answer = await client.query({
    query: `EXPLAIN PLAN json = 1, indexes = 1, description = 1 ${question}`,
    query_params: parameters,
    format: 'TabSeparatedRaw',
  })
  const [{ Plan: plan }] = JSON.parse(await answer.text()) as [{ Plan: Plan }]
  return reads(plan)
}

function reads(plan: Plan): Read[] {
  const below = (plan.Plans ?? []).flatMap(reads)
  if (plan['Node Type'] !== 'ReadFromMergeTree') return below
  return [{ table: plan.Description?.split('.').at(-1) ?? '', indexes: plan.Indexes ?? [] }, ...below]
}

async function finish(audit: AuditStep): Promise<void> {
  while (await audit());
}

/** Live blocks, a fork, a restart, an audit with a repair, a rebuild and a verification. */
async function aggregatorAtWork(database: TestDatabase): Promise<void> {
  const { client } = database
  await storeRange(client)
  const nodes = await startNodes()
  try {
    const hidden = nodes.one.chain.logs.find(
      ({ topics, address, blockNumber }) =>
        topics[0] === V3_TOPICS.swap && address === DAY_POOL && Number(blockNumber) > FINALIZED - 100,
    )
    nodes.one.faults.hideLogs = (log) => log === hidden
    const listening = await startListening(database, [nodes.one, nodes.two])
    await listening.untilStored(HEAD)
    await finish(listening.audit())
    for (const { chain } of [nodes.one, nodes.two]) Object.assign(chain, { head: LAST, finalized: HEAD })
    await listening.untilStored(LAST)
    await finish(listening.audit())
    const { ethereum } = NETWORKS
    const { endpoints } = connectChain([nodes.one.url], { network: ethereum, headerProof: 'off' })
    await createReread(client, endpoints, { network: ethereum, shards: [client], report: () => {} })()
    const request = { network: 'ethereum', from: 0, to: 2 ** 32 - 1, pools: undefined, concurrency: 1 } as const
    const { id } = await openJob(client, request, 'rebuild')
    await until(
      async () => (await readJob(client, 'ethereum', id))?.state !== 'open' || undefined,
      'the rebuild has ended',
    )
    await listening.stop()
  } finally {
    await nodes.stop()
  }
  const network = networkOf('polygon')
  const base = mine([], fullBlocks(4, 5))
  // What the first one could not publish, the second one reads from the tables.
  let isAway = true
  const sink = {
    async publish() {
      if (isAway) throw new Error('The broker is away.')
    },
  }
  const publish = { sink, kinds: new Set(PUBLISHED_KINDS), finality: 'instant' as const }
  for (const branch of ['a', 'b']) {
    isAway = branch === 'a'
    const disk = { sync: async () => {}, everyMs: 1 }
    const aggregator = await startAggregator(client, { network, disk, publish })
    for (const block of mine(base, fullBlocks(3, 6), branch)) await aggregator.append(asBlocks(network, [block]))
    if (branch === 'b')
      await until(async () => aggregator.facts.find(({ kind }) => kind === 'published'), 'blocks are published')
    await aggregator.stop()
  }
  const final = await startAggregator(client, { network, publish: { ...publish, finality: 'final' } })
  await final.stop()
  // A job that finds neither swaps nor liquidity in what the stream has stored, and other times, and a rewind.
  const history = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
  const aggregator = await startAggregator(client, { network, history })
  const emptied = mine(base, fullBlocks(3, 6), 'b').map((block) => ({
    ...block,
    ...{ timestamp: block.timestamp + 1, ticks: [], liquidity: [] },
  }))
  await history.append([asRestatement(network, emptied, { job: 1 })])
  const [first, tip] = [base.at(-1)?.number ?? 0, emptied.at(-1)?.number ?? 0]
  const above = { network, from: first + 1, to: tip, pools: undefined, concurrency: 1 }
  const { id } = await openJob(client, above, 'rewind')
  await until(
    async () => ((await readJob(client, network, id))?.state === 'done' ? true : undefined),
    'the rewind has ended',
  )
  await history.close()
  await aggregator.stop()
  for await (const difference of verify(client, { network: 'ethereum', signal: new AbortController().signal })) {
    throw new Error(`Nothing is wrong there: ${JSON.stringify(difference)}`)
  }
  await knownRanges(client, 'ethereum', undefined)
  await mergeParts(client, { signal: new AbortController().signal })
}

/** A range that a job has overwritten, blocks of the stream, and a permanent verification of both. */
async function storeRange(client: ClickHouseClient): Promise<void> {
  const network = networkOf('arbitrum')
  const history = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
  const aggregator = await startAggregator(client, {
    network,
    history,
    verify: { share: 1, recheckMs: 0, restMs: 100 },
  })
  const blocks = mine([], fullBlocks(6, 5))
  await history.append([asRestatement(network, blocks.slice(0, 3), { job: 1 })])
  await until(async () => aggregator.facts.find(({ kind }) => kind === 'restated'), 'the range is stored')
  await aggregator.append(asBlocks(network, blocks.slice(3)).map((it) => ({ ...it, finalized: it.number - 1 })))
  // Which blocks are final is read once in ten seconds.
  const isOfBlocks = (fact: (typeof aggregator.facts)[number]) => fact.kind === 'verified' && fact.phase === 'blocks'
  const passedSince = (from: number) => aggregator.facts.slice(from).find(({ kind }) => kind === 'verify-passed')
  const from = await until(async () => aggregator.facts.findIndex(isOfBlocks) + 1 || undefined, 'blocks are verified')
  await until(async () => passedSince(from), 'all of it is verified')
  await history.close()
  await aggregator.stop()
}

async function apiAtWork(client: ClickHouseClient): Promise<void> {
  await storeScenario(client)
  const renamed = { address: addressOf('77'), symbol: 'NEW', name: 'New', former: ['OLD'], block: 1 }
  await storeNames([client], 'ethereum', [renamed])
  const clock = () => new Date(TIP * 1000)
  const service = await startService({ client, networks: NETWORKS_SERVED, clock })
  const at = (count: number) => new Date(minute(count) * 1000).toISOString()
  const range = `from=${at(0)}&to=${at(100)}`
  await service.warm()
  const ask = async (path: string) => {
    const { status } = await service.get(path)
    expect(status, path).toBe(200)
  }
  for (const path of [
    '/v0/candles?symbol=WETH-USDC&interval=1m',
    `/v0/candles?pool=${POOLS.main.id}&interval=7m&limit=3&${range}`,
    `/v0/ticks?pool=${POOLS.main.id}&limit=2&from=2020-01-01&to=${at(100)}`,
    `/v0/candles?pool=${POOLS.main.id}&interval=86399s&limit=100`,
    `/v0/candles?pool=${POOLS.main.id}&interval=7m&limit=3&price=usd&${range}`,
    `/v0/candles?pool=${POOLS.main.id}&interval=1s&limit=5&to=${at(60.5)}`,
    '/v0/ticks?symbol=WETH-USDC',
    '/v0/pools?symbol=WETH-USDC',
    '/v0/pools/top',
    `/v0/pools/top?token=${addressOf('77')}`,
    '/v0/pools/new',
    `/v0/depth?pool=${POOLS.unswapped.id}`,
    '/v0/health',
    '/v0/usage',
  ]) {
    await ask(path)
  }
  // What is held of a pool is brought up to date. The pair has more pools than are compared one by one.
  const ids = Array.from({ length: 33 }, (_, index) => addressOf(`e${index + 10}`))
  await openStore(
    client,
    'ethereum',
  )([
    block(121, TIP, {
      pools: ids.map((id) => ({ ...POOLS.main, id })),
      ticks: [buyEther(POOLS.main, 10n ** 18n, 2_000n)],
    }),
  ])
  await ask(`/v0/candles?pool=${POOLS.main.id}&interval=1m`)
  await ask('/v0/pools?symbol=WETH-USDC')
  // A symbol of many tokens, each with a pool that may hold much.
  const { address, symbol } = POOLS.main.token1
  await insertMany(client, { symbol: 'MANY', tokens: 1_100, pools: 1_100, other: [address, symbol] })
  await client.command({
    query: `INSERT INTO liquidity_changes (network, pool, block, log_index, time, tick_lower, tick_upper, liquidity_delta, version, is_deleted)
      SELECT network, pool, block, 1, time, 60, 120, 1e30, version, 0 FROM pools WHERE network = 'ethereum' AND token0_symbol = 'MANY'`,
  })
  expect((await service.get('/v0/candles?symbol=MANY-WETH&interval=1h')).status).toBe(404)
  // A key that was read a second ago is checked for changes.
  await sleep(1_100)
  await ask('/v0/usage')
  await service.stop()
  await exportPool(client)
  await listKeys(client)
  // Where answers may be a while old, it looks whether it has to look.
  const holding = await startService({ client, networks: NETWORKS_SERVED, clock, freshMs: 10_000 })
  await holding.get('/v0/health')
  await sleep(500)
  await holding.stop()
}

/** Ticks, stored candles, and merged ones. */
async function exportPool(client: ClickHouseClient): Promise<void> {
  const networks = [NETWORKS.ethereum]
  const market = openMarket({ reader: client, networks, clock: () => new Date(TIP * 1000), freshMs: 0 })
  const from = { seconds: 0, fraction: '' }
  const { view } = await market.ticks({ pool: POOLS.main.id, networks: ['ethereum'], from, limit: 1, price: 'spot' })
  const request = { network: NETWORKS.ethereum, view, price: 'spot', format: 'csv' } as const
  for (const [what, interval] of [
    ['ticks', 1],
    ['candles', 60],
    ['candles', 420],
  ] as const) {
    const { path: folder, remove } = await temporaryFolder()
    const sources = { client, market, folder, signal: new AbortController().signal }
    await exportHistory(sources, { ...request, what, interval }, {})
    await remove()
  }
}
