/**
 * Five networks at once in one `npm start`, each at the pace of its chain, with 80 swaps a second together and bursts of ten times as many, over
 * nodes whose answers take 50 to 150 ms. From a new head to the event that ends it in an open stream; requests of each method per
 * block; active parts, memory and CPU. MINUTES (60) scales it; each line of the graph is a tenth of the time.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from '../../api/extras/clients/typescript/src/client.ts'
import { queryRows } from '../../api/lib/store.ts'
import { findStore } from '../../infra/clickhouse/store.ts'
import { NETWORK_NAMES, type NetworkName } from '../../ingest/model/network.ts'
import { NETWORKS } from '../../ingest/model/networks.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import { type Ask, asker, run, untilReady } from '../support/candlepool.ts'
import { until } from '../support/until.ts'
import { type ChainNode, now, poolOfSwap, startChain } from './chain-node.ts'
import { figure, quantile, title } from './figure.ts'
import { cpuMs, enginePid, megabytes } from './load-use.ts'

const MINUTES = Number(process.env['MINUTES'] ?? 60)
const LATENCY_MS = { least: 50, most: 150 }
const SAMPLE_MS = 5_000
const START_MS = 600_000
const LINES = 10
const ADMIN_PORT = 9_464 + (process.pid % 500)
/** The first head is beyond the deployments. */
const headOf = (name: NetworkName) => NETWORKS[name].v4.fromBlock + 10_000_000
const BURST = { every: 50, times: 10 }
const PACE: Readonly<Record<NetworkName, { secondsPerBlock: number; swapsPerBlock: number }>> = {
  ethereum: { secondsPerBlock: 12, swapsPerBlock: 120 },
  arbitrum: { secondsPerBlock: 0.25, swapsPerBlock: 8 },
  polygon: { secondsPerBlock: 2, swapsPerBlock: 20 },
  base: { secondsPerBlock: 2, swapsPerBlock: 44 },
  optimism: { secondsPerBlock: 2, swapsPerBlock: 10 },
}

type Running = { name: NetworkName; node: ChainNode; mined: Map<number, number>; lags: { at: number; ms: number }[] }
type Sample = { at: number; parts: number; processMb: number; engineMb: number; requests: number }

const folder = await mkdtemp(join(tmpdir(), 'candlepool-bench-'))
/** Where `npm start` has the tables of real networks. */
const tables = join(folder, 'store')
const chains: Running[] = []
for (const name of NETWORK_NAMES) {
  const node = await startChain({
    ...PACE[name],
    network: name,
    head: headOf(name),
    latencyMs: LATENCY_MS.least,
    burst: BURST,
    isProven: true,
  })
  chains.push({ name, node, mined: new Map(), lags: [] })
}
const start = run('start', {
  ...Object.fromEntries(
    chains.flatMap(({ name, node }) => [
      [`${name.toUpperCase()}_RPC_URL`, node.url.replace('http', 'ws')],
      [`${name.toUpperCase()}_START`, '-20'],
    ]),
  ),
  HEADER_PROOF: 'required',
  NETWORKS: NETWORK_NAMES.join(','),
  DATA_DIR: folder,
  PORT: '0',
  ADMIN_PORT: String(ADMIN_PORT),
  LOG_LEVEL: 'warn',
})
const stop = new AbortController()
const samples: Sample[] = []
try {
  const { url, key } = await untilReady(start)
  const store = await findStore({ store: { kind: 'embedded' } }, tables)
  if (!store) throw new Error('The engine is not there.')
  const engine = await enginePid(tables)
  const ask = asker(url, key)
  for (const chain of chains) {
    await until(() => ask(pathOf(chain.name)), `${chain.name} has candles`)
    void watch(chain, url, key)
  }
  for (const { name } of chains) await until(() => isAtHead(ask, name), `${name} is at its head`, START_MS)
  const began = performance.now()
  const cpu = [await cpuMs(start.pid), await cpuMs(engine)]
  const firstCalls = await calls()
  const mining = chains.map(mine)
  const varying = vary()
  while (performance.now() - began < MINUTES * 60_000) {
    await sleep(SAMPLE_MS)
    const [row] = await queryRows<{ n: string }>(
      store.owner,
      'SELECT count() AS n FROM system.parts WHERE active AND database = currentDatabase()',
    )
    const requests = sum((await calls()).values()) - sum(firstCalls.values())
    const memory = { processMb: await megabytes(start.pid), engineMb: await megabytes(engine) }
    samples.push({ at: now(), parts: Number(row?.n), requests, ...memory })
  }
  const seconds = (performance.now() - began) / 1_000
  const used = [await cpuMs(start.pid), await cpuMs(engine)].map((ms, index) => (ms - (cpu[index] ?? 0)) / 10 / seconds)
  const lastCalls = await calls()
  stop.abort()
  await Promise.all([...mining, varying])
  print(firstCalls, lastCalls)
  title('all networks')
  figure('active parts, most (300 at the most)', Math.max(...samples.map(({ parts }) => parts)), 'parts')
  figure('CPU of npm start, of one core', used[0] ?? Number.NaN, '%')
  figure('CPU of the engine, of one core', used[1] ?? Number.NaN, '%')
  graph()
  await store.close()
} finally {
  stop.abort()
  await start.stop()
  for (const { node } of chains) await node.stop()
  await rm(folder, { recursive: true, force: true })
}
process.exit()

