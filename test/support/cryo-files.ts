/** Parquet files of a recorded chain with the names, columns and types of cryo's, written by ClickHouse. */
import { randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import type { Hex } from 'viem'
import type { RpcLog } from '../../ingest/rpc/rpc.ts'
import type { RpcServer } from './rpc-server.ts'

export type CryoRow = Record<string, number | Hex | null>
export type CryoRows = { logs: CryoRow[]; blocks: CryoRow[] }

/** `bytes`: hex in a row, raw in the file. */
const TYPES = {
  logs: {
    block_number: 'UInt32',
    transaction_index: 'UInt32',
    log_index: 'UInt32',
    transaction_hash: 'bytes',
    address: 'bytes',
    topic0: 'bytes',
    topic1: 'bytes',
    topic2: 'bytes',
    topic3: 'bytes',
    data: 'bytes',
    n_data_bytes: 'UInt32',
    chain_id: 'UInt64',
  },
  blocks: {
    block_hash: 'bytes',
    author: 'bytes',
    block_number: 'UInt32',
    gas_used: 'UInt64',
    extra_data: 'bytes',
    timestamp: 'UInt32',
    base_fee_per_gas: 'UInt64',
    chain_id: 'UInt64',
    parent_hash: 'bytes',
    logs_bloom: 'bytes',
  },
} as const

/** `as`: SQL of a column's values, where they are not those of the rows. */
export type CryoFileOptions = {
  from: number
  to: number
  without?: readonly string[]
  as?: Readonly<Record<string, string>>
  hex?: boolean
  network?: string
}

/** Returns the path of the file. */
export async function writeCryoFile(
  client: ClickHouseClient,
  folder: string,
  dataset: 'logs' | 'blocks',
  rows: readonly CryoRow[],
  { from, to, without = [], as = {}, hex = false, network = 'ethereum' }: CryoFileOptions,
): Promise<string> {
  const path = join(folder, `${network}__${dataset}__${padded(from)}_to_${padded(to)}.parquet`)
  const types = Object.entries(TYPES[dataset]).filter(([name]) => !without.includes(name))
  const table = `cryo_${randomUUID().replaceAll('-', '')}`
  const columns = types.map(([name, type]) => `${name} ${type === 'bytes' ? 'Nullable(String)' : `Nullable(${type})`}`)
  await client.command({ query: `CREATE TABLE ${table} (${columns.join(', ')}) ENGINE = Memory` })
  const settings = { input_format_skip_unknown_fields: 1 } as const
  await client.insert({ table, values: [...rows], format: 'JSONEachRow', clickhouse_settings: settings })
  const values = types.map(([name, type]) => {
    const value = as[name] ?? (type === 'bytes' && !hex ? `unhex(substring(${name}, 3))` : name)
    return `${value} AS ${name}`
  })
  const { stream } = await client.exec({
    query: `SELECT ${values.join(', ')} FROM ${table} FORMAT Parquet`,
    clickhouse_settings: {
      output_format_parquet_string_as_string: hex ? 1 : 0,
      output_format_parquet_compression_method: 'lz4',
      max_threads: 1,
    },
  })
  await pipeline(stream, createWriteStream(path))
  await client.command({ query: `DROP TABLE ${table}` })
  return path
}

function padded(block: number): string {
  return String(block).padStart(8, '0')
}

export type NodeBlock = Record<'hash' | 'parentHash' | 'logsBloom' | 'timestamp', Hex>

type Recorded = { url: string; chain: Pick<RpcServer['chain'], 'chainId' | 'logs'> }

/** Rows of the blocks, as cryo makes them of a node's answers. */
export async function cryoRowsOf({ url, chain }: Recorded, from: number, to: number): Promise<CryoRows> {
  const { chainId, logs } = chain
  const blocks: CryoRow[] = []
  for (let first = from; first <= to; first += 500) {
    const headers = await headersOf(url, first, Math.min(to, first + 499))
    blocks.push(...headers.map((header, index) => blockRow(first + index, chainId, header)))
  }
  const ours = logs.filter(({ blockNumber }) => Number(blockNumber) >= from && Number(blockNumber) <= to)
  return { blocks, logs: ours.map((log) => logRow(log, chainId)) }
}

/** In one batch. */
export async function headersOf(url: string, from: number, to: number): Promise<NodeBlock[]> {
  const calls = Array.from({ length: to - from + 1 }, (_, id) => ({
    ...{ jsonrpc: '2.0', id, method: 'eth_getBlockByNumber' },
    params: [`0x${(from + id).toString(16)}`, false],
  }))
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(calls) })
  const answers = (await answer.json()) as { id: number; result: NodeBlock }[]
  return answers.sort((a, b) => a.id - b.id).map(({ result }) => result)
}

export function logRow(log: RpcLog, chainId: number): CryoRow {
  const { address, topics, data, blockNumber, transactionHash, logIndex } = log
  return {
    block_number: Number(blockNumber),
    transaction_index: 0,
    log_index: Number(logIndex),
    transaction_hash: transactionHash,
    address,
    topic0: topics[0] ?? null,
    topic1: topics[1] ?? null,
    topic2: topics[2] ?? null,
    topic3: topics[3] ?? null,
    data,
    n_data_bytes: data.length / 2 - 1,
    chain_id: chainId,
  }
}

export function blockRow(
  number: number,
  chainId: number,
  { hash, parentHash, logsBloom, timestamp }: NodeBlock,
): CryoRow {
  return {
    block_hash: hash,
    author: `0x${'11'.repeat(20)}`,
    block_number: number,
    gas_used: 0,
    extra_data: '0x',
    timestamp: Number(timestamp),
    base_fee_per_gas: null,
    chain_id: chainId,
    parent_hash: parentHash,
    logs_bloom: logsBloom,
  }
}

/** Files of both kinds with `chunk` blocks each. */
export async function writeCryoFiles(
  client: ClickHouseClient,
  folder: string,
  { logs, blocks }: CryoRows,
  { from, to, chunk, ...options }: CryoFileOptions & { chunk: number },
): Promise<void> {
  for (let first = from; first <= to; first += chunk) {
    const range = { ...options, from: first, to: Math.min(to, first + chunk - 1) }
    const within = (row: CryoRow) =>
      Number(row['block_number']) >= range.from && Number(row['block_number']) <= range.to
    await writeCryoFile(client, folder, 'logs', logs.filter(within), range)
    await writeCryoFile(client, folder, 'blocks', blocks.filter(within), range)
  }
}
