/** Endpoints that lie, beside honest ones: what is stored at the end, and whether the lie is found. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAudit } from '../../aggregator/audit/audit.ts'
import { deployMarkets, startAnvil, type TestAnvil, type TestMarkets } from '../support/anvil.ts'
import { until } from '../support/candlepool.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { type Gateway, startGateway } from '../support/gateway.ts'
import { LIES } from '../support/lies.ts'
import { openPipeline, type Pipeline } from '../support/pipeline.ts'
import { drawn } from '../support/sample.ts'
import { swapsInReceipts, swapsInTables } from './chain-swaps.ts'

/** Which of the endpoints lie, in the order of preference. */
const PLACES = {
  'the first of two': [true, false],
  'the last of two': [false, true],
  'the first of three': [true, false, false],
  'the last of three': [false, false, true],
} as const
const BLOCKS = 60
const NEW_BLOCKS = 6
const AUDITED_MS = 120_000

type Row = { lie: string; place: string; wrong: number; found: string }
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

  test.each(drawn('lies', cases, 6))(
    'with %s, as %s, leaves nothing wrong that is final',
    { timeout: 400_000 },
    async (lie, place) => {
      const gateways = await openGateways(lie, PLACES[place as keyof typeof PLACES])
      const database = await freshDatabase()
      const pipeline = await openPipeline({ network: markets.network, url: gateways.map(({ url }) => url), database })
      try {
        await untilNear((await anvil.block('latest')).number, database)
        for (let block = 0; block < NEW_BLOCKS; block++) await trade()
        await untilNear((await anvil.block('latest')).number, database)
        await audited(pipeline, database)
        // Where two voices disagree, less is final than the honest one says.
        const final = pipeline.endpoints.finality.below(Number.POSITIVE_INFINITY)?.number ?? 0
        const [stored, real] = await Promise.all([
          swapsInTables(database, { from: 0, to: final }),
          swapsInReceipts(anvil.httpUrl, { from: 0, to: final }),
        ])
        let wrong = real.length + stored.length - 2 * stored.filter((one) => real.some((it) => isSame(it, one))).length
        wrong += await countMistimed(database, final)
        rows.push({ lie, place, wrong, found: foundBy(pipeline) })
        expect(wrong).toBe(0)
        const isHidden = place.startsWith('the last') || HARMLESS.includes(lie)
        if (!isHidden) expect(foundBy(pipeline)).not.toBe('')
      } finally {
        await pipeline.stop()
        await Promise.all([database.drop(), ...gateways.map((gateway) => gateway.stop())])
      }
    },
  )

  async function openGateways(lie: string, lying: readonly boolean[]): Promise<Gateway[]> {
    // A voice each.
    return Promise.all(
      lying.map(async (isLiar, index) =>
        startGateway(anvil.httpUrl, isLiar ? await LIES[lie]?.(anvil.httpUrl) : {}, `127.0.0.${index + 2}`),
      ),
    )
  }

  /** Finality of an honest chain is two blocks behind its head. */
  async function untilNear(head: number, { client }: TestDatabase): Promise<void> {
    await until(
      async () => {
        const answer = await client.query({ query: 'SELECT max(number) AS tip FROM blocks', format: 'JSONEachRow' })
        const [row] = await answer.json<{ tip: string }>()
        return Number(row?.tip) >= head - 1 ? true : undefined
      },
      `block ${head - 1} is stored`,
    )
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

  async function audited(pipeline: Pipeline, { client }: TestDatabase): Promise<void> {
    const step = createAudit(client, pipeline.endpoints, {
      ...{ network: markets.network, pools: undefined, history: pipeline.history, everyMs: 0, againMs: 0 },
      report: (fact) => pipeline.facts.push(fact),
      signal: AbortSignal.timeout(AUDITED_MS),
    })
    for (const until = performance.now() + AUDITED_MS; performance.now() < until; ) {
      const isMore = await step().catch(() => undefined)
      if (isMore === false) return
    }
  }
})

/** Where an answer contradicts itself, another way to the truth is taken without a word. */
const HARMLESS = ['its head is final', 'final blocks that go back', 'altered times of logs']
const FINDINGS = [
  'endpoint-altered-logs',
  'endpoint-omitted-logs',
  'endpoints-disagree',
  'audit-found',
  'rpc-failed',
  'endpoint-behind',
]

/** Kinds of facts that name the liar or the difference. */
function foundBy({ facts }: Pipeline): string {
  return FINDINGS.filter((kind) => facts.some((fact) => fact.kind === kind)).join(', ')
}

function isSame(one: object, other: object): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

function tableOf(all: readonly Row[]): string {
  return all.map(({ lie, place, wrong, found }) => `${lie} | ${place} | ${wrong} wrong | ${found}`).join('\n')
}
