/** The pools that one listener knows: created before its eyes, or asked for at their first swap. */
import { type Address, parseAbi, zeroAddress } from 'viem'
import { onBranch } from './branch.ts'
import { decodeV4, V4_TOPICS } from './decode-v4.ts'
import type { Endpoints } from './endpoints.ts'
import type { Created, PoolEvent } from './event.ts'
import type { SkipReason } from './fact.ts'
import { lastLog } from './last-log.ts'
import type { BlockRef } from './message.ts'
import { type Read, readMany } from './multicall.ts'
import type { Network } from './network.ts'
import type { Pool, PoolId, Token } from './pool.ts'
import { readTokens } from './token.ts'

export type Known = { kind: 'pool'; pool: Pool } | { kind: 'skip'; reason: SkipReason }

type Key = Pick<Created, 'pool' | 'currency0' | 'currency1' | 'fee'>

const poolAbi = parseAbi([
  'function factory() view returns (address)',
  'function token0() view returns (address)',
  'function token1() view returns (address)',
  'function fee() view returns (uint24)',
])
const factoryAbi = parseAbi(['function getPool(address, address, uint24) view returns (address)'])
const positionManagerAbi = parseAbi([
  'function poolKeys(bytes25 poolId) view returns (address currency0, address currency1, uint24 fee, int24 tickSpacing, address hooks)',
])

const ANY_WINDOW = { first: Number.POSITIVE_INFINITY, most: Number.POSITIVE_INFINITY }

export class Registry {
  readonly #endpoints: Endpoints
  readonly #network: Network
  readonly #known = new Map<PoolId, Known>()
  readonly #tokens = new Map<Address, Token | undefined>()

  constructor(endpoints: Endpoints, network: Network) {
    this.#endpoints = endpoints
    this.#network = network
  }

  get(id: PoolId): Known | undefined {
    return this.#known.get(id)
  }

  /**
   * Makes every pool of `events` known, which are of blocks up to `block`: a node on another branch knows nothing of a pool
   * made on this one, and would make it a stranger for good. May be repeated: what is known is not asked again.
   * Returns those newly skipped.
   */
  async learn(events: Iterable<PoolEvent>, block: BlockRef): Promise<{ pool: PoolId; reason: SkipReason }[]> {
    const keys = new Map<PoolId, Key>()
    const unknown = new Set<PoolId>()
    for (const event of events) {
      if (this.#known.has(event.pool)) continue
      if (event.kind === 'created') keys.set(event.pool, event)
      else unknown.add(event.pool)
    }
    const asked = [...unknown].filter((id) => !keys.has(id))
    const skipped: { pool: PoolId; reason: SkipReason }[] = []
    for (const [id, key] of await this.#askKeys(asked, block)) {
      if (typeof key === 'string') skipped.push({ pool: id, reason: key })
      else keys.set(id, key)
    }
    await this.#learnTokens(keys.values(), block)
    for (const [id, key] of keys) {
      const pool = this.#toPool(key)
      if (pool) this.#known.set(id, { kind: 'pool', pool })
      else skipped.push({ pool: id, reason: 'no-decimals' })
    }
    for (const { pool, reason } of skipped) this.#known.set(pool, { kind: 'skip', reason })
    return skipped
  }

  async #askKeys(ids: readonly PoolId[], block: BlockRef): Promise<Map<PoolId, Key | SkipReason>> {
    const v3 = ids.filter(isV3)
    const v4 = ids.filter((id) => !isV3(id))
    return new Map([...(await this.#askV3(v3, block)), ...(await this.#askV4(v4, block))])
  }

  async #read(reads: readonly Read[], block: BlockRef): Promise<unknown[]> {
    if (reads.length === 0) return []
    return onBranch(this.#endpoints, block).run((client) => readMany(client, reads))
  }

  /** The pool says who it is, and the official factory is asked back: a fork can claim any factory. */
  async #askV3(ids: readonly PoolId[], block: BlockRef): Promise<Map<PoolId, Key | SkipReason>> {
    const factory = this.#network.v3.factory
    const claims = await this.#read(
      ids.flatMap((address) =>
        ['factory', 'token0', 'token1', 'fee'].map((functionName) => ({ address, abi: poolAbi, functionName })),
      ),
      block,
    )
    const keys = new Map<PoolId, Key | SkipReason>()
    const candidates: Key[] = []
    for (const [index, pool] of ids.entries()) {
      const [claimed, token0, token1, fee] = claims.slice(index * 4, index * 4 + 4)
      if (isSameAddress(claimed, factory) && isAddress(token0) && isAddress(token1) && isFee(fee)) {
        candidates.push({ pool, currency0: lower(token0), currency1: lower(token1), fee })
      } else {
        keys.set(pool, 'other-factory')
      }
    }
    const confirmed = await this.#read(
      candidates.map(({ currency0, currency1, fee }) => ({
        address: factory,
        abi: factoryAbi,
        functionName: 'getPool',
        args: [currency0, currency1, fee],
      })),
      block,
    )
    for (const [index, key] of candidates.entries()) {
      keys.set(key.pool, isSameAddress(confirmed[index], key.pool) ? key : 'other-factory')
    }
    return keys
  }

