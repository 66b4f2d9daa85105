/**
 * History over JSON-RPC, 3 swaps a block and 400 pools, at 0 and 50 ms latency: to the log, and to candles that can be read;
 * beside a bare loop that fetches and parses the same ranges with as many in flight. The node runs in a process of its own on this machine.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
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

const BLOCKS = Number(process.env['BLOCKS'] ?? 100_000)
const TICKS = BLOCKS * 3
const IN_FLIGHT = 4
/** What our own ranges settle at on such a chain. */
const FLOOR_RANGE_BLOCKS = 2_000
const never = new AbortController().signal

for (const latency of [0, 50]) {
  const { url, stop } = await startNode(latency)
  console.log(`\n${latency} ms latency, ${BLOCKS.toLocaleString('en')} blocks, ${TICKS.toLocaleString('en')} swaps`)
  const floor = await timed('bare fetch and parse (floor)', () => bareLoop(url))
  await timed('to the log: read, decoded, priced, serialised', () => toLog(url), floor)
  await timed('to candles that can be read', () => toCandles(url), floor)
  stop()
}
process.exit()

async function timed(what: string, work: () => Promise<void>, floor?: number): Promise<number> {
  const began = performance.now()
  await work()
  const seconds = (performance.now() - began) / 1_000
  const rate = TICKS / seconds
  const ratio = floor === undefined ? '' : `${(rate / floor).toFixed(2)} of the floor`
  console.log(
    `${what.padEnd(48)} ${Math.round(rate).toLocaleString('en').padStart(9)} ticks/s ${Math.round(BLOCKS / seconds)
      .toLocaleString('en')
      .padStart(9)} blocks/s  ${ratio}`,
  )
  return rate
}

async function bareLoop(url: string): Promise<void> {
  const topics = [[...Object.values(V3_TOPICS), ...Object.values(V4_TOPICS)]]
  let next = 1
  async function lane(): Promise<void> {
    while (next <= BLOCKS) {
      const from = next
      next += FLOOR_RANGE_BLOCKS
      const filter = { topics, fromBlock: hex(from), toBlock: hex(Math.min(BLOCKS, next - 1)) }
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getLogs', params: [filter] })
      await (await fetch(url, { method: 'POST', body })).json()
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane))
}

async function toLog(url: string): Promise<void> {
  const log: TickLog<Restatement> = {
    append: async (messages) => {
      for (const message of messages) encode(message)
    },
    last: async () => undefined,
    at: async () => undefined,
    async *read() {},
  }
  await run(url, log)
}

async function toCandles(url: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'candlepool-bench-'))
  const store = await openStore({ store: { kind: 'embedded' } }, folder, () => {})
  const stopping = new AbortController()
  const log = inProcessLog<Message>({ nextOffset: 0 })
  const history = inProcessLog<Restatement>({ nextOffset: 0 })
  const position = { generation: 0, offset: 0 }
  const options = { network: 'ethereum', log, history, position, report: () => {}, signal: stopping.signal } as const
  const aggregating = aggregate(store.owner, options)
  await run(url, history)
  stopping.abort()
  await Promise.all([log.close(), history.close()])
  await aggregating
  await store.close()
  await rm(folder, { recursive: true, force: true })
}

function run(url: string, log: TickLog<Restatement>): Promise<void> {
  const network = NETWORKS.ethereum
  const ranges = [{ from: 1, to: BLOCKS }]
  const { endpoints } = connectChain([url])
  return backfill(endpoints, {
    network,
    job: 1,
    ranges,
    pools: undefined,
    concurrency: IN_FLIGHT,
    log,
    report: () => {},
    signal: never,
  })
}

async function startNode(latency: number): Promise<{ url: string; stop: () => void }> {
  const script = join(import.meta.dirname, 'chain-process.ts')
  const node: ChildProcess = spawn(
    process.execPath,
    ['--import', 'tsx', script, String(latency), String(BLOCKS + 1_000)],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  )
  const [line] = (await once(node.stdout ?? node, 'data')) as [Buffer]
  return { url: line.toString().trim(), stop: () => node.stdin?.end() }
}

function hex(value: number): string {
  return `0x${value.toString(16)}`
}
