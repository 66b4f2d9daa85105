/** The receipts' root of a block from its receipts: logs with the root of a proven header are those of the chain, from any node. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createMerkleProof, createMPT, type MerklePatriciaTrie } from '@ethereumjs/mpt'
import { bytesToHex, concat, type Hex, hexToBytes, numberToHex, toRlp } from 'viem'
import { bytesIn, hexIn } from '../lib/hex.ts'
import { bloomOf } from './bloom.ts'
import { quantityItem } from './rlp-items.ts'

/** As a node answers it; the bloom follows from the logs. */
export type RawReceipt = {
  type?: unknown
  status?: unknown
  cumulativeGasUsed?: unknown
  logs: readonly RawLog[]
  /** A deposit of the OP stack has both. */
  depositNonce?: unknown
  depositReceiptVersion?: unknown
}

export type RawLog = { address: Hex; topics: readonly Hex[]; data: Hex }

/** The value of the trie under the receipt's index; undefined where a field is missing or ill-formed. */
export function encodeReceipt(receipt: RawReceipt): Hex | undefined {
  const type = receipt.type === undefined ? '0x' : quantityItem(receipt.type)
  const [status, gas] = [quantityItem(receipt.status), quantityItem(receipt.cumulativeGasUsed)]
  const logs = receipt.logs.map(encodeLog)
  if (type === undefined || type.length > 4 || status === undefined || gas === undefined) return undefined
  const items = logs.filter((log) => log !== undefined)
  const deposit = depositItems(receipt)
  if (items.length < logs.length || deposit === undefined) return undefined
  const body = toRlp([status, gas, bytesToHex(bloomOf(receipt.logs)), items, ...deposit])
  return type === '0x' ? body : concat([type, body])
}

/** The nonce is in the root since Canyon, which has introduced the version; nodes answer it for earlier blocks too. */
function depositItems({ depositNonce, depositReceiptVersion }: RawReceipt): Hex[] | undefined {
  if ((depositReceiptVersion ?? null) === null) return []
  const [nonce, version] = [quantityItem(depositNonce), quantityItem(depositReceiptVersion)]
  return nonce === undefined || version === undefined ? undefined : [nonce, version]
}

function encodeLog({ address, topics, data }: RawLog): [Hex, Hex[], Hex] | undefined {
  const words = topics.map((topic) => hexIn(topic, 32)).filter((topic) => topic !== undefined)
  const [emitter, bytes] = [hexIn(address, 20), bytesIn(data)]
  if (emitter === undefined || bytes === undefined || words.length < topics.length || words.length > 4) return undefined
  return [emitter, words, bytes]
}

/** Key of a receipt or a transaction in its trie. */
function indexKey(index: number): Uint8Array {
  return hexToBytes(toRlp(quantityItem(numberToHex(index)) ?? '0x'))
}

/** `values`: as `encodeReceipt` gives them, in the order of the block. */
export async function rootOf(values: readonly Hex[]): Promise<Hex> {
  return bytesToHex((await trieOf(values)).root())
}

/** The nodes of the trie from its root to the value at `index`, in RLP. */
export async function pathTo(values: readonly Hex[], index: number): Promise<Hex[]> {
  return (await createMerkleProof(await trieOf(values), indexKey(index))).map((node) => bytesToHex(node))
}

async function trieOf(values: readonly Hex[]) {
  const trie = await createMPT()
  for (const [index, value] of values.entries()) await put(trie, index, value)
  return trie
}

/** A block with a thousand receipts takes some 200 ms of processor time: other work runs in between. */
const AT_ONCE = 16

async function put(trie: MerklePatriciaTrie, index: number, value: Hex): Promise<void> {
  await trie.put(indexKey(index), hexToBytes(value))
  if (index % AT_ONCE === AT_ONCE - 1) await nextTurn()
}

/** How many of the receipts, from the first on, have this root: all, or all but the last one; undefined where neither have it. */
export async function countProven(receipts: readonly RawReceipt[], root: Hex): Promise<number | undefined> {
  const trie = await createMPT()
  let before = trie.root()
  for (const [index, receipt] of receipts.entries()) {
    const value = encodeReceipt(receipt)
    before = trie.root()
    if (value !== undefined) await put(trie, index, value)
    else if (index < receipts.length - 1) return undefined
  }
  if (receipts.length > 0 && bytesToHex(before) === root) return receipts.length - 1
  return bytesToHex(trie.root()) === root ? receipts.length : undefined
}
