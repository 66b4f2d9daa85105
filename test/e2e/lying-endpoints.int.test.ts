/** Endpoints that lie, beside honest ones: what is stored at the end, and whether the lie is found. */

import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAudit } from '../../aggregator/extras/audit/audit.ts'
import { deployMarkets, startAnvil, type TestAnvil, type TestMarkets } from '../support/anvil.ts'
import { run } from '../support/candlepool.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { type Gateway, startGateway } from '../support/gateway.ts'
import { LIES } from '../support/lies.ts'
import { openPipeline, type Pipeline } from '../support/pipeline.ts'
import { drawn } from '../support/sample.ts'
import { until } from '../support/until.ts'
import { swapsInReceipts, swapsInTables } from './chain-swaps.ts'

/** Which of the endpoints lie, in the order of preference. */
const PLACES = {
  'the first of two': [true, false],
  'the last of two': [false, true],
  'the first of three': [true, false, false],
  'the last of three': [false, false, true],
  'most of three': [true, true, false],
  'the only one': [true],
} as const
const BLOCKS = 60
const NEW_BLOCKS = 6
const AUDITED_MS = 120_000
const ALONE_MS = 5_000
/** An endpoint whose answers are refused rests, and where it is the only other one, the audit waits for it. */
const REFUSED = ['altered times', 'ill-typed fields', 'another chain after a while', 'slow answers']
const REFUSED_MS = 5_000
/** The defaults take minutes. */
const POLICY = { lateMs: 200, compareMs: 500, chainIdMs: 0 }

/** An honest voice may find these, and prevents nothing. */
const OUTVOTED = ['most of three', 'the only one']

/** `seconds`: from the start to the first finding; `status`: the lines of `npm run status` below its table. */
type Row = { lie: string; place: string; wrong: number; seconds: number | undefined; found: string; status: string }
const rows: Row[] = []

