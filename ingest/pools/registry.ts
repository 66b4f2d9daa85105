/** The pools of one listener: created in the stream, stored, or resolved at their first swap. */
import type { Address } from 'viem'
import type { MetEvent } from '../decode/event.ts'
import { pieces } from '../lib/pieces.ts'
import type { SkipReason } from '../model/fact.ts'
import type { BlockRef } from '../model/message.ts'
import { NATIVE_CURRENCY, type Network, trustedToken } from '../model/network.ts'
import { hooksField, type Pool, type PoolId, type Token } from '../model/pool.ts'
import type { StoredPools } from '../model/stored-pools.ts'
import type { StoredTokens } from '../model/stored-tokens.ts'
import { venueField } from '../model/venue.ts'
import type { Endpoints } from '../rpc/endpoints/endpoints.ts'
import { pinToBlock } from '../rpc/endpoints/pin-to-block.ts'
import { isRead } from '../venues/venues.ts'
import { InitializeSearch } from './initialize-search.ts'
import { type PoolKey, readV3Keys, readV4Keys } from './pool-key.ts'
import { SkippedPools } from './skipped-pools.ts'
import { readTokens } from './token.ts'

export type PoolResolution = { kind: 'pool'; pool: Pool } | { kind: 'skip'; reason: SkipReason }

type Skip = { pool: PoolId; reason: SkipReason }

/** Pools resolved per batch; each batch is kept, so a later failure does not lose it. */
const POOLS_AT_ONCE = 200

export class Registry {
  readonly #endpoints: Endpoints
  readonly #network: Network
  readonly #stored: StoredPools
  readonly #storedTokens: StoredTokens
  readonly #search: InitializeSearch
  readonly #pools = new Map<PoolId, Pool>()
  readonly #tokens = new Map<Address, Token>()
  readonly #skipped = new SkippedPools()
  /** Skipped pools of a failed `resolvePools` call, for the next call to return. */
  #news: Skip[] = []

  constructor(
    endpoints: Endpoints,
    network: Network,
    stored: StoredPools = async () => [],
    storedTokens: StoredTokens = async () => [],
  ) {
    this.#endpoints = endpoints
    this.#network = network
    this.#stored = stored
    this.#storedTokens = storedTokens
    this.#search = new InitializeSearch(network)
  }

  get(id: PoolId): PoolResolution | undefined {
    const pool = this.#pools.get(id)
    if (pool) return { kind: 'pool', pool }
    const reason = this.#skipped.get(id)
    return reason && { kind: 'skip', reason }
  }

  /**
   * Resolves every pool of `events`, which are in blocks up to `block`; pinned to that block, because a node on another branch would not
   * have a pool created on this one. May be repeated: resolved pools are not requested again. Returns the newly skipped pools.
   */
  async resolvePools(events: Iterable<MetEvent>, block: BlockRef): Promise<Skip[]> {
    const created = new Map<PoolId, PoolKey>()
    const unknown = new Set<PoolId>()
    for (const event of events) {
      if (this.#pools.has(event.pool)) continue
      unknown.add(event.pool)
      if (event.kind === 'created') created.set(event.pool, event)
    }
    for (const ids of pieces([...unknown], POOLS_AT_ONCE)) await this.#decide(ids, created, block)
    return this.#news.splice(0)
  }

  async #decide(ids: readonly PoolId[], created: ReadonlyMap<PoolId, PoolKey>, block: BlockRef): Promise<void> {
    // Stored pools keep their metadata: a token's answers may have changed or become unreadable.
    const stored = ids.filter((id) => this.#skipped.isDue(id) || this.#skipped.get(id) !== 'other-factory')
    for (const pool of stored.length > 0 ? await this.#stored(stored) : [])
      if (isRead(this.#network, pool.venue)) this.#add(pool)
    const due = ids.filter((id) => !this.#pools.has(id) && this.#skipped.isDue(id))
    const unmet = due.filter((id) => !created.has(id))
    const keys = [
      ...due.flatMap((id) => created.get(id) ?? []),
      ...(await this.#askV3(unmet.filter(isV3), block)),
      ...(await this.#askV4(
        unmet.filter((id) => !isV3(id)),
        block,
      )),
    ]
    await this.#learnTokens(keys, block)
    const keyed = new Set(keys.map(({ pool }) => pool))
    for (const id of due) if (!keyed.has(id)) this.#skip(id, isV3(id) ? 'other-factory' : 'unknown-pool')
    for (const key of keys) {
      const pool = this.#toPool(key)
      if (pool) this.#add(pool)
      else this.#skip(key.pool, 'no-decimals')
    }
  }

  #add(pool: Pool): void {
    this.#pools.set(pool.id, pool)
    this.#skipped.delete(pool.id)
    for (const token of [pool.token0, pool.token1]) {
      if (!this.#tokens.has(token.address)) this.#tokens.set(token.address, token)
    }
  }

  #skip(pool: PoolId, reason: SkipReason): void {
    if (this.#skipped.add(pool, reason)) this.#news.push({ pool, reason })
  }

  async #askV3(ids: readonly PoolId[], block: BlockRef): Promise<PoolKey[]> {
    if (ids.length === 0) return []
    return pinToBlock(this.#endpoints, block).run((client) => readV3Keys(client, this.#network, ids))
  }

  /** Pools that PositionManager does not have are searched by their Initialize log. */
  async #askV4(ids: readonly PoolId[], block: BlockRef): Promise<PoolKey[]> {
    if (ids.length === 0) return []
    const endpoints = pinToBlock(this.#endpoints, block)
    const keys = await endpoints.run((client) => readV4Keys(client, this.#network, ids))
    const found = new Set(keys.map(({ pool }) => pool))
    const rest = ids.filter((id) => !found.has(id))
    return rest.length === 0 ? keys : [...keys, ...(await this.#search.find(endpoints, rest, block))]
  }

  async #learnTokens(keys: Iterable<PoolKey>, block: BlockRef): Promise<void> {
    const missing = new Set<Address>()
    for (const { currency0, currency1 } of keys) {
      for (const currency of [currency0, currency1]) if (!this.#tokens.has(currency)) missing.add(currency)
    }
    if (missing.size === 0) return
    const endpoints = pinToBlock(this.#endpoints, block)
    const [tokens, stored] = await Promise.all([
      endpoints.run((client) => readTokens(client, this.#network, [...missing])),
      this.#storedTokens([...missing].filter((address) => !this.#isCurated(address))),
    ])
    for (const [address, token] of tokens) if (token) this.#tokens.set(address, token)
    // A new pool of a stored token has its decimals and its name, also where the contract answers others by now.
    for (const token of stored) this.#tokens.set(token.address, token)
  }

  #isCurated(token: Address): boolean {
    return token === NATIVE_CURRENCY || trustedToken(this.#network, token) !== undefined
  }

  #toPool(key: PoolKey): Pool | undefined {
    const token0 = this.#tokens.get(key.currency0)
    const token1 = this.#tokens.get(key.currency1)
    if (!token0 || !token1) return undefined
    return {
      id: key.pool,
      protocol: isV3(key.pool) ? 'dex-v3' : 'dex-v4',
      ...venueField(key.venue),
      ...hooksField(key.hooks),
      token0,
      token1,
      fee: key.fee,
      initialSqrtPriceX96: 0n,
    }
  }
}

/** A v3 pool's id is its address (20 bytes), a v4 pool's id has 32 bytes. */
export function isV3(id: PoolId): boolean {
  return id.length === 42
}
