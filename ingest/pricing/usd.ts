/** Dollar value of a swap, by trusted tokens alone: stablecoins are $1, volatile ones follow their reference pool. */
import type { Address } from 'viem'
import type { Swap } from '../decode/event.ts'
import { NATIVE_CURRENCY, type Network } from '../model/network.ts'
import type { PoolId } from '../model/pool.ts'
import { type DoubleDouble, nearestInteger, product, quotient, toDoubleDouble } from './double-double.ts'
import { magnitude, powerOfTen } from './price.ts'

/** Millionths of a dollar for one raw unit of a token, as an exact ratio and as a double-double. */
type UnitPrice = { numerator: bigint; denominator: bigint; pair: DoubleDouble }

/** The part of a pool that pricing needs. */
type PricedPool = { id: PoolId; token0: { address: Address }; token1: { address: Address } }

type Observation = { block: number; price: UnitPrice }

/** Prices of one token along the chain, the newest last. */
export type PriceHistory = readonly { readonly price: { readonly pair: DoubleDouble } }[]

const MICROS = 1_000_000n
const Q192 = 2n ** 192n

/**
 * Dollar prices of one network along the chain. Swaps are observed in chain order; a rollback undoes them. A swap of a reference pool
 * counts for itself, so that live blocks, backfills and restarts price alike.
 */
export class UsdPrices {
  readonly #stable = new Map<Address, readonly [Observation]>()
  readonly #reference = new Map<PoolId, Address>()
  readonly #observed = new Map<Address, Observation[]>()
  readonly #wrappedNative: Address

  constructor(network: Network) {
    this.#wrappedNative = network.wrappedNative.toLowerCase() as Address
    for (const token of network.trustedTokens) {
      if (token.role !== 'stablecoin') continue
      const price = unitPrice(MICROS, powerOfTen(token.decimals))
      this.#stable.set(token.address.toLowerCase() as Address, [{ block: 0, price }])
    }
    for (const { pool, token } of network.referencePools) {
      this.#reference.set(pool.toLowerCase() as PoolId, token.toLowerCase() as Address)
      this.#observed.set(token.toLowerCase() as Address, [])
    }
  }

  /** Records the price after a swap, where its pool is a reference pool. */
  observe(pool: PricedPool, sqrtPriceX96: bigint, block: number): void {
    const token = this.#reference.get(pool.id)
    if (token === undefined || sqrtPriceX96 === 0n) return
    const isToken0 = pool.token0.address === token
    const stable = this.#stable.get(isToken0 ? pool.token1.address : pool.token0.address)?.[0].price
    if (!stable) return
    const square = sqrtPriceX96 * sqrtPriceX96
    const price = isToken0
      ? unitPrice(square * stable.numerator, Q192 * stable.denominator)
      : unitPrice(Q192 * stable.numerator, square * stable.denominator)
    const history = this.#observed.get(token) ?? []
    // Within a block only the latest price matters to later swaps.
    if (history.at(-1)?.block === block) history.pop()
    history.push({ block, price })
    this.#observed.set(token, history)
  }

  isReference(pool: PoolId): boolean {
    return this.#reference.has(pool)
  }

  /** A list that later observations change; undefined where no price of the token is known ever. */
  historyOf(token: Address): PriceHistory | undefined {
    return this.#pricesOf(token)
  }

  /** Both legs priced: their mean; one: that leg; none: 0. */
  amountUsdMicros(pool: PricedPool, swap: Pick<Swap, 'amount0' | 'amount1'>): bigint {
    const value0 = this.#value(pool.token0.address, swap.amount0)
    const value1 = this.#value(pool.token1.address, swap.amount1)
    if (value0 !== undefined && value1 !== undefined) return (value0 + value1 + 1n) / 2n
    return value0 ?? value1 ?? 0n
  }

  /** Forgets observations above `block`. */
  rollBack(block: number): void {
    for (const history of this.#observed.values()) {
      while ((history.at(-1)?.block ?? 0) > block) history.pop()
    }
  }

  /** Keeps only observations that a rollback down to `block` could need. */
  finalize(block: number): void {
    for (const history of this.#observed.values()) {
      const keep = history.findLastIndex((observation) => observation.block <= block)
      if (keep > 0) history.splice(0, keep)
    }
  }

  /** Reference pools without a price. */
  unknown(): PoolId[] {
    return [...this.#reference].filter(([, token]) => !this.#observed.get(token)?.length).map(([pool]) => pool)
  }

  #value(token: Address, amount: bigint): bigint | undefined {
    const price = this.#priceOf(token)
    if (!price) return undefined
    const size = magnitude(amount)
    const quick = nearestInteger(product(toDoubleDouble(size), price.pair))
    if (quick !== undefined) return BigInt(quick)
    // Rounded to nearest, half up.
    return (size * price.numerator * 2n + price.denominator) / (price.denominator * 2n)
  }

  #priceOf(token: Address): UnitPrice | undefined {
    return this.#pricesOf(token)?.at(-1)?.price
  }

  #pricesOf(token: Address): readonly Observation[] | undefined {
    const priced = token === NATIVE_CURRENCY ? this.#wrappedNative : token
    return this.#stable.get(priced) ?? this.#observed.get(priced)
  }
}

function unitPrice(numerator: bigint, denominator: bigint): UnitPrice {
  return { numerator, denominator, pair: quotient(toDoubleDouble(numerator), toDoubleDouble(denominator)) }
}
