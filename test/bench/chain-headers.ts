/** Headers of the made-up chain. */
import { type Hex, keccak256, numberToHex, padHex, toRlp } from 'viem'

export type ChainHeaders = {
  hashOf(block: number): Hex
  /** The number of the block whose header has this hash. */
  numberIn(hash: Hex): number
  headerAt(block: number): Record<string, Hex>
}

/** Digits of a made-up hash that are its block's number. */
const NUMBER_DIGITS = 12

const madeUpHash = (block: number): Hex =>
  `0x${'c'.repeat(64 - NUMBER_DIGITS)}${block.toString(16).padStart(NUMBER_DIGITS, '0')}`

/** A hash tells its number, and costs nothing. */
export function madeUpHeaders(timeOf: (block: number) => number): ChainHeaders {
  return {
    hashOf: madeUpHash,
    numberIn: (hash) => Number.parseInt(hash.slice(-NUMBER_DIGITS), 16),
    headerAt: (block) => ({
      number: numberToHex(block),
      hash: madeUpHash(block),
      parentHash: madeUpHash(Math.max(0, block - 1)),
      timestamp: numberToHex(timeOf(block)),
    }),
  }
}

/** In the order of the RLP list of a header of before London. */
const FIELDS = [
  ...['parentHash', 'sha3Uncles', 'miner', 'stateRoot', 'transactionsRoot', 'receiptsRoot', 'logsBloom', 'difficulty'],
  ...['number', 'gasLimit', 'gasUsed', 'timestamp', 'extraData', 'mixHash', 'nonce'],
]
const ofDigit = (digit: string, bytes = 32): Hex => `0x${digit.repeat(2 * bytes)}`
const SAME = {
  sha3Uncles: ofDigit('1'),
  miner: ofDigit('2', 20),
  stateRoot: ofDigit('3'),
  transactionsRoot: ofDigit('4'),
  receiptsRoot: ofDigit('5'),
  // Any block may have any log.
  logsBloom: ofDigit('f', 256),
  difficulty: '0x0',
  gasLimit: '0x1c9c380',
  gasUsed: '0x989680',
  extraData: '0x',
  mixHash: ofDigit('6'),
  nonce: ofDigit('0', 8),
} as const

/** Fields have their hash. From `firstLinked` on a header has the hash of the one before as its parent's, and below it a made-up one. */
export function provenHeaders(timeOf: (block: number) => number, firstLinked: number): ChainHeaders {
  const hashes = new Map<number, Hex>()
  const numbers = new Map<Hex, number>()

  function fieldsOf(block: number): Record<string, Hex> {
    const parentHash = block > firstLinked ? hashOf(block - 1) : madeUpHash(Math.max(0, block - 1))
    return { ...SAME, parentHash, number: numberToHex(block), timestamp: numberToHex(timeOf(block)) }
  }

  function hashOf(block: number): Hex {
    const known = hashes.get(block)
    if (known) return known
    // Ascending, so that a call goes no deeper than one block.
    for (let parent = firstLinked; parent < block; parent++) if (!hashes.has(parent)) hashOf(parent)
    const fields = fieldsOf(block)
    const hash = keccak256(toRlp(FIELDS.map((name) => itemOf(fields[name] ?? '0x'))))
    hashes.set(block, hash)
    numbers.set(hash, block)
    return hash
  }

  return {
    hashOf,
    numberIn: (hash) => numbers.get(hash) ?? -1,
    headerAt: (block) => ({ ...fieldsOf(block), hash: hashOf(block) }),
  }
}

/** RLP has a quantity of 0 as no bytes, and whole bytes of others. */
function itemOf(value: Hex): Hex {
  return value === '0x0' || value === '0x' ? '0x' : padHex(value, { size: Math.ceil((value.length - 2) / 2) })
}
