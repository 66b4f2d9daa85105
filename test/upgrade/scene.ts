/** A chain that grows during an upgrade, and the checks that follow one. */
import type { ClickHouseClient } from '@clickhouse/client'
import { expect } from 'vitest'
import { chainPool, startChain } from '../bench/chain-node.ts'
import { run, type Script } from '../support/candlepool.ts'
import { rowsOf } from '../support/rows.ts'
import { until } from '../support/until.ts'
import type { Second } from './load.ts'

export const KEY = 'a-key-of-the-operator'
/** A backup with older blocks of today would be a devnet's. */
const HEAD = 25_000_000
const HISTORY_BLOCKS = 300
const SWAPS_A_BLOCK = 20
/** So many are hot. */
const READ_POOLS = 20
/** As on Ethereum. */
const BLOCK_MS = 12_000

export const PATHS = Array.from({ length: READ_POOLS }, (_, index) => {
  const pool = chainPool(index)
  return [`/v0/candles?pool=${pool}&interval=1m&limit=100`, `/v0/ticks?pool=${pool}&limit=50`, `/v0/pools?pool=${pool}`]
}).flat()

/** Streams that stay open. */
export const FOLLOWED = Array.from({ length: 4 }, (_, index) => {
  const pool = chainPool(index)
  return [
    { pool, limit: 100, path: `/v0/candles?pool=${pool}&interval=1m&limit=100&fill=none` },
    { pool, limit: 50, path: `/v0/ticks?pool=${pool}&limit=50&include=position` },
  ]
}).flat()

export type GrowingChain = {
  environment: Record<string, string>
  head(): number
  /** No block follows. */
  end(): void
  stop(): Promise<void>
}

export async function startGrowingChain(): Promise<GrowingChain> {
  const node = await startChain({ latencyMs: 0, head: HEAD, swapsPerBlock: SWAPS_A_BLOCK })
  let head = HEAD
  const timer = setInterval(async () => {
    head = (await node.mine()).number
  }, BLOCK_MS)
  return {
    environment: {
      ETHEREUM_RPC_URL: `${node.url.replace('http', 'ws')},${node.url}`,
      ETHEREUM_START: String(HEAD - HISTORY_BLOCKS),
      BOOTSTRAP_API_KEY: KEY,
    },
    head: () => head,
    end: () => clearInterval(timer),
    stop() {
      clearInterval(timer)
      return node.stop()
    },
  }
}

/** A command that has to succeed. */
export async function command(
  root: string | undefined,
  environment: Record<string, string>,
  script: Script,
  ...args: string[]
): Promise<void> {
  const running = run(script, environment, args, { root })
  const code = await running.exited
  if (code !== 0) throw new Error(`${script} ${args.join(' ')} ended with ${code}:\n${running.output()}`)
}

/** Ticks and candles, without what differs from run to run. */
export async function marketOf(client: ClickHouseClient): Promise<Record<string, string[]>> {
  return { ticks: await rowsOf(client, 'ticks'), candles: await rowsOf(client, 'candles') }
}

export async function untilStored(client: ClickHouseClient, block: number): Promise<void> {
  const look = async () => {
    const answer = await client.query({ query: 'SELECT max(number) AS tip FROM blocks FINAL', format: 'JSONEachRow' })
    const [row] = await answer.json<{ tip: string }>()
    return Number(row?.tip) === block ? true : undefined
  }
  await until(look, `block ${block} is stored`)
}

export async function expectRows(url: string): Promise<void> {
  const answer = await fetch(`${url}${PATHS[0]}`, { headers: { 'X-API-KEY': KEY } })
  const { data } = (await answer.json()) as { data: unknown[] }
  expect({ status: answer.status, rows: data.length > 0 }).toEqual({ status: 200, rows: true })
}

/** `restarts`: steps in which one process is replaced, and none listens meanwhile. */
export function expectServed(seconds: readonly Second[], restarts: readonly string[]): void {
  const outside = seconds.filter(({ step }) => !restarts.includes(step))
  const wrong = seconds.filter((second) =>
    [...second.outcomes.keys()].some((it) => it !== 200 && !(it === 'refused' && restarts.includes(second.step))),
  )
  expect(wrong).toEqual([])
  expect(outside.filter(({ lag }) => lag === undefined || lag > 1)).toEqual([])
}
