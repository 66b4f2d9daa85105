/** One fault of a provider: a listener from an empty store, a backfill and an audit over it, and what the tables have then. */
import { type Hash, numberToHex } from 'viem'
import { createAudit } from '../../aggregator/extras/audit/audit.ts'
import { readRecords } from '../../aggregator/history/audit-record.ts'
import { rpcOver } from '../../infra/devnet/chain/rpc.ts'
import { backfill } from '../../ingest/backfill/backfill.ts'
import { NETWORKS } from '../../ingest/model/networks.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import { freshDatabase, type TestDatabase } from '../support/clickhouse.ts'
import { startGateway } from '../support/gateway.ts'
import { openPipeline, type Pipeline } from '../support/pipeline.ts'
import type { ProviderFault } from '../support/provider-faults.ts'
import { DAY, DAY_POOL, madeUpHash } from '../support/recorded.ts'
import { recordedDayChain } from '../support/recorded-day.ts'
import { type RecordedChain, type RpcServer, startRpcServer } from '../support/rpc-server.ts'
import { swapsInLogs, swapsInTables } from './chain-swaps.ts'

/** Alone over HTTP, with a sound endpoint second, or alone over WebSocket. */
export type ProviderWay = 'alone' | 'beside' | 'socket'
export type ProviderWork = 'live' | 'backfill' | 'audit'
export type ProviderOutcome = { seconds: number; failure?: string }
export type ProviderOutcomes = Record<ProviderWork, ProviderOutcome>

const { ethereum } = NETWORKS
/** Nothing below is left at an endpoint whose history has expired. */
const CUT = DAY.firstBlock + 100
const HISTORY = { from: CUT + 100, to: CUT + 249 }
const START = HISTORY.to + 1
const FINALIZED = START + 200
const HEAD = FINALIZED + 20
/** Mined once the listener has reached the head. */
const NEW_BLOCKS = 3
const JOB = 1

const recorded = recordedDayChain()
const LOGS = recorded.logs.filter((log) => Number(log.blockNumber) <= HEAD + NEW_BLOCKS)
const START_SECONDS = recorded.timestampOf(HEAD) - recorded.timestampOf(START)

export async function runProviderCase(
  { begin, pools }: ProviderFault,
  way: ProviderWay,
  boundMs: number,
): Promise<ProviderOutcomes> {
  const chain: RecordedChain = { ...recorded, logs: LOGS, head: HEAD, finalized: FINALIZED }
  const [node, database] = await Promise.all([startRpcServer(chain), freshDatabase()])
  const gateway = await startGateway(node.url, begin({ chain, cut: CUT }))
  const urls = { alone: [gateway.url], beside: [gateway.url, node.url], socket: [gateway.wsUrl] }[way]
  const wanted = pools === undefined ? undefined : poolsWith(pools)
  const pipeline = await openPipeline({
    ...{ network: ethereum, url: urls, database, pools: wanted },
    start: { kind: 'seconds-ago', seconds: START_SECONDS },
    headerProof: 'off',
  })
  const at = { chain, node, database, pipeline, wanted, boundMs }
  try {
    const live = await timed(() => follow(at))
    const history = await timed(() => fill(at))
    const audit = await timed(() => auditAll(at))
    return { live, backfill: history, audit }
  } finally {
    // Its end is told by what it did not store.
    await pipeline.stop().catch(() => undefined)
    await Promise.all([gateway.stop(), node.stop(), database.drop()])
  }
}

type Running = {
  chain: RecordedChain
  node: RpcServer
  database: TestDatabase
  pipeline: Pipeline
  wanted: ReadonlySet<PoolId> | undefined
  boundMs: number
}

async function timed(work: () => Promise<void>): Promise<ProviderOutcome> {
  const began = performance.now()
  const failure = await work().then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  )
  const seconds = (performance.now() - began) / 1_000
  return failure === undefined ? { seconds } : { seconds, failure }
}

/** From an empty store to the head, and on with the chain. */
async function follow({ chain, node, database, pipeline, boundMs }: Running): Promise<void> {
  for (let block = HEAD; block <= HEAD + NEW_BLOCKS; block++) {
    chain.head = block
    const hash = await hashOf(node, block)
    await within(pipeline.untilStored({ number: block, hash }), boundMs, `block ${block} is stored`)
  }
  const resumed = pipeline.facts.flatMap((fact) => (fact.kind === 'resumed' ? fact.firstBlock : []))
  expectEqual(resumed, [START], 'the first block')
  await compare(node, database, { from: START, to: HEAD + NEW_BLOCKS })
}

async function fill({ node, database, pipeline, wanted, boundMs }: Running): Promise<void> {
  const stopping = AbortSignal.timeout(boundMs)
  await backfill(pipeline.endpoints, {
    ...{ network: ethereum, job: JOB, ranges: [HISTORY], pools: wanted && [...wanted], concurrency: 4 },
    log: pipeline.history,
    report: (fact) => pipeline.facts.push(fact),
    signal: stopping,
  })
  await compare(node, database, HISTORY)
}

async function auditAll({ node, database, pipeline, boundMs }: Running): Promise<void> {
  const audit = createAudit(database.client, pipeline.endpoints, {
    ...{ network: ethereum, pools: undefined, history: pipeline.history, everyMs: 0 },
    report: (fact) => pipeline.facts.push(fact),
    signal: AbortSignal.timeout(boundMs),
  })
  while (await audit());
  const records = await readRecords(database.client, 'ethereum')
  const audited = records.map(({ next, undecided, omitted, invented }) => ({ next, undecided, omitted, invented }))
  expectEqual(audited, [{ next: FINALIZED + 1, undecided: [], omitted: 0, invented: 0 }], 'the audit')
  await compare(node, database, { from: START, to: HEAD + NEW_BLOCKS })
}

type Blocks = { from: number; to: number }

/** Ticks as they are stored and swaps as the sound node has them. */
async function compare({ url }: RpcServer, database: TestDatabase, range: Blocks): Promise<void> {
  const [ticks, swaps] = await Promise.all([swapsInTables(database, range), swapsInLogs(url, range, DAY_POOL)])
  expectEqual(ticks, swaps, `ticks of blocks ${range.from} to ${range.to}`)
}

function expectEqual(is: readonly unknown[], wanted: readonly unknown[], what: string): void {
  if (wanted.length > 0 && JSON.stringify(is) === JSON.stringify(wanted)) return
  throw new Error(`${what}: ${is.length} rows, wanted ${wanted.length}; ${JSON.stringify(is).slice(0, 200)}`)
}

async function hashOf({ url }: RpcServer, block: number): Promise<Hash> {
  const [header] = await rpcOver(url)([{ method: 'eth_getBlockByNumber', params: [numberToHex(block), false] }])
  return (header as { hash: Hash }).hash
}

/** The recorded pool among others that never trade. */
function poolsWith(count: number): ReadonlySet<PoolId> {
  const others = Array.from({ length: count - 1 }, (_, index): PoolId => `0x${madeUpHash(index + 1, 9).slice(-40)}`)
  return new Set([DAY_POOL, ...others])
}

async function within(work: Promise<void>, ms: number, what: string): Promise<void> {
  const late = new Promise<never>((_, reject) => {
    setTimeout(() => reject(new Error(`Waited ${ms / 1_000} s in vain until ${what}.`)), ms).unref()
  })
  await Promise.race([work, late])
}
