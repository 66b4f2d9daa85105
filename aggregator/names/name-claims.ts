/** New names of tokens. A name counts once a second reading agrees. */
import type { Address, Client } from 'viem'
import type { Token } from '../../ingest/model/pool.ts'
import type { TokenAnswers } from '../../ingest/pools/token.ts'
import { voiceOf } from '../../ingest/rpc/voice.ts'
import type { NamedToken, TokenNameRow } from '../store/stored-tokens.ts'

const MAX_CLAIMS = 200
/** Old symbols of a token that still find it. */
const MAX_FORMER = 4
/** A token that said nothing when its first pool was stored. */
const NAMELESS = 'unknown'

/** Which node was asked, and the final block that it was asked at. */
export type NameReading = { client: Client; block: number }

export type NameClaim = NameReading & { symbol: string; name: string }

export type NameRules = {
  /** The number of voices that may answer: the second reading is of another one where there are several. */
  voices(): number
  /** A token that was renamed is not renamed again for so long. */
  renameRestMs: number
  /** A contract answers other decimals than the stored ones. */
  onDecimals(token: Token, answered: number): void
}

export class NameClaims {
  readonly #rules: NameRules
  /** The one that has waited longest first. */
  readonly #claims = new Map<Address, NameClaim>()

  constructor(rules: NameRules) {
    this.#rules = rules
  }

  has(token: Address): boolean {
    return this.#claims.has(token)
  }

  /** The tokens that have waited longest for a second reading. */
  waiting(limit: number): (readonly [Address, NameClaim])[] {
    return [...this.#claims].slice(0, limit)
  }

  /** The row to store; undefined where the answers say nothing new, or nothing that is certain by now. */
  judge(stored: NamedToken, answers: TokenAnswers, reading: NameReading): TokenNameRow | undefined {
    const { token, isOne, namedForMs } = stored
    const { symbol, name = token.name, decimals } = answers
    const before = this.#claims.get(token.address)
    this.#claims.delete(token.address)
    if (decimals !== undefined && decimals !== token.decimals) {
      this.#rules.onDecimals(token, decimals)
      return undefined
    }
    // A token keeps its stored name if its contract does not answer.
    if (symbol === undefined) return undefined
    const row = { address: token.address, symbol, name, former: formerOf(stored, symbol), block: reading.block }
    // The stored name is a reading, too.
    if (symbol === token.symbol && name === token.name) return isOne ? undefined : row
    if (namedForMs !== undefined && namedForMs < this.#rules.renameRestMs) return undefined
    const claim = before ?? { ...reading, symbol, name }
    // A name that changes before the next reading is dropped.
    if (claim.symbol !== symbol || claim.name !== name) return undefined
    if (this.#isConfirmed(claim, reading)) return row
    if (this.#claims.size < MAX_CLAIMS) this.#claims.set(token.address, claim)
    return undefined
  }

  #isConfirmed(claim: NameClaim, { client, block }: NameReading): boolean {
    const isOther = voiceOf(claim.client) !== voiceOf(client) || this.#rules.voices() < 2
    return isOther && block > claim.block
  }
}

/** The symbols that still find it, the newest first. */
function formerOf({ token, otherSymbols }: NamedToken, symbol: string): readonly string[] {
  const known = new Set([token.symbol, ...otherSymbols])
  for (const one of [symbol, NAMELESS]) known.delete(one)
  return [...known].slice(0, MAX_FORMER)
}