/** Blocks above the final one are read one by one. */
async function isAtHead(ask: Ask, name: NetworkName): Promise<true | undefined> {
  type Health = { networks: { network: string; tip: { number: number } | null }[] }
  const { networks } = await ask<Health>('/v0/health')
  const tip = networks.find(({ network }) => network === name)?.tip
  return tip && tip.number >= headOf(name) ? true : undefined
}

/** A pool that the first head trades. */
function poolOf(name: NetworkName): PoolId {
  return poolOfSwap(headOf(name) * PACE[name].swapsPerBlock * BURST.times)
}

function pathOf(name: NetworkName): string {
  return `/v0/candles?networks=${name}&pool=${poolOf(name)}&interval=1m&limit=1`
}

/** A stream of one pool tells the tips of its network. */
async function watch({ name, mined, lags }: Running, url: string, key: string): Promise<void> {
  const client = createClient({ url, key })
  const query = { networks: name, pool: poolOf(name), interval: '1m', limit: 1 }
  for await (const { event, data } of client.streamCandles(query)) {
    if (stop.signal.aborted) return
    if (event !== 'tip') continue
    const at = now()
    const { block } = data as { block: number }
    // One tip may end several blocks.
    for (const [number, minedAt] of mined) {
      if (number > block) break
      lags.push({ at, ms: at - minedAt })
      mined.delete(number)
    }
  }
}

async function mine({ name, node, mined }: Running): Promise<void> {
  const pauseMs = PACE[name].secondsPerBlock * 1_000
  for (let next = performance.now(); !stop.signal.aborted; next += pauseMs) {
    await sleep(Math.max(0, next - performance.now()))
    const { number, at } = await node.mine()
    mined.set(number, at)
  }
}

async function vary(): Promise<void> {
  const { least, most } = LATENCY_MS
  while (!stop.signal.aborted) {
    for (const { node } of chains) node.setLatency(least + Math.round(Math.random() * (most - least)))
    await sleep(200)
  }
}

/** Requests so far, by network and method. */
async function calls(): Promise<Map<string, number>> {
  const text = await (await fetch(`http://127.0.0.1:${ADMIN_PORT}/metrics`)).text()
  const found = new Map<string, number>()
  for (const [, labels = '', value] of text.matchAll(/^candlepool_rpc_calls_total\{(.*)\} (\d+)$/gm)) {
    const label = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(labels)?.[1] ?? ''
    const of = `${label('network')} ${label('method')}`
    found.set(of, (found.get(of) ?? 0) + Number(value))
  }
  return found
}

function print(first: ReadonlyMap<string, number>, last: ReadonlyMap<string, number>): void {
  for (const { name, lags } of chains) {
    title(
      `${name}: ${lags.length} blocks of ${PACE[name].swapsPerBlock} swaps, one each ${PACE[name].secondsPerBlock} s`,
    )
    const times = lags.map(({ ms }) => ms)
    figure('from the head to the tip of a stream, p50', quantile(times, 0.5), 'ms', 100)
    figure('from the head to the tip of a stream, p95 (450 at the most)', quantile(times, 0.95), 'ms', LATENCY_MS.most)
    for (const [of, count] of last) {
      if (!of.startsWith(`${name} `)) continue
      const made = count - (first.get(of) ?? 0)
      if (made > 0) figure(`requests per block: ${of.slice(name.length + 1)}`, made / lags.length, 'requests')
    }
  }
}

function graph(): void {
  console.log('\nminute    lag p95 ms   parts   npm start MB   engine MB   requests/s')
  const [begin = 0, end = 0] = [samples[0]?.at, samples.at(-1)?.at]
  for (let line = 0; line < LINES; line++) {
    const [from, to] = [begin + ((end - begin) * line) / LINES, begin + ((end - begin) * (line + 1)) / LINES]
    const within = ({ at }: { at: number }) => at >= from && at <= to
    const seen = samples.filter(within)
    const [one, last] = [seen[0], seen.at(-1)]
    if (!one || !last) continue
    const lag = quantile(
      chains.flatMap(({ lags }) => lags.filter(within).map(({ ms }) => ms)),
      0.95,
    )
    const rate = ((last.requests - one.requests) * 1_000) / (last.at - one.at)
    const cells = [(from - begin) / 60_000, lag, last.parts, last.processMb, last.engineMb, rate]
    const widths = [6, 14, 8, 15, 12, 13]
    console.log(cells.map((value, index) => value.toFixed(index === 0 ? 1 : 0).padStart(widths[index] ?? 0)).join(''))
  }
}

function sum(values: Iterable<number>): number {
  let total = 0
  for (const value of values) total += value
  return total
}
