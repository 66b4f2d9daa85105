/** Headers of made blocks, which hash to their hashes as those of a chain since London do. */
import { type Hash, type Hex, keccak256, numberToHex, toRlp, zeroHash } from 'viem'

export type HeaderContent = {
  number: number
  parentHash: Hash
  timestamp: number
  logsBloom: Hex
  receiptsRoot?: Hash
  /** Blocks with the same content differ by it. */
  salt?: Hash
}

const ZERO_ADDRESS: Hex = '0x0000000000000000000000000000000000000000'

/** As a node answers it, without its transactions. */
export function sealedHeader({
  number,
  parentHash,
  timestamp,
  logsBloom,
  receiptsRoot = zeroHash,
  salt = zeroHash,
}: HeaderContent) {
  const fields = {
    parentHash,
    sha3Uncles: zeroHash,
    miner: ZERO_ADDRESS,
    stateRoot: zeroHash,
    transactionsRoot: zeroHash,
    receiptsRoot,
    logsBloom,
    difficulty: '0x0',
    number: numberToHex(number),
    gasLimit: '0x1c9c380',
    gasUsed: '0x0',
    timestamp: numberToHex(timestamp),
    extraData: '0x',
    mixHash: salt,
    nonce: '0x0000000000000000',
    baseFeePerGas: '0x7',
  } satisfies Record<string, Hex>
  const quantities = ['difficulty', 'number', 'gasLimit', 'gasUsed', 'timestamp', 'baseFeePerGas']
  const items = Object.entries(fields).map(([name, value]) => (quantities.includes(name) ? bytesOf(value) : value))
  return { ...fields, hash: keccak256(toRlp(items)) }
}

function bytesOf(quantity: Hex): Hex {
  const value = BigInt(quantity)
  if (value === 0n) return '0x'
  const digits = value.toString(16)
  return digits.length % 2 === 0 ? `0x${digits}` : `0x0${digits}`
}
