/** The blocks of a made-up chain as Parquet files of cryo, and their reading. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bytesToHex } from 'viem'
import { openStore, type Store } from '../../infra/clickhouse/store.ts'
import { listCryoFiles } from '../../infra/files/cryo-files.ts'
import { fileSource } from '../../infra/files/file-source.ts'
import type { HistorySource } from '../../ingest/backfill/history-source.ts'
import { bloomOf } from '../../ingest/proof/bloom.ts'
import type { RpcLog } from '../../ingest/rpc/rpc.ts'
import { blockRow, headersOf, logRow, writeCryoFile } from '../support/cryo-files.ts'
import { getChainLogs } from './bare-loop.ts'
import { enginePid } from './load-use.ts'

/** As many as cryo writes by default. */
const FILE_BLOCKS = Number(process.env['FILE_BLOCKS'] ?? 1_000)
const CHAIN_ID = 1

export type HistoryFiles = {
  source: HistorySource
  /** Process id of the engine that parses them. */
  engine: number
  close(): Promise<void>
}

/** With an engine that has nothing else to do. Blocks are not proven: the made-up chain has no receipts. */
export async function writeHistoryFiles(url: string, blocks: number): Promise<HistoryFiles> {
  const folder = await mkdtemp(join(tmpdir(), 'candlepool-bench-'))
  const store = await openStore({ store: { kind: 'embedded' } }, join(folder, 'store'), () => {})
  for (let from = 1; from <= blocks; from += FILE_BLOCKS)
    await writeBlocks(url, store, folder, { from, to: Math.min(blocks, from + FILE_BLOCKS - 1) })
  const options = { server: store.ownerAccess, files: await listCryoFiles(folder), chainId: CHAIN_ID, proofShare: 0 }
  return {
    source: fileSource(options),
    engine: await enginePid(join(folder, 'store')),
    async close() {
      await store.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function writeBlocks(url: string, { owner }: Store, folder: string, range: { from: number; to: number }) {
  const logs = await getChainLogs(url, range.from, range.to)
  const byBlock = new Map<number, RpcLog[]>()
  for (const log of logs) {
    const number = Number(log.blockNumber)
    byBlock.set(number, [...(byBlock.get(number) ?? []), log])
  }
  const headers = await headersOf(url, range.from, range.to)
  const rows = headers.map((header, index) => {
    const number = range.from + index
    const logsBloom = bytesToHex(bloomOf(byBlock.get(number) ?? []))
    return blockRow(number, CHAIN_ID, { ...header, logsBloom })
  })
  await writeCryoFile(
    owner,
    folder,
    'logs',
    logs.map((log) => logRow(log, CHAIN_ID)),
    range,
  )
  await writeCryoFile(owner, folder, 'blocks', rows, range)
}
