/** Assembles blocks from logs: decodes, resolves pools, prices, and groups by block. */
import type { Hex } from 'viem'
import { decodeV3, V3_TOPICS } from '../decode/decode-v3.ts'
import { decodeV4, V4_TOPICS } from '../decode/decode-v4.ts'
import type { Decoded, PoolEvent, Swap } from '../decode/event.ts'
import { lower } from '../lib/lower.ts'
import type { IngestFact } from '../model/fact.ts'
import type { BlockContent, BlockHeader, BlockRef } from '../model/message.ts'
import type { Network } from '../model/network.ts'
import type { Pool, PoolId } from '../model/pool.ts'
import type { Report } from '../model/report.ts'
import type { StoredPools } from '../model/stored-pools.ts'
import type { StoredTokens } from '../model/stored-tokens.ts'
import type { Tick } from '../model/tick.ts'
import { BalanceReader } from '../pools/balances.ts'
import { isV3, type PoolResolution, Registry } from '../pools/registry.ts'
import { SwapFees } from '../pools/swap-fees.ts'
import { executionPrice, spotPrice } from '../pricing/price.ts'
import { UsdPrices } from '../pricing/usd.ts'
import type { Endpoints } from '../rpc/endpoints/endpoints.ts'
import type { LogFilter, RpcLog } from '../rpc/rpc.ts'
import type { EventFees, Venue } from '../venues/venue.ts'
import { eventFeesOf, venuesOf } from '../venues/venues.ts'

export type Assembler = {
  /** Filter for `eth_getLogs`. Reference pools are included, also where they are not among the wanted pools. */
  filter: LogFilter
  usd: UsdPrices
  balances: BalanceReader
  /** Contents of `headers`, in chain order. Call it in chain order: prices and seen pools carry over to the next call. */
  assemble(logs: readonly RpcLog[], headers: readonly BlockHeader[]): Promise<BlockContent[]>
  /** Forgets everything above `block`, which is no longer canonical. */
  rollBack(block: number): void
}

type Draft = BlockContent & { ticks: Tick[]; pools: Pool[]; liquidity: BlockContent['liquidity'][number][] }

export function createAssembler(
  endpoints: Endpoints,
  network: Network,
  wanted: ReadonlySet<PoolId> | undefined,
  report: Report<IngestFact>,
  storedPools?: StoredPools,
  storedTokens?: StoredTokens,
): Assembler {
  const registry = new Registry(endpoints, network, storedPools, storedTokens)
  const usd = new UsdPrices(network)
  const balances = new BalanceReader(endpoints)
  const fees = new SwapFees(endpoints)
  const hasEventFees = venuesOf(network).some(({ eventFees }) => eventFees)
  const decoders = new Map(
    venuesOf(network).flatMap(({ topics, decode }) => topics.map((topic) => [topic, decode] as const)),
  )
  const sightings = new Map<PoolId, number>()
  const sources: Sources = { network, wanted, report, registry, usd, balances, fees, decoders, sightings }
  const references = new Set(network.referencePools.map(({ pool }) => lower(pool)))
  const unasked = (pool: PoolId) => wanted !== undefined && !wanted.has(pool) && !references.has(pool)
  return {
    filter: filterFor(network, wanted),
    usd,
    balances,
    async assemble(logs, headers) {
      const events: { block: number; event: PoolEvent }[] = []
      for (const log of logs) {
        const decoded = decode(sources, log)
        // PoolManager has the events of all v4 pools.
        if (!decoded || decoded.kind === 'broken' || unasked(decoded.pool)) continue
        events.push({ block: Number(log.blockNumber), event: decoded })
      }
      const pools = events.map(({ event }) => event)
      const newest = logs.at(-1)
      const skipped = newest ? await registry.resolvePools(pools, blockOf(newest)) : []
      for (const skip of skipped) report({ kind: 'pool-skipped', network: network.name, ...skip })
      if (newest && hasEventFees) {
        await fees.learn(events, (id) => eventFeesOfPool(registry.get(id)), blockOf(newest))
      }
      // No await follows: a call that failed above has changed no state and can be repeated.
      const drafts = new Map<number, Draft>()
      for (const { number, hash, timestamp } of headers) {
        drafts.set(number, { number, hash, timestamp, ticks: [], pools: [], liquidity: [], balances: [] })
      }
      for (const { block, event } of events) {
        const draft = drafts.get(block)
        if (draft) addEvent(sources, draft, event)
      }
      return [...drafts.values()]
    },
    rollBack(block) {
      usd.rollBack(block)
      balances.rollBack(block)
      fees.rollBack(block)
      for (const [pool, first] of sightings) if (first > block) sightings.delete(pool)
    },
  }
}

