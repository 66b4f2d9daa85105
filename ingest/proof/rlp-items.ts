/** A number as an item of an RLP list, from the hex text of JSON-RPC. */
import type { Hex } from 'viem'

const ZERO = '0x'

/** The big-endian bytes of a number, none for 0; undefined where the text is no quantity of at most 32 bytes. */
export function quantityItem(value: unknown): Hex | undefined {
  if (typeof value !== 'string' || !/^0x[0-9a-f]{1,64}$/i.test(value)) return undefined
  const digits = value.slice(2).replace(/^0+/, '')
  if (digits === '') return ZERO
  return digits.length % 2 === 0 ? `0x${digits}` : `0x0${digits}`
}
