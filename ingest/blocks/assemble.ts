/** Assembles blocks from logs: decodes, resolves pools, prices, and groups by block. */
import type { Hex } from 'viem'
import { decodeHookEvent, HOOK_TOPICS } from '../decode/decode-hooks.ts'
import type { PoolEvent } from '../decode/event.ts'
import { lower } from '../lib/lower.ts'
import type { IngestFact } from '../model/fact.ts'
import type { BlockContent, BlockHeader, BlockRef } from '../model/message.ts'
import type { Network } from '../model/network.ts'
import type { PoolId } from '../model/pool.ts'
import type { Report } from '../model/report.ts'
import type { StoredPools } from '../model/stored-pools.ts'
import type { StoredTokens } from '../model/stored-tokens.ts'
import { BalanceReader } from '../pools/balances.ts'
import { Registry } from '../pools/registry.ts'
import { SwapFees } from '../pools/swap-fees.ts'
import { UsdPrices } from '../pricing/usd.ts'
import type { Endpoints } from '../rpc/endpoints/endpoints.ts'
import type { LogFilter, RpcLog } from '../rpc/rpc.ts'
import type { Venue } from '../venues/venue.ts'
import { venuesOf } from '../venues/venues.ts'
import { AskedLogs } from './asked-logs.ts'
import { assembleColumns, type ColumnContent } from './assemble-columns.ts'
import { addEvent, decode, draftsOf, isOfHook, meetPools, type Placed, type Sources } from './events.ts'
import { readHookAmounts } from './hook-amounts.ts'

export type Assembler = {
  /**
   * Filter for `eth_getLogs`. Reference pools are included, also where they are not among the wanted pools. Where only some pools are wanted, it gains
   * the hooks of those that become known.
   */
  readonly filter: LogFilter
  usd: UsdPrices
  balances: BalanceReader
  /** Learns the hooks of the wanted pools that exist at `block`, or are stored. May be repeated. */
  meetHooks(block: BlockRef | undefined): Promise<void>
  /** Contents of `headers`, in chain order. Call it in chain order: prices and seen pools carry over to the next call. */
  assemble(logs: readonly RpcLog[], headers: readonly BlockHeader[]): Promise<BlockContent[]>
  /** As `assemble`, with the ticks as columns: their rows are in the order of the blocks, whose own lists are empty. */
  assembleColumns(logs: readonly RpcLog[], headers: readonly BlockHeader[]): Promise<ColumnContent>
  /** Forgets everything above `block`, which is no longer canonical. */
  rollBack(block: number): void
}

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
  const decoders = new Map<Hex, Venue['decode']>([
    ...Object.values(HOOK_TOPICS).map((topic) => [topic, decodeHookEvent] as const),
    ...venuesOf(network).flatMap(({ topics, decode }) => topics.map((topic) => [topic, decode] as const)),
  ])
  const asked = new AskedLogs(network, wanted)
  const sightings = new Map<PoolId, number>()
  const references = new Set(network.referencePools.map(({ pool }) => lower(pool)))
  const isAsked = (pool: PoolId) => wanted === undefined || wanted.has(pool) || references.has(pool)
  const state = { registry, usd, balances, fees, decoders, sightings, asked }
  const sources: Sources = { network, wanted, isAsked, report, hasEventFees, ...state }
  return {
    get filter() {
      return asked.filter
    },
    usd,
    balances,
    // A registry of its own: a pool that does not exist yet must not be skipped later.
    meetHooks: (block) =>
      asked.meetHooks(new Registry(endpoints, network, storedPools, storedTokens), block, storedPools),
    async assemble(logs, headers) {
      const events: Placed<PoolEvent>[] = []
      const hookLogs: number[] = []
      for (const [place, log] of logs.entries()) {
        const event = decode(sources, log)
        if (!event) continue
        if (isOfHook(event)) hookLogs.push(place)
        else events.push({ block: Number(log.blockNumber), event })
      }
      await meetPools(sources, events, logs.at(-1))
      // No await follows: a call that failed above has changed no state and can be repeated.
      const drafts = draftsOf(headers)
      const hooked = readHookAmounts(sources, logs, hookLogs)
      for (const { block, event } of events) {
        const draft = drafts.get(block)
        const amounts = event.kind === 'swap' ? hooked.get(block)?.get(event.logIndex) : undefined
        if (draft) addEvent(sources, draft, event, amounts)
      }
      return [...drafts.values()]
    },
    assembleColumns: (logs, headers) => assembleColumns(sources, logs, headers),
    rollBack(block) {
      usd.rollBack(block)
      balances.rollBack(block)
      fees.rollBack(block)
      for (const [pool, first] of sightings) if (first > block) sightings.delete(pool)
    },
  }
}
