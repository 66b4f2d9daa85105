/** Real blocks whose hashes and receipts' roots can be computed again. */
import { readFileSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'
import type { Hex } from 'viem'
import type { RawReceipt } from '../../ingest/proof/receipts-root.ts'

export type RawHeader = Record<string, Hex>
export type ProofBlock = { name: string; header: RawHeader; receipts: readonly RawReceipt[] }

const folder = new URL('../fixtures/proof/', import.meta.url)

export function realBlocks(): ProofBlock[] {
  return ['ethereum-21925176', 'polygon-50000000', 'arbitrum-150000000'].map((name) => {
    const text = brotliDecompressSync(readFileSync(new URL(`${name}.json.br`, folder))).toString()
    return { name, ...JSON.parse(text) }
  })
}

/** Three of each network, from the oldest to the newest. */
export function realHeaders(): { network: string; header: RawHeader }[] {
  return JSON.parse(readFileSync(new URL('headers.json', folder), 'utf8'))
}
