/**
 * A market for questions under load: a thousand pools of several hundred pairs, ten million trades up to this second, and a writer that
 * continues them. Of every ten swaps one is in the hottest pool, on each day the same.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import { aggregate } from '../../aggregator/aggregate.ts'
import { positionAfterStored } from '../../aggregator/ledger/resume.ts'
import { storedChain } from '../../aggregator/ledger/stored-blocks.ts'
import { mergeParts } from '../../aggregator/maintenance/part-merges.ts'
import { readTips } from '../../api/market/model/tip.ts'
import { inProcessLog } from '../../infra/kafka/in-process.ts'
import type { Message } from '../../ingest/model/message.ts'
import type { Pool, PoolBalance, Token } from '../../ingest/model/pool.ts'
import { copyFirstDay, storeFirstDay } from './past.ts'
import { blockMessage, poolId, rangeMessage, SECONDS_A_BLOCK, type Shape } from './synthetic.ts'

const DAY = 86_400
const BLOCKS_A_RANGE = 400
const SWAPS_A_BLOCK = 23
/** Pools of WETH and USDC; of any other token there are three. */
const LISTED = 4
const POOLS_A_TOKEN = 3

const USDC: Token = {
  address: '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48',
  symbol: 'USDC',
  name: 'USD Coin',
  decimals: 6,
}
const WETH: Token = {
  address: '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2',
  symbol: 'WETH',
  name: 'Wrapped Ether',
  decimals: 18,
}

/** The base of each pool's pair; its quote is USDC. */
export function tokenOf(pool: number): string {
  return pool < LISTED ? 'WETH' : `TK${Math.floor((pool - LISTED) / POOLS_A_TOKEN)}`
}

function poolAt(index: number): Pool {
  const symbol = tokenOf(index)
  const digits = Math.floor((index - LISTED) / POOLS_A_TOKEN + 1)
    .toString(16)
    .padStart(38, '0')
  const token1: Token =
    symbol === 'WETH' ? WETH : { address: `0xbb${digits}`, symbol, name: `Token ${symbol}`, decimals: 18 }
  return { id: poolId(index), protocol: 'dex-v3', token0: USDC, token1, fee: 500, initialSqrtPriceX96: 0n }
}

/** A million dollars and what they are worth. */
function balanceOf({ id }: Pool): PoolBalance {
  return { pool: id, balance0: 10n ** 12n, balance1: 440n * 10n ** 18n }
}

/** Makes the past where there is none yet. `days` are whole ones before today, of a million ticks each. */
export async function storePast(client: ClickHouseClient, days: number, pools: number): Promise<Shape> {
  const known = (await readTips(client, ['ethereum'])).get('ethereum')
  const today = Math.floor(Date.now() / 1_000 / DAY) * DAY
  const shape = { network: 'ethereum', swapsPerBlock: SWAPS_A_BLOCK, pools, firstTime: today - days * DAY } as const
  if (known) return { ...shape, firstTime: known.timestamp - known.number * SECONDS_A_BLOCK }
  await storeFirstDay(client, shape)
  await copyFirstDay(client, shape, 1, days, 0)
  return shape
}

/** Merges as each process that aggregates does half a minute after history. The engine may run merges of its own, which are waited for. */
export async function mergeHistory(client: ClickHouseClient): Promise<void> {
  const { signal } = new AbortController()
  for (let idle = 0; idle < 5; await sleep(1_000)) {
    const isBusy = await mergeParts(client, { quietSeconds: 0, signal }).catch((error: { type?: string }) => {
      // The engine has just begun a merge of its own.
      if (error.type === 'CANNOT_ASSIGN_OPTIMIZE') return true
      throw error
    })
    idle = isBusy ? 0 : idle + 1
  }
}

export type Writer = {
  /** Resolves once nothing is written any more. */
  stop(): Promise<void>
}

/** Resolves once all up to now is stored; from then on a block follows every two seconds. */
export async function startWriter(client: ClickHouseClient, shape: Shape): Promise<Writer> {
  const { network } = shape
  const tip = await storedChain(client, network).tip()
  if (!tip) throw new Error('There is no past that a block could follow.')
  const log = inProcessLog<Message>({ nextOffset: 0 })
  const stopping = new AbortController()
  const { signal } = stopping
  const report = (fact: { kind: string }) => {
    if (fact.kind === 'store-failed' || fact.kind === 'message-rejected') console.error(fact)
  }
  const position = await positionAfterStored(client, network)
  const aggregating = aggregate(client, { network, log, position, report, signal })
  let number = tip.number + 1
  for (let parentHash = tip.hash; number + 1 < numberAt(shape); ) {
    const to = Math.min(number + BLOCKS_A_RANGE, numberAt(shape)) - 1
    const range = rangeMessage(number, to, shape)
    const [first, ...rest] = range.blocks
    const pools = number === tip.number + 1 ? Array.from({ length: shape.pools }, (_, index) => poolAt(index)) : []
    const blocks = first ? [{ ...first, pools, balances: pools.map(balanceOf) }, ...rest] : []
    await log.append([{ ...range, parentHash, blocks }])
    parentHash = range.hash
    number = to + 1
  }
  // Trades every pool: from here on the aggregator has in memory what it would have after hours.
  await log.append([blockMessage(number++, { ...shape, swapsPerBlock: shape.pools * 8 })])
  const stored = async () => (await readTips(client, [network])).get(network)?.number ?? 0
  while ((await stored()) < number - 1) await sleep(200)
  const writing = write()
  return {
    async stop() {
      stopping.abort()
      await writing
      await log.close()
      await aggregating
    },
  }

  async function write(): Promise<void> {
    while (!signal.aborted) {
      const wait = (shape.firstTime + number * SECONDS_A_BLOCK) * 1_000 - Date.now()
      await sleep(Math.max(wait, 0), undefined, { signal }).catch(() => undefined)
      if (!signal.aborted) await log.append([blockMessage(number++, shape)])
    }
  }
}

/** The block of this second. */
function numberAt({ firstTime }: Shape): number {
  return Math.floor((Date.now() / 1_000 - firstTime) / SECONDS_A_BLOCK)
}
