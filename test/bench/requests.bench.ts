/**
 * Time and CPU of one request, to ClickHouse and to a node. The floor of the one is the client's own requests, of the other `fetch`:
 * the same statements and bodies, by turns, one at a time, 10 ms apart. ROUNDS (300) of each.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ClickHouseClient, createClient } from '@clickhouse/client'
import { ask } from '../../aggregator/store/store.ts'
import { openStore } from '../../infra/clickhouse/store.ts'
import { postTo } from '../../infra/rpc/http-post.ts'
import { createBareTable, insertBare } from './bare-insert.ts'
import { shapeOf } from './e2e.ts'
import { figure, quantile, title } from './figure.ts'
import { blockAt } from './synthetic.ts'

const ROUNDS = Number(process.env['ROUNDS'] ?? 300)
const WARM_UP = 50
/** So that no request meets the merges that the insert before it has caused. */
const PAUSE_MS = 10

const folder = await mkdtemp(join(tmpdir(), 'candlepool-bench-'))
const store = await openStore({ store: { kind: 'embedded' } }, join(folder, 'store'), () => {})
if (!store.engine) throw new Error('There is no embedded engine.')
const { url, database, users } = store.engine
const own = createClient({ url, database, ...users.owner })
const bare = spawn(process.execPath, ['--import', 'tsx', join(import.meta.dirname, 'bare-answers.ts')], {
  stdio: ['pipe', 'pipe', 'inherit'],
})
bare.stdin.end(JSON.stringify([['/', JSON.stringify({ jsonrpc: '2.0', id: 1, result: 'x'.repeat(3_000) })]]))
const [port] = await once(bare.stdout, 'data')
const node = `http://127.0.0.1:${Number(port)}/`
const post = postTo(node, 'node', 10_000)
const body = { jsonrpc: '2.0', id: 1, method: 'eth_getLogs', params: [{ blockHash: `0x${'0'.repeat(64)}` }] }
const block = blockAt(1, { ...shapeOf(1), swapsPerBlock: 3 })
await createBareTable(store.owner)

const headers = { 'content-type': 'application/json' }
const fetched = () =>
  fetch(node, { method: 'POST', headers, body: JSON.stringify(body) }).then((answer) => answer.json())
const selected = (client: ClickHouseClient) => () => ask(client, 'SELECT 1')
const inserted = (client: ClickHouseClient) => () => insertBare(client, block)

title(`${ROUNDS} requests one after another; floor: the client's own, and fetch`)
await compare('SELECT 1', selected(store.owner), selected(own))
await compare('insert of three ticks', inserted(store.owner), inserted(own))
await compare('JSON-RPC, 3 kB', () => post(body), fetched)

bare.kill()
await own.close()
await store.close()
await rm(folder, { recursive: true, force: true })
process.exit()

/** In ms. */
type Cost = { ms: number[]; cpu: number }

async function compare(what: string, ours: () => Promise<unknown>, floor: () => Promise<unknown>): Promise<void> {
  const costs: [Cost, Cost] = [
    { ms: [], cpu: 0 },
    { ms: [], cpu: 0 },
  ]
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    for (const [index, request] of [ours, floor].entries()) {
      await sleep(PAUSE_MS)
      const cost = costs[index]
      const began = performance.now()
      const before = process.cpuUsage()
      await request()
      const { user, system } = process.cpuUsage(before)
      if (!cost || round < 0) continue
      cost.ms.push(performance.now() - began)
      cost.cpu += (user + system) / 1_000 / ROUNDS
    }
  }
  const [one, other] = costs
  figure(`${what}, p50`, quantile(one.ms, 0.5), 'ms', quantile(other.ms, 0.5))
  figure(`${what}, p95`, quantile(one.ms, 0.95), 'ms', quantile(other.ms, 0.95))
  figure(`${what}, CPU of this process`, one.cpu, 'ms', other.cpu)
}
