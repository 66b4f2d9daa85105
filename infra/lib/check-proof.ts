/** Checks the proof of a tick without the chain and without code of the service: `infra/docs/proofs.md` has the format, and the same in Python. */
import { RLP } from '@ethereumjs/rlp'
import { keccak_256 } from '@noble/hashes/sha3'
import { bytesToHex, hexToBytes } from '@noble/hashes/utils'

/** First topics of Swap events, whose first five words are the same: Uniswap v3 and v4, PancakeSwap v3, Algebra 1.9. */
const [V3, V4, PANCAKE, ALGEBRA] = ['c42079f9', '40e9cecb', '19b47279', '121cb44e']

/** The proven fields of the tick, if the chain has the block `hash`. Throws where it is not proven. */
export function checkProof(text: string) {
  const { format, network, tick, block, receipt, log } = JSON.parse(text)
  require(format === 'candlepool-proof-1', 'the format is not candlepool-proof-1')
  require(hashOf(block.header) === block.hash, 'the header does not hash to the hash of the block')
  const header = decode(block.header) as string[]
  require(Number(`0x${header[8]}`) === block.number, 'the header has another number')
  const value = find(receipt.path, header[5] ?? '', bytesToHex(RLP.encode(receipt.index)))
  require(value === receipt.value.slice(2), 'the path leads to another receipt')
  const [, , , logs] = decode(receipt.value.replace(/^0x[0-7]./, '0x')) as string[][]
  const [contract, topics, data] = (logs?.[log] ?? []) as unknown as [string, string[], string]
  const kind = topics?.[0]?.slice(0, 8) ?? ''
  require([V3, V4, PANCAKE, ALGEBRA].includes(kind) && data.length >= 5 * 64, 'the log is no swap')
  const words = (data.match(/.{64}/g) ?? []).map((word) => String(BigInt.asIntN(256, BigInt(`0x${word}`))))
  const [amount0, amount1, sqrtPriceX96, liquidity, poolTick] = words
  const place = { network, tick, block: block.number, hash: block.hash, time: Number(`0x${header[11]}`) }
  const pool = `0x${kind === V4 ? topics[1] : contract}`
  return { ...place, contract: `0x${contract}`, pool, amount0, amount1, sqrtPriceX96, liquidity, poolTick }
}

/** The value of the trie under `key`, from the nodes on the way to it; all in hex. */
function find(path: readonly string[], root: string, key: string): string | undefined {
  let [expected, rest] = [root, key]
  for (const node of path) {
    require(hashOf(node) === `0x${expected}`, 'a node of the path is not the one that is named above it')
    const items = decode(node) as string[]
    const [first = '', second = ''] = items
    const own = items.length === 17 ? rest.slice(0, 1) : first.slice(/^[13]/.test(first) ? 1 : 2)
    require(rest.startsWith(own), 'the path leads to another receipt')
    rest = rest.slice(own.length)
    if (items.length === 2 && /^[23]/.test(first)) return rest === '' ? second : undefined
    expected = (items.length === 17 ? items[Number.parseInt(own, 16)] : second) ?? ''
  }
  return undefined
}

type Item = string | Item[]

function decode(text: string): Item {
  const hexOf = (item: unknown): Item => (Array.isArray(item) ? item.map(hexOf) : bytesToHex(item as Uint8Array))
  return hexOf(RLP.decode(hexToBytes(text.slice(2))))
}

const hashOf = (text: string) => `0x${bytesToHex(keccak_256(hexToBytes(text.slice(2))))}`

function require(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Error(otherwise)
}
