/**
 * History over JSON-RPC, dense (3 swaps a block over 400 pools) and sparse, at 0 and 50 ms latency: to the log, and to candles that can
 * be read; beside a bare loop that fetches and parses the same ranges with as many in flight. The node is another process on this
 * machine. BLOCKS, ROUNDS and LATENCIES scale it. Best of the rounds, which take turns with the floor's.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { aggregate } from '../../aggregator/aggregate.ts'
import { connectChain } from '../../infra/chain-client.ts'
import { encode } from '../../infra/log/codec.ts'
import { inProcessLog } from '../../infra/log/in-process.ts'
import { openStore } from '../../infra/store.ts'
import { backfill } from '../../ingest/backfill.ts'
import { V3_TOPICS } from '../../ingest/decode-v3.ts'
import { V4_TOPICS } from '../../ingest/decode-v4.ts'
import type { TickLog } from '../../ingest/log.ts'
import type { Message, Restatement } from '../../ingest/message.ts'
import { NETWORKS } from '../../ingest/networks.ts'
import { startChain } from './chain-node.ts'
import { type Cost, costOf, figure, least, title } from './figure.ts'

const BLOCKS = Number(process.env['BLOCKS'] ?? 100_000)
const ROUNDS = Number(process.env['ROUNDS'] ?? 3)
const LATENCIES = (process.env['LATENCIES'] ?? '0,50').split(',').map(Number)
const IN_FLIGHT = 4
const never = new AbortController().signal

/** `rangeBlocks` is what our own ranges settle at on such a chain. */
const CHAINS = [
  { name: 'dense', swapsPerBlock: 3, blocks: BLOCKS, rangeBlocks: 2_000 },
  { name: 'sparse', swapsPerBlock: 0.02, blocks: BLOCKS * 20, rangeBlocks: 20_000 },
] as const
type Shape = (typeof CHAINS)[number]

for (const chain of CHAINS) for (const latencyMs of LATENCIES) await bench(chain, latencyMs)
process.exit()

async function bench(shape: Shape, latencyMs: number): Promise<void> {
  const { name, swapsPerBlock, blocks } = shape
  const { url, stop } = await startChain({ latencyMs, head: blocks + 1_000, swapsPerBlock })
  const swaps = blocks * swapsPerBlock
  title(`${name}, ${latencyMs} ms latency: ${blocks.toLocaleString('en')} blocks, ${swaps.toLocaleString('en')} swaps`)
  const floors: Cost[] = []
  const ours: Cost[] = []
  for (let round = 0; round < ROUNDS; round++) {
    floors.push(await costOf(() => bareLoop(url, shape)))
    ours.push(await costOf(() => toLog(url, blocks)))
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
  if (shape.name === 'dense') print('to candles that can be read', await toCandles(url, blocks))
  await stop()
}

async function bareLoop(url: string, { blocks, rangeBlocks }: Shape): Promise<void> {
  const topics = [[...Object.values(V3_TOPICS), ...Object.values(V4_TOPICS)]]
  let next = 1
  async function lane(): Promise<void> {
    while (next <= blocks) {
      const from = next
      next += rangeBlocks
      const filter = { topics, fromBlock: hex(from), toBlock: hex(Math.min(blocks, next - 1)) }
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getLogs', params: [filter] })
      await (await fetch(url, { method: 'POST', body })).json()
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane))
}

function toLog(url: string, blocks: number): Promise<void> {
  const log: TickLog<Restatement> = {
    append: async (messages) => {
      for (const message of messages) encode(message)
    },
    last: async () => undefined,
    at: async () => undefined,
    async *read() {},
  }
  return run(url, blocks, log)
}

/** Starting and closing the store don't count. */
async function toCandles(url: string, blocks: number): Promise<Cost> {
  const folder = await mkdtemp(join(tmpdir(), 'candlepool-bench-'))
  const store = await openStore({ store: { kind: 'embedded' } }, folder, () => {})
  const stopping = new AbortController()
  const log = inProcessLog<Message>({ nextOffset: 0 })
  const history = inProcessLog<Restatement>({ nextOffset: 0 })
  const position = { generation: 0, offset: 0 }
  const options = { network: 'ethereum', log, history, position, report: () => {}, signal: stopping.signal } as const
  const aggregating = aggregate(store.owner, options)
  const cost = await costOf(() => run(url, blocks, history))
  stopping.abort()
  await Promise.all([log.close(), history.close()])
  await aggregating
  await store.close()
  await rm(folder, { recursive: true, force: true })
  return cost
}

function run(url: string, blocks: number, log: TickLog<Restatement>): Promise<void> {
  const options = { network: NETWORKS.ethereum, job: 1, ranges: [{ from: 1, to: blocks }], pools: undefined } as const
  const { endpoints } = connectChain([url])
  return backfill(endpoints, { ...options, concurrency: IN_FLIGHT, log, report: () => {}, signal: never })
}

function hex(value: number): string {
  return `0x${value.toString(16)}`
}
