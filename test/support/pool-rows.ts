/** Rows of the table `pools`, as they are stored. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { NetworkName } from '../../ingest/model/network.ts'
import { addressOf } from './store.ts'

export type StoredPoolRow = {
  network: NetworkName
  pool: string
  block: number
  time: number
  protocol: string
  venue: string
  fee: number
  initial_sqrt_price: string
  token0_address: string
  token0_symbol: string
  token0_name: string
  token0_decimals: number
  token1_address: string
  token1_symbol: string
  token1_name: string
  token1_decimals: number
  version: string
  is_deleted: 0 | 1
}

/** `id`: as `addressOf` takes it; a token is its address and its symbol. */
export function poolRow(
  id: string,
  network: NetworkName,
  [token0, symbol0]: readonly [string, string],
  [token1, symbol1]: readonly [string, string],
): StoredPoolRow {
  return {
    network,
    pool: addressOf(id),
    block: 1,
    time: 1,
    protocol: 'dex-v3',
    venue: 'uniswap',
    fee: 500,
    initial_sqrt_price: '1',
    token0_address: token0,
    token0_symbol: symbol0,
    token0_name: symbol0,
    token0_decimals: 18,
    token1_address: token1,
    token1_symbol: symbol1,
    token1_name: symbol1,
    token1_decimals: 18,
    version: '3',
    is_deleted: 0,
  }
}

export async function insertPoolRows(client: ClickHouseClient, rows: readonly StoredPoolRow[]): Promise<void> {
  await client.insert({ table: 'pools', values: rows, format: 'JSONEachRow' })
}

/** Pools of so many tokens of one symbol beside one other token, on Ethereum; `token`: where it is one. */
export async function insertMany(
  client: ClickHouseClient,
  options: { symbol: string; tokens: number; pools: number; other: readonly [string, string]; token?: string },
): Promise<void> {
  const { symbol, tokens, pools, other, token } = options
  const made = `concat('0x0aaa', leftPad(lower(hex(number % ${tokens})), 36, '0'))`
  await client.command({
    query: `INSERT INTO pools (network, pool, block, time, protocol, venue, fee, initial_sqrt_price, token0_address, token0_symbol, token0_name,
        token0_decimals, token1_address, token1_symbol, token1_name, token1_decimals, version, is_deleted)
      SELECT 'ethereum', concat('0x', substring(lower(hex(SHA256(concat('${symbol}', toString(number))))), 1, 40)), number + 1, 1, 'dex-v3', 'uniswap', 500, 1,
        ${token === undefined ? made : `'${token}'`}, '${symbol}', 'made up', 18, '${other[0]}', '${other[1]}', 'made up', 18, 3, 0
      FROM numbers(${pools})`,
  })
}
