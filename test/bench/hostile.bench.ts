/**
 * Answers of `/v0/health` while the preferred endpoint sends what is made to harm, and an honest one stands by: one process with all parts, and a
 * block each 200 ms. SECONDS scales each attack.
 */

import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { run, temporaryFolder, untilReady } from '../support/candlepool.ts'
import { serveTexts } from '../support/json-rpc.ts'
import { DAY } from '../support/recorded.ts'
import { recordedDayChain } from '../support/recorded-day.ts'
import { startRpcServer } from '../support/rpc-server.ts'
import { until } from '../support/until.ts'
import { figure, quantile, title } from './figure.ts'

const SECONDS = Number(process.env['SECONDS'] ?? 15)
const BLOCK_MS = 200
const MIB = 2 ** 20

const chain = { ...recordedDayChain({ finalized: DAY.lastBlock - 40 }), head: DAY.lastBlock - 30 }
const honest = await startRpcServer(chain)
type Attack = (response: ServerResponse) => unknown
let attack: Attack | undefined
/** Methods that are attacked: the first ones that are asked, or logs after good headers. */
let attacked = /./
const packed = (text: string): Attack => {
  const body = gzipSync(text)
  return (response) => response.setHeader('content-encoding', 'gzip').end(body)
}
const { url: hostileUrl, server: hostile } = await serveTexts(async (body, response) => {
  if (attack && attacked.test(body)) return void attack(response)
  const answer = await fetch(honest.url, { method: 'POST', body })
  response.end(Buffer.from(await answer.arrayBuffer()))
})

const bomb = packed(`[${'{},'.repeat(21 * MIB)}{}]`)
const ATTACKS: readonly (readonly [name: string, attack: Attack | undefined, attacked: RegExp])[] = [
  ['without an attack (floor)', undefined, /./],
  ['63 MB of empty objects for each answer', bomb, /./],
  ['63 MB of empty objects for logs alone', bomb, /eth_getLogs/],
  ['a million levels', packed('['.repeat(MIB)), /./],
  ['a byte now and then', (response) => void setInterval(() => response.write(' '), 100).unref(), /./],
  ['a redirect', (response) => response.writeHead(307, { location: 'http://127.0.0.1:9/' }).end(), /./],
]

const folder = await temporaryFolder()
const environment = {
  DATA_DIR: folder.path,
  PORT: '0',
  LOG_LEVEL: 'error',
  ETHEREUM_START: String(DAY.lastBlock - 100),
}
const main = run('start', { ...environment, ETHEREUM_RPC_URL: `${hostileUrl},${honest.url}` })
const { url } = await untilReady(main)
await until(async () => ((await tip()) >= DAY.lastBlock - 60 ? true : undefined), 'the chain is read')
const mining = setInterval(() => chain.head++, BLOCK_MS)

title(`/v0/health beside a hostile endpoint, ${SECONDS} s each`)
let floor: number | undefined
for (const [name, next, methods] of ATTACKS) {
  attacked = methods
  attack = next
  const before = await tip()
  const waits: number[] = []
  for (const end = performance.now() + SECONDS * 1_000; performance.now() < end; await sleep(20)) {
    const began = performance.now()
    await (await fetch(`${url}/v0/health`)).text()
    waits.push(performance.now() - began)
  }
  const p95 = quantile(waits, 0.95)
  figure(`${name}: p95`, p95, 'ms', floor)
  floor ??= p95
  figure(`${name}: longest`, Math.max(...waits), 'ms')
  figure(`${name}: blocks stored of ${Math.round((SECONDS * 1_000) / BLOCK_MS)}`, (await tip()) - before, 'blocks')
  figure(`${name}: memory of the process`, residentMib(main.pid), 'MiB')
}
clearInterval(mining)
await main.stop()
hostile.close().closeAllConnections()
await honest.stop()
await folder.remove()
process.exit()

async function tip(): Promise<number> {
  const health = (await (await fetch(`${url}/v0/health`)).json()) as { networks: { tip: { number: number } | null }[] }
  return health.networks[0]?.tip?.number ?? 0
}

function residentMib(pid: number): number {
  const [, kib] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kib) / 1_024
}
