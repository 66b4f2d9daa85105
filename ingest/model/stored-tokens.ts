/** Tokens in the tables. Stored prices rest on their decimals, so these never change; a contract may change its name. */
import type { Address } from 'viem'
import type { Token } from './pool.ts'

/** The stored ones of `addresses`, in any order, with their current names. */
export type StoredTokens = (addresses: readonly Address[]) => Promise<Token[]>
