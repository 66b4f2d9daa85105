/**
 * History over JSON-RPC, dense (3 swaps a block over 400 pools) and sparse, at 0 and 50 ms latency: to the log, and to candles that can
 * be read; beside a bare loop that fetches and parses the same ranges with as many in flight. The node is another process on this
 * machine. BLOCKS, ROUNDS and LATENCIES scale it. Best of the rounds, which take turns with the floor's.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { aggregate } from '../../aggregator/aggregate.ts'
import { openStore } from '../../infra/clickhouse/store.ts'
import { inProcessLog } from '../../infra/kafka/in-process.ts'
import type { Message, RangeOverwrite } from '../../ingest/model/message.ts'
import { bareLoop, type Chain, DENSE, SPARSE } from './bare-loop.ts'
import { startChain } from './chain-node.ts'
import { type Cost, costOf, figure, least, title } from './figure.ts'
import { backfillAll, encodingLog } from './history.ts'
import { writeHistoryFiles } from './history-files.ts'
import { mergeHistory } from './load-store.ts'
import { cpuMs, enginePid } from './load-use.ts'

const BLOCKS = Number(process.env['BLOCKS'] ?? 200_000)
const ROUNDS = Number(process.env['ROUNDS'] ?? 3)
const LATENCIES = (process.env['LATENCIES'] ?? '0,50').split(',').map(Number)
/** A sparse chain has to be long, to take any time. */
const CHAINS = [
  { chain: DENSE, blocks: BLOCKS },
  { chain: SPARSE, blocks: BLOCKS * 20 },
]

for (const { chain, blocks } of CHAINS) for (const latencyMs of LATENCIES) await bench(chain, blocks, latencyMs)
process.exit()

async function bench(chain: Chain, blocks: number, latencyMs: number): Promise<void> {
  const { name, swapsPerBlock } = chain
  const { url, stop } = await startChain({ latencyMs, head: blocks + 1_000, swapsPerBlock })
  const swaps = blocks * swapsPerBlock
  title(`${name}, ${latencyMs} ms latency: ${blocks.toLocaleString('en')} blocks, ${swaps.toLocaleString('en')} swaps`)
  const floors: Cost[] = []
  const ours: Cost[] = []
  for (let round = 0; round < ROUNDS; round++) {
    floors.push(await costOf(() => bareLoop(url, blocks, chain)))
    ours.push(await costOf(() => backfillAll(url, blocks, encodingLog)))
  }
  const floor = least(floors)
  function print(what: string, { seconds, cpuSeconds }: Cost, isFloor = false): void {
    const beside = (value: number) => (isFloor ? undefined : value)
    figure(what, swaps / seconds, 'ticks/s', beside(swaps / floor.seconds))
    figure(`${what}, this process`, (cpuSeconds / swaps) * 1e6, 'µs/tick', beside((floor.cpuSeconds / swaps) * 1e6))
    figure(what, blocks / seconds, 'blocks/s', beside(blocks / floor.seconds))
  }
  print('bare fetch and parse (floor)', floor, true)
  print('to the log: read, decoded, priced, serialised', least(ours))
  if (chain === DENSE) {
    await benchFiles(url, blocks, swaps)
    const { engineSeconds, mergeSeconds, ...candles } = await toCandles(url, blocks)
    print('to candles that can be read', candles)
    figure('to candles that can be read, the engine', (engineSeconds / swaps) * 1e6, 'µs/tick')
    figure('merges of its parts afterwards, the engine', (mergeSeconds / swaps) * 1e6, 'µs/tick')
  }
  await stop()
}

/** From files beside endpoints, to the log, in turns. Writing the files does not count. */
async function benchFiles(url: string, blocks: number, swaps: number): Promise<void> {
  const files = await writeHistoryFiles(url, blocks)
  const [overRpc, ofFiles]: [Cost[], Cost[]] = [[], []]
  const engineMs: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    overRpc.push(await costOf(() => backfillAll(url, blocks, encodingLog)))
    const before = await cpuMs(files.engine)
    ofFiles.push(await costOf(() => backfillAll(url, blocks, encodingLog, files.source)))
    engineMs.push((await cpuMs(files.engine)) - before)
  }
  await files.close()
  const [rpc, own] = [least(overRpc), least(ofFiles)]
  figure('to the log from Parquet files; floor: over endpoints', swaps / own.seconds, 'ticks/s', swaps / rpc.seconds)
  const [micros, floor] = [own, rpc].map(({ cpuSeconds }) => (cpuSeconds / swaps) * 1e6)
  figure('to the log from Parquet files, this process', micros ?? Number.NaN, 'µs/tick', floor)
  figure('to the log from Parquet files, the engine', (Math.min(...engineMs) / swaps) * 1e3, 'µs/tick')
}

/** Starting and closing the store don't count. */
async function toCandles(url: string, blocks: number): Promise<Cost & { engineSeconds: number; mergeSeconds: number }> {
  const folder = await mkdtemp(join(tmpdir(), 'candlepool-bench-'))
  const store = await openStore({ store: { kind: 'embedded' } }, folder, () => {})
  const stopping = new AbortController()
  const log = inProcessLog<Message>({ nextOffset: 0 })
  const history = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
  const position = { generation: 0, offset: 0 }
  const options = { network: 'ethereum', log, history, position, report: () => {}, signal: stopping.signal } as const
  const aggregating = aggregate(store.owner, options)
  const engine = await enginePid(folder)
  const engineMs = await cpuMs(engine)
  const cost = await costOf(() => backfillAll(url, blocks, history))
  const readMs = await cpuMs(engine)
  await mergeHistory(store.owner)
  const mergedMs = await cpuMs(engine)
  stopping.abort()
  await Promise.all([log.close(), history.close()])
  await aggregating
  await store.close()
  await rm(folder, { recursive: true, force: true })
  return { ...cost, engineSeconds: (readMs - engineMs) / 1_000, mergeSeconds: (mergedMs - readMs) / 1_000 }
}
