/** The filter of the logs that are read: the events of pools and of hooks, of all or of the wanted ones. */
import type { Address } from 'viem'
import { HOOK_TOPICS } from '../decode/decode-hooks.ts'
import { V3_TOPICS } from '../decode/decode-v3.ts'
import { V4_TOPICS } from '../decode/decode-v4.ts'
import type { BlockRef } from '../model/message.ts'
import type { Network } from '../model/network.ts'
import { hasHookDeltas, type Pool, type PoolId } from '../model/pool.ts'
import type { StoredPools } from '../model/stored-pools.ts'
import { isV3, type Registry } from '../pools/registry.ts'
import type { LogFilter } from '../rpc/rpc.ts'
import { venuesOf } from '../venues/venues.ts'

/** Where only some pools are wanted, the filter names contracts: a hook is among them once its pool is known. */
export class AskedLogs {
  readonly #network: Network
  readonly #wanted: ReadonlySet<PoolId> | undefined
  readonly #hooks = new Set<Address>()
  #filter: LogFilter

  constructor(network: Network, wanted: ReadonlySet<PoolId> | undefined) {
    this.#network = network
    this.#wanted = wanted
    this.#filter = this.#make()
  }

  get filter(): LogFilter {
    return this.#filter
  }

  /** Adds the hooks of the wanted pools that exist at `block`, by a registry that has none of them; without a block, of those that are stored. */
  async meetHooks(
    registry: Registry,
    block: BlockRef | undefined,
    storedPools: StoredPools = async () => [],
  ): Promise<void> {
    const pools = [...(this.#wanted ?? [])].filter((pool) => !isV3(pool))
    if (pools.length === 0) return
    if (!block) return this.meet(await storedPools(pools))
    const asked = pools.map((pool) => ({ kind: 'swap', pool }) as const)
    await registry.resolvePools(asked, block)
    for (const id of pools) {
      const resolution = registry.get(id)
      if (resolution?.kind === 'pool') this.meet([resolution.pool])
    }
  }

  /** Adds the hooks of wanted pools that may take or give beside a swap. */
  meet(pools: readonly Pool[]): void {
    if (!this.#wanted) return
    for (const { id, hooks } of pools) {
      if (!hooks || !hasHookDeltas({ hooks }) || !this.#wanted.has(id) || this.#hooks.has(hooks)) continue
      this.#hooks.add(hooks)
      this.#filter = this.#make()
    }
  }

  #make(): LogFilter {
    const { v4, referencePools } = this.#network
    const ofVenues = venuesOf(this.#network).flatMap(({ topics }) => topics)
    const ofUniswap = [V3_TOPICS, V4_TOPICS, HOOK_TOPICS].flatMap((topics) => Object.values(topics))
    const topics = [[...ofUniswap, ...ofVenues]]
    if (!this.#wanted) return { topics }
    const pools = [...this.#wanted, ...referencePools.map(({ pool }) => pool)]
    return { topics, address: [...new Set([...pools.filter(isV3), v4.poolManager, ...this.#hooks])] }
  }
}
