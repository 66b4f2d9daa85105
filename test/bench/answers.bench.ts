/**
 * Answers from memory: a few hundred closed ranges of 100 candles, asked again and again from 32 connections while a writer adds a block every
 * two seconds. `npm run api` answers as a process of its own; the floor is a bare `node:http` server that sends the same bytes from the same
 * machine in the same run, in alternating rounds.
 *
 * SECONDS (15) of each round, ROUNDS (3), QUESTIONS (320), DAYS (10, of a million ticks), ENCODING (none) that the clients accept; LOAD_DIR keeps the
 * tables for the next time.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createKey } from '../../api/accounts/keys.ts'
import { openStore } from '../../infra/clickhouse/store.ts'
import { asker, run } from '../support/candlepool.ts'
import { inputOf } from '../support/child-input.ts'
import { figure, quantile, title } from './figure.ts'
import type { Loaded } from './load-process.ts'
import { BUCKETS, drawer } from './load-questions.ts'
import { loadFrom } from './load-rounds.ts'
import { startWriter, storePast } from './load-store.ts'
import { cpuMs } from './load-use.ts'

const SECONDS = Number(process.env['SECONDS'] ?? 15)
const ROUNDS = Number(process.env['ROUNDS'] ?? 3)
const QUESTIONS = Number(process.env['QUESTIONS'] ?? 320)
const DAYS = Number(process.env['DAYS'] ?? 10)
const encoding = process.env['ENCODING']
const CONNECTIONS = 32
const POOLS = 1_000
/** A key of an operator has a million credits a minute. */
const KEYS = 32

/** `cpu`: of the answering process, in ms an answer. */
type Round = Loaded & { cpu: number }

const kept = process.env['LOAD_DIR']
const folder = kept ?? (await mkdtemp(join(tmpdir(), 'candlepool-bench-')))
const store = await openStore({ store: { kind: 'embedded' } }, join(folder, 'store'), () => {})
const shape = await storePast(store.owner, DAYS, POOLS)
const writer = await startWriter(store.owner, shape)
const keys = await Promise.all(
  Array.from({ length: KEYS }, (_, index) =>
    createKey({ client: store.owner, plan: 'operator', name: `answers ${index}` }),
  ),
)
const [key = ''] = keys
const api = run('api', { NETWORKS: shape.network, DATA_DIR: folder, PORT: '0' })
try {
  const [, port = ''] = await api.untilPrinted(/"port":(\d+)/)
  const url = `http://127.0.0.1:${port}`
  const bodies = await closedAnswers(url)
  const bare = await startBare(bodies)
  const questions = [...bodies.keys()].map((path, index) => ({ path, key: keys[index % KEYS] ?? key }))
  const ours: Round[] = []
  const floor: Round[] = []
  for (let at = 0; at < ROUNDS; at++) {
    ours.push(await round(url, api.pid))
    floor.push(await round(bare.url, bare.pid))
  }
  bare.stop()
  show(ours, floor, [...bodies.values()])

  async function round(target: string, pid: number): Promise<Round> {
    const cpu = await cpuMs(pid)
    const loaded = await loadFrom({ url: target, seconds: SECONDS, connections: CONNECTIONS, questions, encoding })
    const { 200: answers = 0, ...others } = loaded.statuses
    const failed = loaded.errors + Object.values(others).reduce((sum, count) => sum + count, 0)
    if (failed > 0) throw new Error(`${failed} of ${answers + failed} requests failed.`)
    return { ...loaded, cpu: ((await cpuMs(pid)) - cpu) / answers }
  }
} finally {
  await api.stop('SIGTERM')
  await writer.stop()
  await store.close()
  if (kept === undefined) await rm(folder, { recursive: true, force: true })
}
process.exit()

/** Answers with all their candles, by path. */
async function closedAnswers(url: string): Promise<ReadonlyMap<string, string>> {
  const draw = drawer(1, { pools: POOLS, hours: DAYS * 24 })
  const ask = asker(url, key)
  const bodies = new Map<string, string>()
  while (bodies.size < QUESTIONS) {
    const { path } = draw('closed')
    const body = await ask<{ data: unknown[] }>(path)
    if (body.data.length === BUCKETS) bodies.set(path, JSON.stringify(body))
  }
  return bodies
}

async function startBare(bodies: ReadonlyMap<string, string>): Promise<{ url: string; pid: number; stop(): void }> {
  const script = join(import.meta.dirname, 'bare-answers.ts')
  const child = spawn(process.execPath, ['--import', 'tsx', script], { stdio: ['pipe', 'pipe', 'inherit'] })
  inputOf(child).end(JSON.stringify([...bodies]))
  const [port] = await once(child.stdout, 'data')
  return { url: `http://127.0.0.1:${Number(port)}`, pid: child.pid ?? 0, stop: () => void child.kill() }
}

function show(ours: readonly Round[], floor: readonly Round[], bodies: readonly string[]): void {
  const bytes = bodies.reduce((sum, body) => sum + Buffer.byteLength(body), 0) / bodies.length
  title(
    `${bodies.length} closed ranges of ${BUCKETS} candles, ${(bytes / 1_024).toFixed(1)} kB, ${CONNECTIONS} connections; floor: node:http`,
  )
  const median = (rounds: readonly Round[], of: (round: Round) => number) => quantile(rounds.map(of), 0.5)
  const line = (what: string, unit: string, of: (round: Round) => number) =>
    figure(what, median(ours, of), unit, median(floor, of))
  line('answers a second (3,000 at least, 0.4 of the floor)', '1/s', ({ perSecond }) => perSecond)
  line('p50', 'ms', ({ p50 }) => p50)
  line('p95 (15 at the most)', 'ms', ({ p95 }) => p95)
  line('CPU of an answer', 'ms', ({ cpu }) => cpu)
}
