/** The hash of a header from its own fields: none of them can be altered without changing the hash. */
import { type Hex, keccak256, toRlp } from 'viem'
import { bytesIn, hexIn } from '../lib/hex.ts'
import { quantityItem } from './rlp-items.ts'

export type HeaderVerdict =
  /** Its fields hash to its hash. */
  | 'proven'
  /** It has a field that no known fork has, so its hash cannot be computed. */
  | 'unknown-fork'
  /** Its fields hash to another hash, or one of them is missing or ill-formed. */
  | 'forged'

type FieldKind = 'quantity' | 'bytes' | number

/** In the order of the RLP list; a number is the length in bytes. Of before London. */
const FIRST_FIELDS: readonly (readonly [name: string, kind: FieldKind])[] = [
  ['parentHash', 32],
  ['sha3Uncles', 32],
  ['miner', 20],
  ['stateRoot', 32],
  ['transactionsRoot', 32],
  ['receiptsRoot', 32],
  ['logsBloom', 256],
  ['difficulty', 'quantity'],
  ['number', 'quantity'],
  ['gasLimit', 'quantity'],
  ['gasUsed', 'quantity'],
  ['timestamp', 'quantity'],
  ['extraData', 'bytes'],
  ['mixHash', 32],
  ['nonce', 8],
]
/** Added by forks in this order: London, Shanghai, Cancun (three), Prague. */
const FORK_FIELDS: readonly (readonly [name: string, kind: FieldKind])[] = [
  ['baseFeePerGas', 'quantity'],
  ['withdrawalsRoot', 32],
  ['blobGasUsed', 'quantity'],
  ['excessBlobGas', 'quantity'],
  ['parentBeaconBlockRoot', 32],
  ['requestsHash', 32],
]
/** Fields that nodes answer and no header has. */
const BESIDE = new Set([
  ...['hash', 'size', 'totalDifficulty', 'transactions', 'uncles', 'withdrawals', 'author', 'sealFields'],
  ...['l1BlockNumber', 'sendCount', 'sendRoot', 'milliTimestamp'],
])
const KNOWN = new Set([...FIRST_FIELDS, ...FORK_FIELDS].map(([name]) => name))
/** Polygon's has the order of its transactions. */
const MAX_EXTRA_BYTES = 131_072

/** `block`: as a node answers `eth_getBlockByNumber`. */
export function headerVerdict(block: Readonly<Record<string, unknown>>): HeaderVerdict {
  if (encodeHeader(block) !== undefined) return 'proven'
  const isWhole = typeof block['hash'] === 'string' && itemsOf(block, FIRST_FIELDS) && itemsOf(block, forkFields(block))
  return isWhole && Object.entries(block).some(([name, value]) => isUnknownField(name, value))
    ? 'unknown-fork'
    : 'forged'
}

/** The RLP list that hashes to the hash of the block; undefined where its fields have no such list. */
export function encodeHeader(block: Readonly<Record<string, unknown>>): Hex | undefined {
  const hash = block['hash']
  const items = itemsOf(block, FIRST_FIELDS)
  const later = itemsOf(block, forkFields(block))
  if (typeof hash !== 'string' || !items || !later) return undefined
  // Nodes answer fields of later forks for earlier blocks too.
  for (let count = later.length; count >= 0; count--) {
    const list = toRlp([...items, ...later.slice(0, count)])
    if (keccak256(list) === hash.toLowerCase()) return list
  }
  return undefined
}

/** Fields of forks are present up to one. */
function forkFields(block: Readonly<Record<string, unknown>>): typeof FORK_FIELDS {
  const missing = FORK_FIELDS.findIndex(([name]) => (block[name] ?? null) === null)
  return missing === -1 ? FORK_FIELDS : FORK_FIELDS.slice(0, missing)
}

function isUnknownField(name: string, value: unknown): boolean {
  return !KNOWN.has(name) && !BESIDE.has(name) && typeof value === 'string' && /^0x[0-9a-f]+$/i.test(value)
}

/** Undefined where a field is missing or ill-formed. */
function itemsOf(block: Readonly<Record<string, unknown>>, fields: typeof FIRST_FIELDS): Hex[] | undefined {
  const items: Hex[] = []
  for (const [name, kind] of fields) {
    const item = itemOf(block[name], kind)
    if (item === undefined) return undefined
    items.push(item)
  }
  return items
}

function itemOf(value: unknown, kind: FieldKind): Hex | undefined {
  if (kind === 'quantity') return quantityItem(value)
  if (kind !== 'bytes') return hexIn(value, kind)
  return typeof value === 'string' && value.length <= 2 + 2 * MAX_EXTRA_BYTES ? bytesIn(value) : undefined
}
