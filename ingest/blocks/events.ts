/** The events of logs, and their effects: on the block that they are in, and on the state that blocks share. */
import type { Hex } from 'viem'
import { decodeV3 } from '../decode/decode-v3.ts'
import { decodeV4 } from '../decode/decode-v4.ts'
import type { Decoded, HookEvent, MetEvent, PoolEvent, Swap } from '../decode/event.ts'
import type { IngestFact } from '../model/fact.ts'
import type { BlockContent, BlockHeader } from '../model/message.ts'
import type { Network } from '../model/network.ts'
import type { Pool, PoolId } from '../model/pool.ts'
import type { Report } from '../model/report.ts'
import type { HookAmounts, Tick } from '../model/tick.ts'
import type { BalanceReader } from '../pools/balances.ts'
import { isV3, type PoolResolution, type Registry } from '../pools/registry.ts'
import type { SwapFees } from '../pools/swap-fees.ts'
import { executionPrice, spotPrice } from '../pricing/price.ts'
import type { UsdPrices } from '../pricing/usd.ts'
import type { RpcLog } from '../rpc/rpc.ts'
import type { EventFees, Venue } from '../venues/venue.ts'
import { eventFeesOf } from '../venues/venues.ts'
import type { AskedLogs } from './asked-logs.ts'

/** A block as its events fill it. */
export type Draft = BlockContent & { ticks: Tick[]; pools: Pool[]; liquidity: BlockContent['liquidity'][number][] }

/** An event and the number of its block. */
export type Placed<Event> = { block: number; event: Event }

/** The state that one listener's blocks share. */
export type Sources = {
  network: Network
  wanted: ReadonlySet<PoolId> | undefined
  /** Wanted, or the reference of a price. */
  isAsked(pool: PoolId): boolean
  report: Report<IngestFact>
  registry: Registry
  usd: UsdPrices
  balances: BalanceReader
  fees: SwapFees
  hasEventFees: boolean
  /** By topic: events that only some venues have. */
  decoders: ReadonlyMap<Hex, Venue['decode']>
  /** The block in which this listener first saw each pool: after a rollback it is new again. */
  sightings: Map<PoolId, number>
  asked: AskedLogs
}

/** The event of a pool that is asked for; a broken log is reported. */
export function decode(
  { network, report, decoders, isAsked }: Sources,
  log: RpcLog,
): PoolEvent | HookEvent | undefined {
  const [topic] = log.topics
  const decoded: Decoded | undefined | '' =
    decodeV4(log, network.v4.poolManager) ?? decodeV3(log, network.v3.factory) ?? (topic && decoders.get(topic)?.(log))
  if (decoded?.kind === 'broken') {
    const place = { block: Number(log.blockNumber), logIndex: Number(log.logIndex) }
    report({ kind: 'log-broken', network: network.name, ...place, reason: decoded.reason })
  }
  // PoolManager has the events of all v4 pools.
  return decoded && decoded.kind !== 'broken' && isAsked(decoded.pool) ? decoded : undefined
}

/** Resolves the pools of events, and learns the fees of swaps before them. `events` has at least the first swap of each pool. */
export async function meetPools(
  { network, report, registry, fees, hasEventFees }: Sources,
  events: readonly Placed<MetEvent>[],
  newest: RpcLog | undefined,
): Promise<void> {
  if (!newest) return
  const block = { number: Number(newest.blockNumber), hash: newest.blockHash }
  const skipped = await registry.resolvePools(
    events.map(({ event }) => event),
    block,
  )
  for (const skip of skipped) report({ kind: 'pool-skipped', network: network.name, ...skip })
  if (hasEventFees) await fees.learn(events, (id) => eventFeesOfPool(registry.get(id)), block)
}

/** Empty blocks by their numbers, in order. */
export function draftsOf(headers: readonly BlockHeader[]): Map<number, Draft> {
  const drafts = new Map<number, Draft>()
  for (const { number, hash, timestamp } of headers) {
    drafts.set(number, { number, hash, timestamp, ticks: [], pools: [], liquidity: [], balances: [] })
  }
  return drafts
}

/** Events of hooks lead to no pool: `readHookAmounts` reads them with the swap that they belong to. */
export function isOfHook(event: PoolEvent | HookEvent): event is HookEvent {
  return event.kind === 'hook-swap' || event.kind === 'hook-fee'
}

/** `hookAmounts`: of the event, where it is a swap. */
export function addEvent(sources: Sources, draft: Draft, event: PoolEvent, hookAmounts?: HookAmounts): void {
  const { wanted, registry, usd, balances, fees } = sources
  const resolution = registry.get(event.pool)
  if (resolution?.kind !== 'pool') return
  const { pool } = resolution
  // The reference price changes before the swap is priced: a swap counts for itself.
  if (event.kind === 'swap') usd.observe(pool, event.sqrtPriceX96, draft.number)
  if (wanted && !wanted.has(pool.id)) return
  if (event.kind === 'fee' || event.kind === 'plugin-fee') return void fees.observe(event, draft.number)
  addPool(sources, draft, pool, 'sqrtPriceX96' in event && event.kind !== 'swap' ? event.sqrtPriceX96 : 0n)
  if (event.kind === 'swap') addTick(sources, draft, pool, event, hookAmounts)
  if (event.kind === 'liquidity') {
    const { pool: id, logIndex, tickLower, tickUpper, liquidityDelta } = event
    draft.liquidity.push({ pool: id, logIndex, tickLower, tickUpper, liquidityDelta })
  }
  if (isV3(pool.id) && event.kind !== 'created') balances.touch(pool)
}

/** A pool is sent with the block that first shows it, and with the block that initialises it. */
export function addPool({ sightings, asked }: Sources, draft: Draft, pool: Pool, initialSqrtPriceX96: bigint): void {
  if (sightings.has(pool.id) && initialSqrtPriceX96 === 0n) return
  asked.meet([pool])
  if (!sightings.has(pool.id)) sightings.set(pool.id, draft.number)
  const already = draft.pools.findIndex((other) => other.id === pool.id)
  if (already !== -1) draft.pools.splice(already, 1)
  draft.pools.push({ ...pool, initialSqrtPriceX96 })
}

function addTick(sources: Sources, draft: Draft, pool: Pool, swap: Swap, hookAmounts?: HookAmounts): void {
  const { usd, fees } = sources
  const fee = swap.fee ?? (eventFeesOf(pool) ? fees.take(swap) : pool.fee)
  const tick = toTick(pool, swap, fee, usd)
  if (tick) return void draft.ticks.push(hookAmounts ? { ...tick, hookAmounts } : tick)
  reportNoPrice(sources, draft.number, swap.logIndex)
}

/** The log cannot be of a real pool: no pool has a price of zero. */
export function reportNoPrice({ network, report }: Sources, block: number, logIndex: number): void {
  report({ kind: 'log-broken', network: network.name, block, logIndex, reason: 'Swap with a sqrtPriceX96 of 0' })
}

function eventFeesOfPool(resolution: PoolResolution | undefined): EventFees | undefined {
  return resolution?.kind === 'pool' ? eventFeesOf(resolution.pool) : undefined
}

/** Undefined where the swap has no price. */
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
