/** Pools by each of their tokens, then by the other one: a pair's pools are found at once among a million of a token, without a key of its own. */
import type { Address } from 'viem'
import { Groups } from '../../lib/groups.ts'
import type { Listing } from '../model/listing.ts'

export class TokenPools {
  /** Most tokens have one pool. */
  readonly #pools = new Map<Address, Listing | Groups<Address, Listing>>()

  of(token: Address): readonly Listing[] {
    const found = this.#pools.get(token)
    if (found === undefined) return []
    return found instanceof Groups ? [...found.values()] : [found]
  }

  ofPair(token: Address, other: Address): readonly Listing[] {
    const found = this.#pools.get(token)
    if (found === undefined) return []
    if (found instanceof Groups) return found.get(other)
    return otherToken(found, token) === other ? [found] : []
  }

  countOfPair(token: Address, other: Address): number {
    const found = this.#pools.get(token)
    if (found instanceof Groups) return found.countOf(other)
    return Number(found !== undefined && otherToken(found, token) === other)
  }

  count(token: Address): number {
    const found = this.#pools.get(token)
    return found instanceof Groups ? found.size : Number(found !== undefined)
  }

  first(token: Address): Listing | undefined {
    const found = this.#pools.get(token)
    return found instanceof Groups ? found.first() : found
  }

  some(token: Address, isWanted: (listing: Listing) => boolean): boolean {
    const found = this.#pools.get(token)
    if (!(found instanceof Groups)) return found !== undefined && isWanted(found)
    for (const listing of found.values()) if (isWanted(listing)) return true
    return false
  }

  add(listing: Listing): void {
    for (const token of tokensOf(listing)) {
      const found = this.#pools.get(token)
      if (found === undefined) this.#pools.set(token, listing)
      else if (found instanceof Groups) found.add(otherToken(listing, token), listing)
      else if (found !== listing) {
        const groups = new Groups<Address, Listing>()
        for (const one of [found, listing]) groups.add(otherToken(one, token), one)
        this.#pools.set(token, groups)
      }
    }
  }

  remove(listing: Listing): void {
    for (const token of tokensOf(listing)) {
      const found = this.#pools.get(token)
      if (found instanceof Groups) {
        found.remove(otherToken(listing, token), listing)
        const left = found.size === 1 ? found.first() : undefined
        if (left !== undefined) this.#pools.set(token, left)
      } else if (found === listing) this.#pools.delete(token)
    }
  }
}

function tokensOf({ pool: { token0, token1 } }: Listing): readonly Address[] {
  return [token0.address, token1.address]
}

function otherToken({ pool: { token0, token1 } }: Listing, token: Address): Address {
  return token0.address === token ? token1.address : token0.address
}
