/** The sender of a swap as the tables have it: 20 bytes, zeros where the row was written by a version that did not keep it. */
import type { Address } from 'viem'

export const UNKNOWN_SENDER: Address = `0x${'0'.repeat(40)}`

/** `hex`: 40 digits, as a statement answers them. Undefined where it is unknown. */
export function storedSender(hex: string): Address | undefined {
  const sender: Address = `0x${hex}`
  return sender === UNKNOWN_SENDER ? undefined : sender
}