describe.skipIf(withoutClickHouse)('an endpoint that lies', () => {
  let anvil: TestAnvil
  let markets: TestMarkets

  beforeAll(async () => {
    anvil = await startAnvil({ slotsInAnEpoch: 1 })
    markets = await deployMarkets(anvil)
    for (let block = 0; block < BLOCKS; block++) await trade()
  })

  afterAll(async () => {
    await anvil?.stop()
    console.log(tableOf(rows))
  })

  /** A block with a swap in each protocol. */
  async function trade(): Promise<void> {
    const { number } = await anvil.block('latest')
    const amount = 10n ** 9n + BigInt(number)
    await markets.swap(markets.market('v3 USDC/WETH 500'), { zeroForOne: number % 2 === 0, amount })
    await markets.swap(markets.market('v4 USDC/WETH 3000'), { zeroForOne: number % 2 === 1, amount })
    await anvil.mine()
  }

  const cases = Object.keys(LIES).flatMap((lie) => Object.keys(PLACES).map((place) => [lie, place] as const))

  test.each(drawn('lies', cases, 4))(
    'an endpoint with %s, as %s, leaves nothing wrong that is final',
    async (lie, place) => {
      const gateways = await openGateways(lie, PLACES[place as keyof typeof PLACES])
      const database = await freshDatabase()
      const url = gateways.map((gateway) => (gateway.fault.heads ? gateway.wsUrl : gateway.url))
      const pipeline = await openPipeline({ network: markets.network, url, database, retryPolicy: POLICY })
      const finding = firstFinding(pipeline)
      try {
        await reached(place, database)
        for (let block = 0; block < NEW_BLOCKS; block++) await trade()
        await reached(place, database)
        const audit = audited(pipeline, database, REFUSED.includes(lie) ? REFUSED_MS : AUDITED_MS)
        await (place === 'the only one' ? Promise.race([audit, pause(2 * ALONE_MS)]) : audit)
        // Where two voices disagree, less is final than the honest one says.
        const known = pipeline.endpoints.finality.below(Number.POSITIVE_INFINITY)?.number ?? 0
        const final = Math.min(known, await storedTip(database))
        const [stored, real] = await Promise.all([
          swapsInTables(database, { from: 0, to: final }),
          swapsInReceipts(anvil.httpUrl, { from: 0, to: final }),
        ])
        let wrong = real.length + stored.length - 2 * stored.filter((one) => real.some((it) => isSame(it, one))).length
        wrong += await countMistimed(database, final)
        const isHidden = place.startsWith('the last') || place === 'the only one' || HARMLESS.includes(lie)
        // A lie that begins after some requests may do so after the audit.
        const found = isHidden
          ? foundBy(pipeline)
          : await until(async () => foundBy(pipeline) || undefined, 'the lie is found')
        const status = await statusOf(gateways, database)
        rows.push({ lie, place, wrong, seconds: finding.seconds(), found, status })
        if (!OUTVOTED.includes(place)) expect(wrong).toBe(0)
        if (place === 'the only one') expect(status).toMatch(/one endpoint tells all of it|Nothing is stored yet/)
      } finally {
        finding.stop()
        await pipeline.stop()
        await Promise.all([database.drop(), ...gateways.map((gateway) => gateway.stop())])
      }
    },
  )

  /** An endpoint alone whose answers are refused brings the listener nowhere. */
  async function reached(place: string, database: TestDatabase): Promise<void> {
    const { number } = await anvil.block('latest')
    const near = untilNear(number, database)
    await (place === 'the only one' ? Promise.race([near, pause(ALONE_MS)]) : near)
    near.catch(() => undefined)
  }

  async function statusOf(gateways: readonly Gateway[], { connection, database }: TestDatabase): Promise<string> {
    const status = run('status', {
      ...{ CLICKHOUSE_URL: connection.url, CLICKHOUSE_USER: connection.username, CLICKHOUSE_DATABASE: database },
      CLICKHOUSE_PASSWORD: connection.password,
      ETHEREUM_RPC_URL: gateways.map(({ url }) => url).join(),
    })
    expect(await status.exited, status.output()).toBe(0)
    return status
      .output()
      .split('\n')
      .filter((line) => /^(ethereum: |Nothing | {2}\w)/.test(line) && !line.includes('verification'))
      .join(' / ')
  }

  async function openGateways(lie: string, lying: readonly boolean[]): Promise<Gateway[]> {
    // A voice each.
    return Promise.all(
      lying.map(async (isLiar, index) =>
        startGateway(anvil.httpUrl, isLiar ? await LIES[lie]?.(anvil.httpUrl) : {}, `127.0.0.${index + 2}`),
      ),
    )
  }

  /** Finality of an honest chain is two blocks behind its head. */
  async function untilNear(head: number, database: TestDatabase): Promise<void> {
    await until(async () => ((await storedTip(database)) >= head - 1 ? true : undefined), `block ${head - 1} is stored`)
  }

  async function storedTip({ client }: TestDatabase): Promise<number> {
    const answer = await client.query({ query: 'SELECT max(number) AS tip FROM blocks', format: 'JSONEachRow' })
    const [row] = await answer.json<{ tip: string }>()
    return Number(row?.tip ?? 0)
  }

  async function countMistimed({ client }: TestDatabase, final: number): Promise<number> {
    const query =
      'SELECT toUInt32(block) AS block, toUnixTimestamp(time) AS time, toUInt32(count()) AS ticks FROM ticks FINAL WHERE block <= {final:UInt64} GROUP BY block, time'
    const answer = await client.query({ query, query_params: { final }, format: 'JSONEachRow' })
    const stored = await answer.json<{ block: number; time: number; ticks: number }>()
    const wrong = await Promise.all(
      stored.map(async ({ block, time, ticks }) => ((await anvil.block(block)).timestamp === time ? 0 : ticks)),
    )
    return wrong.reduce((sum, ticks) => sum + ticks, 0)
  }

  async function audited(pipeline: Pipeline, { client }: TestDatabase, patienceMs: number): Promise<void> {
    const step = createAudit(client, pipeline.endpoints, {
      ...{ network: markets.network, pools: undefined, history: pipeline.history, everyMs: 0, againMs: 0 },
      report: (fact) => pipeline.facts.push(fact),
      signal: AbortSignal.timeout(patienceMs),
    })
    for (const until = performance.now() + patienceMs; performance.now() < until; ) {
      const isMore = await step().catch(() => undefined)
      if (isMore === false) return
    }
  }
})

/** Where an answer contradicts itself, another way to the truth is taken without a word. */
const HARMLESS = ['announced children', 'its head is final', 'final blocks that go back', 'altered times of logs']
const FINDINGS = [
  'endpoint-altered-logs',
  'endpoint-omitted-logs',
  'endpoints-disagree',
  'audit-found',
  'rpc-failed',
  'endpoint-behind',
  'endpoint-late',
]

/** Looks at the facts every few milliseconds. */
function firstFinding(pipeline: Pipeline) {
  const began = performance.now()
  let seconds: number | undefined
  const look = setInterval(() => {
    if (seconds === undefined && foundBy(pipeline) !== '') seconds = (performance.now() - began) / 1_000
  }, 20)
  return { seconds: () => seconds, stop: () => clearInterval(look) }
}

/** Kinds of facts that name the liar or the difference. */
function foundBy({ facts }: Pipeline): string {
  return FINDINGS.filter((kind) => facts.some((fact) => fact.kind === kind)).join(', ')
}

function isSame(one: object, other: object): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

function tableOf(all: readonly Row[]): string {
  return all
    .map(({ lie, place, wrong, seconds, found, status }) => {
      const after = seconds === undefined ? '-' : `${seconds.toFixed(1)} s`
      return `${lie} | ${place} | ${wrong} wrong | ${after} | ${found} | ${status}`
    })
    .join('\n')
}
