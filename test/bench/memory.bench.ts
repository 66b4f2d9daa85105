/**
 * The memory of a process that backfills a million blocks to the log, sparse and dense, beside a process that only fetches and parses
 * the same ranges. Flat means that the second half needs no more than the first. BLOCKS scales it.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { bareLoop, type Chain, DENSE, SPARSE } from './bare-loop.ts'
import { startChain } from './chain-node.ts'
import { figure, title } from './figure.ts'
import { backfillAll, encodingLog } from './history.ts'

const BLOCKS = Number(process.env['BLOCKS'] ?? 1_000_000)
const LATENCY_MS = 0
const SAMPLE_MS = 50
const MIB = 1024 * 1024

type Sample = { rss: number; heapUsed: number }
type Memory = { seconds: number; samples: Sample[] }

const [what, url] = process.argv.slice(2)
if (url === undefined) {
  for (const chain of [SPARSE, DENSE]) await compare(chain)
} else {
  const chain = what?.endsWith('sparse') ? SPARSE : DENSE
  const work = what?.startsWith('bare') ? bareLoop(url, BLOCKS, chain) : backfillAll(url, BLOCKS, encodingLog)
  console.log(JSON.stringify(await sampled(work)))
  process.exit()
}

async function compare(chain: Chain): Promise<void> {
  const node = await startChain({ latencyMs: LATENCY_MS, head: BLOCKS + 1_000, swapsPerBlock: chain.swapsPerBlock })
  const [floor, ours] = [await memoryOf(`bare-${chain.name}`, node.url), await memoryOf(`ours-${chain.name}`, node.url)]
  title(
    `${chain.name}: ${BLOCKS.toLocaleString('en')} blocks, ${(BLOCKS * chain.swapsPerBlock).toLocaleString('en')} swaps`,
  )
  const print = (text: string, of: (memory: Memory) => number) => figure(text, of(ours), 'MiB', of(floor))
  print('resident at the start', ({ samples }) => most('rss', samples.slice(0, 1)))
  print('resident, most of the first half', ({ samples }) => most('rss', samples.slice(0, samples.length / 2)))
  print('resident, most of the second half', ({ samples }) => most('rss', samples.slice(samples.length / 2)))
  print('resident at the end', ({ samples }) => most('rss', samples.slice(-1)))
  print('heap, most of the first half', ({ samples }) => most('heapUsed', samples.slice(0, samples.length / 2)))
  print('heap, most of the second half', ({ samples }) => most('heapUsed', samples.slice(samples.length / 2)))
  figure('took', ours.seconds, 's', floor.seconds)
  await node.stop()
}

function most(kind: keyof Sample, samples: readonly Sample[]): number {
  return Math.max(...samples.map((sample) => sample[kind])) / MIB
}

/** In a process of its own: what one leaves behind the other would be blamed for. */
async function memoryOf(work: string, nodeUrl: string): Promise<Memory> {
  const args = ['--import', 'tsx', import.meta.filename, work, nodeUrl]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const chunks: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  await once(child, 'close')
  return JSON.parse(Buffer.concat(chunks).toString()) as Memory
}

async function sampled(work: Promise<void>): Promise<Memory> {
  const samples: Sample[] = []
  const sample = () => {
    const { rss, heapUsed } = process.memoryUsage()
    samples.push({ rss, heapUsed })
  }
  sample()
  const timer = setInterval(sample, SAMPLE_MS)
  const began = performance.now()
  await work
  clearInterval(timer)
  sample()
  return { seconds: (performance.now() - began) / 1_000, samples }
}