/** The state that one listener's blocks share. */
type Sources = {
  network: Network
  wanted: ReadonlySet<PoolId> | undefined
  report: Report<IngestFact>
  registry: Registry
  usd: UsdPrices
  balances: BalanceReader
  fees: SwapFees
  /** By topic: events that only some venues have. */
  decoders: ReadonlyMap<Hex, Venue['decode']>
  /** The block in which this listener first saw each pool: after a rollback it is new again. */
  sightings: Map<PoolId, number>
}

function decode({ network, report, decoders }: Sources, log: RpcLog): Decoded | undefined {
  const [topic] = log.topics
  const decoded =
    decodeV4(log, network.v4.poolManager) ?? decodeV3(log, network.v3.factory) ?? (topic && decoders.get(topic)?.(log))
  if (decoded?.kind === 'broken') {
    const place = { block: Number(log.blockNumber), logIndex: Number(log.logIndex) }
    report({ kind: 'log-broken', network: network.name, ...place, reason: decoded.reason })
  }
  return decoded
}

function addEvent(sources: Sources, draft: Draft, event: PoolEvent): void {
  const { wanted, registry, usd, balances, fees } = sources
  const resolution = registry.get(event.pool)
  if (resolution?.kind !== 'pool') return
  const { pool } = resolution
  // The reference price changes before the swap is priced: a swap counts for itself.
  if (event.kind === 'swap') usd.observe(pool, event.sqrtPriceX96, draft.number)
  if (wanted && !wanted.has(pool.id)) return
  if (event.kind === 'fee' || event.kind === 'plugin-fee') return void fees.observe(event, draft.number)
  addPool(sources, draft, pool, event)
  if (event.kind === 'swap') addTick(sources, draft, pool, event)
  if (event.kind === 'liquidity') {
    const { pool: id, logIndex, tickLower, tickUpper, liquidityDelta } = event
    draft.liquidity.push({ pool: id, logIndex, tickLower, tickUpper, liquidityDelta })
  }
  if (isV3(pool.id) && event.kind !== 'created') balances.touch(pool)
}

/** A pool is sent with the block that first shows it, and with the block that initialises it. */
function addPool({ sightings }: Sources, draft: Draft, pool: Pool, event: PoolEvent): void {
  const initialSqrtPriceX96 = 'sqrtPriceX96' in event && event.kind !== 'swap' ? event.sqrtPriceX96 : 0n
  if (sightings.has(pool.id) && initialSqrtPriceX96 === 0n) return
  if (!sightings.has(pool.id)) sightings.set(pool.id, draft.number)
  const already = draft.pools.findIndex((other) => other.id === pool.id)
  if (already !== -1) draft.pools.splice(already, 1)
  draft.pools.push({ ...pool, initialSqrtPriceX96 })
}

function addTick({ network, report, usd, fees }: Sources, draft: Draft, pool: Pool, swap: Swap): void {
  const fee = swap.fee ?? (eventFeesOf(pool) ? fees.take(swap) : pool.fee)
  const tick = toTick(pool, swap, fee, usd)
  if (tick) return void draft.ticks.push(tick)
  const place = { block: draft.number, logIndex: swap.logIndex }
  report({ kind: 'log-broken', network: network.name, ...place, reason: 'Swap with a sqrtPriceX96 of 0' })
}

function eventFeesOfPool(resolution: PoolResolution | undefined): EventFees | undefined {
  return resolution?.kind === 'pool' ? eventFeesOf(resolution.pool) : undefined
}

function blockOf({ blockNumber, blockHash }: RpcLog): BlockRef {
  return { number: Number(blockNumber), hash: blockHash }
}

/** Undefined where the log cannot be of a real pool: no pool has a price of zero. */
function toTick(pool: Pool, swap: Swap, fee: number, usd: UsdPrices): Tick | undefined {
  if (swap.sqrtPriceX96 === 0n) return undefined
  const decimals = { decimals0: pool.token0.decimals, decimals1: pool.token1.decimals }
  const spot = spotPrice(swap.sqrtPriceX96, decimals)
  return {
    pool: pool.id,
    logIndex: swap.logIndex,
    transactionHash: swap.transactionHash,
    ...(swap.sender && { sender: swap.sender }),
    amount0: swap.amount0,
    amount1: swap.amount1,
    sqrtPriceX96: swap.sqrtPriceX96,
    liquidity: swap.liquidity,
    poolTick: swap.poolTick,
    fee,
    price: executionPrice(swap.amount0, swap.amount1, decimals) ?? spot,
    spotPrice: spot,
    amountUsdMicros: usd.amountUsdMicros(pool, swap),
  }
}

function filterFor(network: Network, wanted: ReadonlySet<PoolId> | undefined): LogFilter {
  const ofVenues = venuesOf(network).flatMap(({ topics }) => topics)
  const topics = [[...Object.values(V3_TOPICS), ...Object.values(V4_TOPICS), ...ofVenues]]
  if (!wanted) return { topics }
  const pools = [...wanted, ...network.referencePools.map(({ pool }) => pool)]
  return { topics, address: [...new Set([...pools.filter(isV3), network.v4.poolManager])] }
}