  /** PositionManager knows the key of every pool that it ever minted in; for the others there is the Initialize log. */
  async #askV4(ids: readonly PoolId[], block: BlockRef): Promise<Map<PoolId, Key | SkipReason>> {
    const { poolManager, positionManager, fromBlock } = this.#network.v4
    const answers = await this.#read(
      ids.map((id) => ({
        address: positionManager,
        abi: positionManagerAbi,
        functionName: 'poolKeys',
        args: [id.slice(0, 2 + 50)],
      })),
      block,
    )
    const keys = new Map<PoolId, Key | SkipReason>()
    for (const [index, pool] of ids.entries()) {
      const answer = answers[index] as readonly [Address, Address, number, number, Address] | undefined
      // An unknown pool has an empty key; a real one has a tick spacing and a second currency.
      if (answer && answer[1] !== zeroAddress) {
        keys.set(pool, { pool, currency0: lower(answer[0]), currency1: lower(answer[1]), fee: answer[2] })
        continue
      }
      const filter = { address: [poolManager], topics: [[V4_TOPICS.initialize], [pool]] }
      // One log at most, so the whole of it at once where the endpoint allows.
      const log = await lastLog(
        onBranch(this.#endpoints, block),
        filter,
        { from: fromBlock, to: block.number },
        ANY_WINDOW,
      )
      const event = log && decodeV4(log, poolManager)
      keys.set(pool, event?.kind === 'created' ? event : 'unknown-pool')
    }
    return keys
  }

  async #learnTokens(keys: Iterable<Key>, block: BlockRef): Promise<void> {
    const missing = new Set<Address>()
    for (const { currency0, currency1 } of keys) {
      for (const currency of [currency0, currency1]) if (!this.#tokens.has(currency)) missing.add(currency)
    }
    if (missing.size === 0) return
    const endpoints = onBranch(this.#endpoints, block)
    const tokens = await endpoints.run((client) => readTokens(client, this.#network, [...missing]))
    for (const [address, token] of tokens) {
      this.#tokens.set(address, token)
    }
  }

  #toPool(key: Key): Pool | undefined {
    const token0 = this.#tokens.get(key.currency0)
    const token1 = this.#tokens.get(key.currency1)
    if (!token0 || !token1) return undefined
    return {
      id: key.pool,
      protocol: isV3(key.pool) ? 'dex-v3' : 'dex-v4',
      token0,
      token1,
      fee: key.fee,
      initialSqrtPriceX96: 0n,
    }
  }
}

/** A v3 pool is known by its address, a v4 pool by a 32-byte id. */
export function isV3(id: PoolId): boolean {
  return id.length === 42
}

function isAddress(value: unknown): value is Address {
  return typeof value === 'string' && value.length === 42
}

/** The decoder takes whatever the word holds; the factory can be asked for 24 bits only. */
function isFee(value: unknown): value is number {
  return typeof value === 'number' && value < 2 ** 24
}

function isSameAddress(value: unknown, expected: string): boolean {
  return isAddress(value) && value.toLowerCase() === expected.toLowerCase()
}

function lower(address: Address): Address {
  return address.toLowerCase() as Address
}
