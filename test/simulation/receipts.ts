/** Receipts of simulated blocks, one for each log, and their root. */
import { concat, type Hex, keccak256, numberToHex, toRlp } from 'viem'
import { encodeReceipt } from '../../ingest/proof/receipts-root.ts'
import { quantityItem } from '../../ingest/proof/rlp-items.ts'
import type { RpcLog } from '../../ingest/rpc/rpc.ts'
import type { BareLog } from './market.ts'

type ReceiptHead = { type: Hex; status: Hex; cumulativeGasUsed: Hex }

function headAt(index: number): ReceiptHead {
  return { type: '0x2', status: '0x1', cumulativeGasUsed: numberToHex(50_000 * (index + 1)) }
}

export function receiptsOf(logs: readonly RpcLog[]) {
  return logs.map((log, index) => ({
    ...headAt(index),
    transactionHash: log.transactionHash,
    blockHash: log.blockHash,
    blockNumber: log.blockNumber,
    logs: [log],
  }))
}

/** The root of the trie; at once, as sealing a block needs it. */
export function receiptsRootOf(logs: readonly BareLog[]): Hex {
  const items = logs.map((log, index): TrieItem => {
    const key = toRlp(quantityItem(numberToHex(index)) ?? '0x')
    return { path: [...key.slice(2)], value: encodeReceipt({ ...headAt(index), logs: [log] }) ?? '0x' }
  })
  return keccak256(items.length === 0 ? '0x80' : toRlp(nodeOf(items)))
}

type TrieItem = { path: readonly string[]; value: Hex }
type TrieNode = Hex[]

function nodeOf(items: readonly TrieItem[]): TrieNode {
  const [first] = items
  if (first && items.length === 1) return [packed(first.path, true), first.value]
  const shared = first?.path.findIndex((digit, at) => items.some(({ path }) => path[at] !== digit)) ?? 0
  if (first && shared > 0) return [packed(first.path.slice(0, shared), false), hashOf(cut(items, shared))]
  const children = [...'0123456789abcdef'].map((digit): Hex => {
    const own = items.filter(({ path }) => path[0] === digit)
    return own.length === 0 ? '0x' : hashOf(cut(own, 1))
  })
  return [...children, '0x']
}

/** A receipt has more than 32 bytes, and so has each node above it. */
function hashOf(items: readonly TrieItem[]): Hex {
  return keccak256(toRlp(nodeOf(items)))
}

function cut(items: readonly TrieItem[], count: number): TrieItem[] {
  return items.map(({ path, value }) => ({ path: path.slice(count), value }))
}

function packed(path: readonly string[], isLeaf: boolean): Hex {
  const isOdd = path.length % 2 === 1
  const flag = Number(isOdd) + (isLeaf ? 2 : 0)
  return concat([`0x${flag}${isOdd ? path[0] : '0'}`, `0x${path.slice(Number(isOdd)).join('')}`])
}
