/** The Initialize logs of v4 pools whose key no contract tells: one search through v4's history for many pools. */
import { decodeV4, V4_TOPICS } from './decode-v4.ts'
import type { Endpoints } from './endpoints.ts'
import type { Network } from './network.ts'
import type { PoolId } from './pool.ts'
import type { PoolKey } from './pool-key.ts'
import { readInPieces, readLogs } from './range.ts'

const WINDOWS_AT_ONCE = 4

export class InitializeSearch {
  readonly #network: Network
  /** The lowest block that was searched for each pool: a search that fails resumes there. */
  readonly #reached = new Map<PoolId, number>()

  constructor(network: Network) {
    this.#network = network
  }

  /** The keys of those that have a log up to block `to`. May be repeated after a failure. */
  async find(endpoints: Endpoints, ids: readonly PoolId[], to: number): Promise<PoolKey[]> {
    const { poolManager, fromBlock } = this.#network.v4
    const found = new Map<PoolId, PoolKey>()
    const reached = (id: PoolId) => Math.min(this.#reached.get(id) ?? Number.POSITIVE_INFINITY, to + 1)
    const read = async (first: number, last: number) => {
      // One log for each pool at most, so as wide as the endpoint allows.
      const topics = [[V4_TOPICS.initialize], ids.filter((id) => !found.has(id))]
      const { pieces } = await readInPieces(endpoints, first, last, (client, low, high) =>
        readLogs(client, { address: [poolManager], topics }, low, high),
      )
      for (const log of pieces.flatMap(({ logs }) => logs)) {
        const event = decodeV4(log, poolManager)
        if (event?.kind === 'created') found.set(event.pool, event)
      }
    }
    while (found.size < ids.length) {
      let last = Math.max(...ids.filter((id) => !found.has(id)).map(reached)) - 1
      if (last < fromBlock) break
      const windows: Promise<void>[] = []
      while (windows.length < WINDOWS_AT_ONCE && last >= fromBlock) {
        const first = Math.max(fromBlock, last - endpoints.maxBlocks() + 1)
        windows.push(read(first, last))
        last = first - 1
      }
      await Promise.all(windows)
      for (const id of ids) this.#reached.set(id, Math.min(reached(id), last + 1))
    }
    for (const id of ids) this.#reached.delete(id)
    return [...found.values()]
  }
}
