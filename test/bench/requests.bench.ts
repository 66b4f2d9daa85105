/**
 * Time and CPU of one request, to ClickHouse and to a node. The floor of the one is the client's own requests, of the other `fetch`:
 * the same statements and bodies, by turns, one at a time. ROUNDS (300) of each, PAUSE_MS (10) apart.
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
import { DIRECT } from '../../infra/config/rpc-access.ts'
import { postTo } from '../../infra/rpc/http-post.ts'
import { inputOf } from '../support/child-input.ts'
import { createBareTable, insertBare } from './bare-insert.ts'
import { shapeOf } from './e2e.ts'
import { type Cost, costOf, figure, quantile, title } from './figure.ts'
import { blockAt } from './synthetic.ts'

const ROUNDS = Number(process.env['ROUNDS'] ?? 300)
const WARM_UP = 50
/** So that no request meets the merges that the insert before it has caused. */
const PAUSE_MS = Number(process.env['PAUSE_MS'] ?? 10)

const folder = await mkdtemp(join(tmpdir(), 'candlepool-bench-'))
const store = await openStore({ store: { kind: 'embedded' } }, join(folder, 'store'), () => {})
if (!store.engine) throw new Error('There is no embedded engine.')
const { url, database, users } = store.engine
const own = createClient({ url, database, ...users.owner })
const bare = spawn(process.execPath, ['--import', 'tsx', join(import.meta.dirname, 'bare-answers.ts')], {
  stdio: ['pipe', 'pipe', 'inherit'],
})
inputOf(bare).end(JSON.stringify([['/', JSON.stringify({ jsonrpc: '2.0', id: 1, result: 'x'.repeat(3_000) })]]))
const [port] = await once(bare.stdout, 'data')
const node = `http://127.0.0.1:${Number(port)}/`
const post = postTo({ url: node, name: 'node', timeoutMs: 10_000, access: DIRECT })
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

async function compare(what: string, ours: () => Promise<unknown>, floor: () => Promise<unknown>): Promise<void> {
  const costs: [Cost[], Cost[]] = [[], []]
  for (let round = 0; round < WARM_UP + ROUNDS; round++) {
    for (const [index, request] of [ours, floor].entries()) {
      await sleep(PAUSE_MS)
      costs[index]?.push(await costOf(request))
    }
  }
  const [one, other] = costs.map((all) => all.slice(WARM_UP))
  const line = (figureOf: string, of: (costs: readonly Cost[]) => number) =>
    figure(`${what}, ${figureOf}`, 1_000 * of(one ?? []), 'ms', 1_000 * of(other ?? []))
  const seconds = (costs: readonly Cost[]) => costs.map(({ seconds }) => seconds)
  line('p50', (costs) => quantile(seconds(costs), 0.5))
  line('p95', (costs) => quantile(seconds(costs), 0.95))
  line('CPU of this process', (costs) => costs.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0) / ROUNDS)
}
