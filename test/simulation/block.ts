/** A block of the simulated chain, which knows its parent: branches are told apart by where they meet. */
import { type Address, bytesToHex, type Hash, type Hex, hexToBytes, keccak256, numberToHex } from 'viem'
import type { PoolId } from '../../ingest/model/pool.ts'
import type { RpcLog } from '../../ingest/rpc/rpc.ts'
import { sealedHeader } from '../support/sealed-header.ts'
import { type BareLog, birthLogs, liquidityLog, POOLS, REFERENCE_POOL, swapLog } from './market.ts'
import type { Random } from './random.ts'
import { receiptsRootOf } from './receipts.ts'

export type Block = {
  number: number
  hash: Hash
  parentHash: Hash
  /** As a node answers it. */
  header: ReturnType<typeof sealedHeader>
  parent: Block | undefined
  timestamp: number
  logs: readonly (RpcLog & { blockTimestamp: Hex })[]
  /** The pools that are there after this block. */
  pools: ReadonlySet<PoolId>
  /** Whether its header has the root of its receipts; so have its children. */
  hasReceipts: boolean
  /** Absent: each child is some seconds later, which are drawn. */
  blockSeconds: number | undefined
}

/** The oldest block that nodes still have; the ones before it hold nothing. */
export const OLDEST = 980
/** The first block that listeners are told to read. */
export const START = 1_000
export const GENESIS: Genesis = { oldest: OLDEST, timestamp: Date.UTC(2024, 0, 31, 23, 58) / 1000 }

const born = (when: 'before' | 'stream') => POOLS.filter((pool) => pool.born === when)

/** Where a chain begins. */
export type Genesis = Pick<Content, 'timestamp' | 'hasReceipts' | 'blockSeconds'> & { oldest: number }

/** A block with the births of the old pools and a price to begin with, then plain ones: 20 in all, so that the next one is `START`. */
export function mineHistory(random: Random, { oldest, ...genesis }: Genesis = GENESIS): Block {
  const logs = [
    ...born('before').flatMap((pool) => birthLogs(pool, random)),
    ...POOLS.filter(({ id }) => id === REFERENCE_POOL).map((pool) => swapLog(pool, random)),
  ]
  let block = seal(undefined, { ...genesis, oldest, logs, pools: new Set(born('before').map(({ id }) => id)) })
  while (block.number < oldest + START - OLDEST - 1) block = mine(block, random)
  return block
}

/** The next block on `parent`, some seconds `later`. No two blocks have one hash, so that the same parent may be built on twice. */
export function mine(parent: Block, random: Random, later = 0): Block {
  const pools = new Set(parent.pools)
  const logs: BareLog[] = []
  for (let left = random.pick([0, 0, 1, 2, 3, 5]); left > 0; left--) {
    const unborn = POOLS.filter((pool) => !pools.has(pool.id))
    const [first, ...others] = POOLS.filter((pool) => pools.has(pool.id))
    if (!first) break
    const pool = random.pick([first, ...others])
    const chosen = random.next()
    if (chosen < 0.15 && unborn[0]) {
      const made = random.pick([unborn[0], ...unborn.slice(1)])
      pools.add(made.id)
      logs.push(...birthLogs(made, random))
      if (random.chance(0.5)) logs.push(swapLog(made, random))
    } else if (chosen < 0.35) logs.push(liquidityLog(pool, random))
    else logs.push(swapLog(pool, random))
  }
  const seconds = parent.blockSeconds ?? random.pick([0, 1, 1, 2, 2, 12, 61])
  return seal(parent, { timestamp: parent.timestamp + seconds + later, logs, pools, salt: random.bits(64) })
}

/** The same transactions in another block at another time: what a re-mined block is. */
export function remine(block: Block, parent: Block, random: Random): Block {
  const moved = parent.blockSeconds === undefined ? [30, 3_600] : []
  const timestamp = Math.max(parent.timestamp, block.timestamp + random.pick([-1, 0, 1, ...moved]))
  const pools = new Set([...parent.pools, ...block.pools])
  return seal(parent, { timestamp, logs: block.logs, pools, salt: random.bits(64) })
}

type Content = {
  /** Number of a block without a parent. */
  oldest?: number
  timestamp: number
  logs: readonly (BareLog & { transactionHash?: Hash })[]
  pools: Set<PoolId>
  salt?: bigint
  hasReceipts?: boolean
  blockSeconds?: number
}

function seal(parent: Block | undefined, content: Content): Block {
  const { oldest = OLDEST, timestamp, logs, pools, salt = 0n, hasReceipts = parent?.hasReceipts ?? false } = content
  const number = parent ? parent.number + 1 : oldest
  const parentHash = parent?.hash ?? keccak256('0x00')
  const logsBloom = bloomOf(logs)
  const receipts = hasReceipts ? { receiptsRoot: receiptsRootOf(logs) } : {}
  const salted = { salt: numberToHex(salt, { size: 32 }), ...receipts }
  const header = sealedHeader({ number, parentHash, timestamp, logsBloom, ...salted })
  const { hash } = header
  const place = { blockNumber: numberToHex(number), blockHash: hash, blockTimestamp: numberToHex(timestamp) }
  return {
    number,
    hash,
    parentHash,
    header,
    parent,
    timestamp,
    pools,
    hasReceipts,
    blockSeconds: content.blockSeconds ?? parent?.blockSeconds,
    logs: logs.map(({ address, topics, data, transactionHash }, index) => ({
      address: address.toLowerCase() as Address,
      topics,
      data,
      ...place,
      transactionHash: transactionHash ?? (`0x${hash.slice(2, 50)}${index.toString(16).padStart(16, '0')}` as Hash),
      transactionIndex: numberToHex(index),
      logIndex: numberToHex(2 * index + 1),
      removed: false,
    })),
  }
}

/** Undefined where the branch of `block` does not reach that far. */
export function ancestorOf(block: Block, number: number): Block | undefined {
  let at: Block | undefined = block
  while (at && at.number > number) at = at.parent
  return at?.number === number ? at : undefined
}

export function isAncestor(older: Block, block: Block): boolean {
  return ancestorOf(block, older.number) === older
}

const bits = new Map<Hex, readonly number[]>()

/** The header's bloom: three bits for every address and topic of its logs. */
function bloomOf(logs: readonly Pick<BareLog, 'address' | 'topics'>[]): Hex {
  const bloom = new Uint8Array(256)
  for (const item of logs.flatMap(({ address, topics }) => [address.toLowerCase() as Hex, ...topics])) {
    const known = bits.get(item) ?? bitsOf(item)
    bits.set(item, known)
    for (const bit of known) {
      const byte = 255 - (bit >> 3)
      bloom[byte] = (bloom[byte] ?? 0) | (1 << (bit & 7))
    }
  }
  return bytesToHex(bloom)
}

function bitsOf(item: Hex): number[] {
  const hash = hexToBytes(keccak256(hexToBytes(item)))
  return [0, 2, 4].map((start) => (((hash[start] ?? 0) << 8) | (hash[start + 1] ?? 0)) & 2_047)
}
