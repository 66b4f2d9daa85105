/** Bloom filter of a header (2,048 bits): it proves that a block has no log of a filter, or indicates that it may have one. */
import { type Address, type Hex, hexToBytes, keccak256 } from 'viem'

type Filter = { topics: readonly (readonly Hex[] | null)[]; address?: readonly Address[] }

export type BloomVerdict =
  /** No log of the block can match. */
  | 'none'
  /** Some log may match. */
  | 'maybe'
  /** No bloom, or an empty one: some nodes leave it empty on purpose. */
  | 'unknown'

/** Verdict of the bloom on `filter`. Only addresses and first topics are checked. */
export function bloomVerdict(bloom: Hex | undefined, filter: Filter): BloomVerdict {
  if (bloom?.length !== 2 + 512 || /^0x0+$/.test(bloom)) return 'unknown'
  const bytes = hexToBytes(bloom)
  const [topics] = filter.topics
  const topic = !topics || topics.some((it) => contains(bytes, it))
  const address = !filter.address || filter.address.some((it) => contains(bytes, it))
  return topic && address ? 'maybe' : 'none'
}

/** Three bits of 2,048 for each value: the lowest 11 bits of the first three words of its hash (Yellow Paper, 4.3.1). */
function contains(bloom: Uint8Array, value: Hex): boolean {
  return bitsOf(value).every((bit) => ((bloom[255 - (bit >> 3)] ?? 0) & (1 << (bit & 7))) !== 0)
}

/** The bloom of these logs. */
export function bloomOf(logs: readonly { address: Hex; topics: readonly Hex[] }[]): Uint8Array {
  const bloom = new Uint8Array(256)
  const values = new Set(logs.flatMap(({ address, topics }) => [address, ...topics]))
  for (const value of values) {
    for (const bit of bitsOf(value)) bloom[255 - (bit >> 3)] = (bloom[255 - (bit >> 3)] ?? 0) | (1 << (bit & 7))
  }
  return bloom
}

export function bitsOf(value: Hex): readonly number[] {
  const before = knownBits.get(value)
  if (before) return before
  const hash = keccak256(value, 'bytes')
  const bits = [0, 2, 4].map((at) => (((hash[at] ?? 0) << 8) | (hash[at + 1] ?? 0)) & 2_047)
  if (knownBits.size >= MAX_KNOWN) knownBits.clear()
  knownBits.set(value, bits)
  return bits
}

/** Tokens, pools and events come again and again, in a block and from block to block. */
const knownBits = new Map<Hex, readonly number[]>()
const MAX_KNOWN = 10_000
