/**
 * `npm start` over tables that hold much already, each kind beside a store with next to nothing: a year of the ledger of Arbitrum, a million
 * pools, ten thousand keys with an hour of use each, a hundred thousand tokens with one symbol. The rows are made up inside the engine. BLOCKS,
 * POOLS, KEYS and COPIES scale it.
 */
import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ClickHouseClient } from '@clickhouse/client'
import { openStore } from '../../infra/clickhouse/store.ts'
import { asker, run, untilReady } from '../support/candlepool.ts'
import { startRpcServer } from '../support/rpc-server.ts'
import { until } from '../support/until.ts'
import { figure, title } from './figure.ts'
import { enginePid, megabytes } from './load-use.ts'

/** `copies`: so many of the pools have a token of one symbol, a mint, a day of trades and a balance. */
type Stored = { name: string; blocks: number; pools: number; keys: number; copies: number }
type Figures = Record<
  | 'start'
  | 'listed'
  | 'symbol'
  | 'copied'
  | 'copiedAgain'
  | 'block'
  | 'candles'
  | 'pools'
  | 'status'
  | 'process'
  | 'engine',
  number
>

const FEW = { blocks: 1_000, pools: 100, keys: 1, copies: 50 }
const BLOCKS = Number(process.env['BLOCKS'] ?? 126_000_000)
const POOLS = Number(process.env['POOLS'] ?? 1_000_000)
const KEYS = Number(process.env['KEYS'] ?? 10_000)
const COPIES = Number(process.env['COPIES'] ?? 100_000)
const STORES: readonly Stored[] = [
  { name: 'next to nothing', ...FEW },
  { name: `${BLOCKS.toLocaleString('en')} blocks`, ...FEW, blocks: BLOCKS },
  { name: `${POOLS.toLocaleString('en')} pools`, ...FEW, pools: POOLS },
  { name: `${KEYS.toLocaleString('en')} keys`, ...FEW, keys: KEYS },
  {
    name: `${POOLS.toLocaleString('en')} pools, ${COPIES.toLocaleString('en')} of one symbol`,
    ...FEW,
    pools: POOLS,
    copies: COPIES,
  },
]
const NETWORK = 'arbitrum'
const CHAIN_ID = 42_161
const BLOCKS_A_SECOND = 4
/** Rows of one statement: what it sorts is held in memory. */
const ROWS_AT_ONCE = 10_000_000
const QUESTIONS = 20
const NEW_BLOCKS = 20
/** Ids are spread as those of real pools. */
const POOL = `0x${createHash('sha1').update('0').digest('hex')}`
const ID = "concat('0x', lower(hex(SHA1(toString(number)))))"
const LISTED_SYMBOL = 'WETH-USDC'
const SYMBOL = 'TKN99-USDC'
const COPIED_SYMBOL = 'COPY-USDC'
/** The mint of one copy: $30,000. */
const SOUND_LIQUIDITY = '10000000000000'
const FINAL_DEPTH = 100
const LISTED_POOL = `INSERT INTO pools
  SELECT * REPLACE ('0xc6962004f452be9203591991d15f6b388e09e8d0' AS pool, '0x82af49447d8a07e3bd95bd0d56f35241523fbab1' AS token0_address, 'WETH' AS token0_symbol)
  FROM (SELECT * FROM pools WHERE network = '${NETWORK}' AND pool = '${POOL}')`

const begun = Math.floor(Date.now() / 1_000)
let least: Figures | undefined
for (const stored of STORES) {
  const folder = await mkdtemp(join(tmpdir(), 'candlepool-bench-'))
  await fill(folder, stored)
  const found = await measure(folder, stored)
  await rm(folder, { recursive: true, force: true })
  title(`npm start over ${stored.name}, beside next to nothing`)
  const print = (what: string, of: keyof Figures, unit: string) => figure(what, found[of], unit, least?.[of])
  print('start to the first answer about a pool', 'start', 's')
  print('start to the first answer about a pair of listed tokens', 'listed', 's')
  print('start to the first answer about another symbol', 'symbol', 's')
  print(`the first answer about a symbol of ${stored.copies.toLocaleString('en')} tokens`, 'copied', 'ms')
  print('the same symbol again, p50', 'copiedAgain', 'ms')
  print('new block to /v0/health, p50', 'block', 'ms')
  print('candles of a pool, p50', 'candles', 'ms')
  print('a pool, p50', 'pools', 'ms')
  print('npm run status', 'status', 's')
  print('memory of npm start', 'process', 'MiB')
  print('memory of the engine', 'engine', 'MiB')
  least ??= found
}
process.exit()

