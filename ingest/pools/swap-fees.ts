/**
 * Fees that venues set by events, because the logs of their swaps have none: a pool's fee is that of its last fee event. A plugin may replace it or
 * add to it for one swap.
 */
import type { FeeChange, MetEvent, NextPluginFee, Swap } from '../decode/event.ts'
import { pieces } from '../lib/pieces.ts'
import type { BlockRef } from '../model/message.ts'
import type { PoolId } from '../model/pool.ts'
import { isRefusal } from '../rpc/capped-reads.ts'
import type { Endpoints } from '../rpc/endpoints/endpoints.ts'
import { pinToBlock } from '../rpc/endpoints/pin-to-block.ts'
import { readMany } from '../rpc/multicall.ts'
import { isPruned } from '../rpc/rpc-error.ts'
import type { EventFees } from '../venues/venue.ts'
import { newestFirst } from './last-log.ts'

type Fees = FeeChange['fees']

/** Where a node has no state of a block, the last Fee event is searched so far back; before that the fee is unknown. */
const SEARCHED_BLOCKS = 50_000
const POOLS_AT_ONCE = 200
const UNKNOWN: Fees = [0, 0]

export class SwapFees {
  readonly #endpoints: Endpoints
  /** In hundredths of a bip, and the block since which they are known. */
  readonly #known = new Map<PoolId, { fees: Fees; block: number }>()
  readonly #next = new Map<PoolId, NextPluginFee>()

  constructor(endpoints: Endpoints) {
    this.#endpoints = endpoints
  }

  /**
   * For each pool with a swap before its first Fee event, reads the fee that it had before `events`. `events` are in chain order and end with
   * `newest`. May be repeated.
   */
  async learn(
    events: readonly { block: number; event: MetEvent }[],
    eventFees: (pool: PoolId) => EventFees | undefined,
    newest: BlockRef,
  ): Promise<void> {
    const first = events[0]?.block
    if (first === undefined) return
    const withFee = new Set<PoolId>()
    const pools = new Map<EventFees, Set<PoolId>>()
    for (const { event } of events) {
      const { kind, pool } = event
      if (withFee.has(pool) || this.#known.has(pool)) continue
      if (kind === 'fee') withFee.add(pool)
      const source = kind === 'swap' ? eventFees(pool) : undefined
      if (source) pools.set(source, (pools.get(source) ?? new Set()).add(pool))
    }
    for (const [source, asked] of pools)
      for (const piece of pieces([...asked], POOLS_AT_ONCE)) await this.#learn(source, piece, first, newest)
  }

  async #learn(source: EventFees, pools: readonly PoolId[], first: number, newest: BlockRef): Promise<void> {
    const before = await this.#before(first, source, pools, newest)
    const others = pools.filter((pool) => !before.has(pool))
    const searched = await this.#lastBefore(first, source, others)
    for (const pool of pools) {
      this.#known.set(pool, { fees: before.get(pool) ?? searched.get(pool) ?? UNKNOWN, block: first })
    }
  }

  observe(event: FeeChange | NextPluginFee, block: number): void {
    if (event.kind === 'plugin-fee') this.#next.set(event.pool, event)
    else this.#known.set(event.pool, { fees: event.fees, block })
  }

  /** In hundredths of a bip; 0 where unknown. Call it once for each swap, in chain order. */
  take({ pool, amount0, plugin: own }: Pick<Swap, 'pool' | 'amount0' | 'plugin'>): number {
    const plugin = own ?? this.#next.get(pool)
    this.#next.delete(pool)
    // The taker paid token0 where it left the taker.
    const fee = (this.#known.get(pool)?.fees ?? UNKNOWN)[amount0 < 0n ? 0 : 1]
    return plugin ? (plugin.override || fee) + plugin.added : fee
  }

  /** Forgets the fees that were observed above `block`. */
  rollBack(block: number): void {
    for (const [pool, known] of this.#known) if (known.block > block) this.#known.delete(pool)
    this.#next.clear()
  }

  /** By the state before block `first`: none where a node has no such state, or a pool no code yet. */
  async #before(
    first: number,
    { functions }: EventFees,
    pools: readonly PoolId[],
    newest: BlockRef,
  ): Promise<Map<PoolId, Fees>> {
    const reads = pools.flatMap((address) => functions.map(({ abi, functionName }) => ({ address, abi, functionName })))
    const at = { blockNumber: BigInt(Math.max(0, first - 1)) }
    const reading = pinToBlock(this.#endpoints, newest).run(async (client) => {
      try {
        return await readMany(client, reads, { at, maxAlone: 0 })
      } catch (error) {
        if (!isRefusal(error)) throw error
        return []
      }
    })
    const answers = await reading.catch((error: unknown) => {
      if (!isPruned(error)) throw error
      return []
    })
    const found = new Map<PoolId, Fees>()
    for (const [index, pool] of pools.entries()) {
      for (const [at, { feesOf }] of functions.entries()) {
        const answer = answers[index * functions.length + at] as readonly bigint[] | undefined
        if (answer && !found.has(pool)) found.set(pool, feesOf(answer))
      }
    }
    return found
  }

  /** By the last Fee events before block `first`, read for all pools together. */
  async #lastBefore(
    first: number,
    { topics, decode }: EventFees,
    pools: readonly PoolId[],
  ): Promise<Map<PoolId, Fees>> {
    const found = new Map<PoolId, Fees>()
    if (pools.length === 0) return found
    const filter = { address: pools, topics: [topics] }
    const range = { from: Math.max(0, first - SEARCHED_BLOCKS), to: first - 1 }
    for await (const log of newestFirst(this.#endpoints, filter, range)) {
      const event = decode(log)
      if (event.kind === 'fee' && !found.has(event.pool)) found.set(event.pool, event.fees)
      if (found.size === pools.length) break
    }
    return found
  }
}
