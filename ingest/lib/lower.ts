import type { Address } from 'viem'

/** As addresses are compared and stored: in lower case, without the checksum. */
export function lower(address: Address): Address {
  return address.toLowerCase() as Address
}