async function fill(folder: string, { blocks, pools, keys, copies }: Stored): Promise<void> {
  const store = await openStore({ store: { kind: 'embedded' } }, join(folder, 'store'), () => {})
  const insert = (statement: string, rows: number) => inPieces(store.owner, statement, rows)
  const hash = (number: string) => `unhex(leftPad(lower(hex(${number})), 64, '0'))`
  const time = (number: string) => `toDateTime(${begun} - intDiv(${blocks} - (${number}), ${BLOCKS_A_SECOND}), 'UTC')`
  await insert(
    `INSERT INTO blocks (network, number, hash, parent_hash, time, first, ticks, digest, version, is_deleted, finalized)
     SELECT '${NETWORK}', number + 1, ${hash('number + 1')}, ${hash('number')}, ${time('number + 1')}, number + 1, 0, 0, 2 * number + 1, 0,
       if(number > ${FINAL_DEPTH}, number - ${FINAL_DEPTH}, 0) FROM {rows}`,
    blocks,
  )
  await insert(
    `INSERT INTO pools (network, pool, block, time, protocol, fee, initial_sqrt_price, token0_address, token0_symbol, token0_name, token0_decimals,
       token1_address, token1_symbol, token1_name, token1_decimals, version, is_deleted)
     SELECT '${NETWORK}', ${ID}, number % ${blocks} + 1, ${time(`number % ${blocks} + 1`)}, 'dex-v3', 500,
       bitShiftLeft(toUInt256(1), 96), concat('0xa', leftPad(lower(hex(number + 1)), 39, '0')), if(number < ${copies}, 'COPY', concat('TKN', toString(number))), 'Token', 18,
       '0xff970a61a04b1ca14834a43f5de4533ebddb5cc8', 'USDC', 'USD Coin', 6, 2 * (number % ${blocks}) + 1, 0 FROM {rows}`,
    pools,
  )
  await store.owner.command({ query: LISTED_POOL })
  await fillCopies(insert, copies)
  const key = "SHA256(concat('key ', toString(intDiv(number, 60))))"
  await insert(
    `INSERT INTO api_keys (key_hash, id, name, plan, created, version)
     SELECT SHA256(concat('key ', toString(number))), toString(number), 'made up', 'free', now(), 1 FROM {rows}`,
    keys,
  )
  await insert(
    `INSERT INTO usage (key_hash, minute, instance, credits, calls, version)
     SELECT ${key}, toStartOfMinute(now()) - 60 * (number % 60), generateUUIDv4(), 1, 1, 1 FROM {rows}`,
    60 * keys,
  )
  await store.close()
}

/** A mint, four candles and, for every second one, a balance. The last one is worth something. */
async function fillCopies(insert: (statement: string, rows: number) => Promise<void>, copies: number): Promise<void> {
  await insert(
    `INSERT INTO liquidity_changes (network, pool, block, log_index, time, tick_lower, tick_upper, liquidity_delta, version, is_deleted)
     SELECT '${NETWORK}', ${ID}, 1, number, now() - 86400, -60, 60, if(number = ${copies - 1}, ${SOUND_LIQUIDITY}, 1000), 1, 0 FROM {rows}`,
    copies,
  )
  await insert(
    `INSERT INTO candles (network, pool, resolution, time, open, volume0, volume1, volume_usd, trades, version)
     SELECT '${NETWORK}', ${ID}, arrayJoin([1, 60, 3600, 86400]) AS resolution, toStartOfDay(now()), 1, 1, 1, 1, 1, 1 FROM {rows}`,
    copies,
  )
  await insert(
    `INSERT INTO pool_balance_hours (network, pool, hour, block, balance0, balance1, version, is_deleted)
     SELECT '${NETWORK}', ${ID}, toStartOfHour(now()), 1, 1000, 1000, 1, 0 FROM {rows} WHERE number % 2 = 0`,
    copies,
  )
}

async function inPieces(client: ClickHouseClient, statement: string, rows: number): Promise<void> {
  for (let from = 0; from < rows; from += ROWS_AT_ONCE) {
    const count = Math.min(ROWS_AT_ONCE, rows - from)
    await client.command({ query: statement.replace('{rows}', `numbers(${from}, ${count})`) })
  }
}

async function measure(folder: string, { blocks }: Stored): Promise<Figures> {
  const timestampOf = (block: number) => begun - Math.floor((blocks - block) / BLOCKS_A_SECOND)
  const chain = {
    chainId: CHAIN_ID,
    head: blocks,
    finalized: blocks - FINAL_DEPTH,
    logs: [],
    contracts: {},
    timestampOf,
  }
  const rpc = await startRpcServer(chain)
  const environment = { ARBITRUM_RPC_URL: rpc.url, DATA_DIR: folder, PORT: '0' }
  const began = performance.now()
  const main = run('start', environment)
  const { url, key } = await untilReady(main)
  const ask = asker(url, key)
  await ask(`/v0/pools?pool=${POOL}`)
  const start = (performance.now() - began) / 1_000
  await ask(`/v0/pools?symbol=${LISTED_SYMBOL}`)
  const listed = (performance.now() - began) / 1_000
  await ask(`/v0/pools?symbol=${SYMBOL}`)
  const symbol = (performance.now() - began) / 1_000
  const copied = await timed(() => ask(`/v0/pools?symbol=${COPIED_SYMBOL}`))
  const copiedAgain = await p50Of(QUESTIONS, () => timed(() => ask(`/v0/pools?symbol=${COPIED_SYMBOL}`)))
  const block = await p50Of(NEW_BLOCKS, () => newBlock())
  const candles = await p50Of(QUESTIONS, () => timed(() => ask(`/v0/candles?pool=${POOL}&interval=1m&limit=100`)))
  const pools = await p50Of(QUESTIONS, () => timed(() => ask(`/v0/pools?pool=${POOL}`)))
  const status = (await timed(() => run('status', environment).exited)) / 1_000
  const engine = await megabytes(await enginePid(join(folder, 'store')))
  const figures = {
    start,
    listed,
    symbol,
    copied,
    copiedAgain,
    block,
    candles,
    pools,
    status,
    process: await megabytes(main.pid),
    engine,
  }
  await main.stop()
  await rpc.stop()
  return figures

  async function newBlock(): Promise<number> {
    rpc.chain.head++
    const isThere = async () => {
      const { networks } = await ask<{ networks: { tip: { number: number } | null }[] }>('/v0/health')
      return networks[0]?.tip?.number === rpc.chain.head ? true : undefined
    }
    return timed(() => until(isThere, 'the new block is shown'))
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

async function p50Of(rounds: number, work: () => Promise<number>): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < rounds; round++) times.push(await work())
  return times.sort((one, other) => one - other)[Math.floor(rounds / 2)] ?? Number.NaN
}
