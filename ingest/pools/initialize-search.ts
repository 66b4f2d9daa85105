/** Searches the Initialize logs of v4 pools that PositionManager does not have: one search of v4's history for many pools. */

import type { Hash } from 'viem'
import { decodeV4, V4_TOPICS } from '../decode/decode-v4.ts'
import type { BlockRange } from '../model/block-range.ts'
import type { BlockRef } from '../model/message.ts'
import type { Network } from '../model/network.ts'
import type { PoolId } from '../model/pool.ts'
import { asSearch, type Endpoints } from '../rpc/endpoints/endpoints.ts'
import { narrowerWidth, readWindow } from '../rpc/logs/log-range.ts'
import { isPruned, RpcFailed } from '../rpc/rpc-error.ts'
import { isReadAfterAll } from './history-end.ts'
import type { PoolKey } from './pool-key.ts'

const WINDOWS_AT_ONCE = 4
/** How often a search is resumed below blocks that no endpoint had at first. */
const MAX_RESUMED = 16
/** An endpoint on another branch returns within this time, or stays there. */
const PATIENCE_MS = 60_000

export class InitializeSearch {
  readonly #network: Network
  /** Lowest searched block of each pool: a failed search resumes there, on the branch of the block at which it began. */
  readonly #reached = new Map<PoolId, number>()
  /** Keys that a failed search has found above that block. */
  readonly #found = new Map<PoolId, PoolKey>()
  #branch: Hash | undefined
  /** Since when the history ends only where an endpoint is behind. */
  #doubtedSinceMs: number | undefined

  constructor(network: Network) {
    this.#network = network
  }

  /** Keys of the pools that have a log up to this block. May be repeated after a failure. */
  async find(given: Endpoints, ids: readonly PoolId[], { number: to, hash }: BlockRef): Promise<PoolKey[]> {
    // Another branch may have a log where this one has none.
    if (hash !== this.#branch) {
      this.#reached.clear()
      this.#found.clear()
    }
    this.#branch = hash
    const { poolManager, fromBlock } = this.#network.v4
    const endpoints = asSearch(given)
    const left = () => ids.filter((id) => !this.#found.has(id))
    const reached = (id: PoolId) => Math.min(this.#reached.get(id) ?? Number.POSITIVE_INFINITY, to + 1)
    // At most one log a pool, so windows are as wide as the endpoint allows.
    let width = Number.POSITIVE_INFINITY
    let oldest = fromBlock
    let refusal: unknown
    let resumed = 0
    while (left().length > 0) {
      const filter = { address: [poolManager], topics: [[V4_TOPICS.initialize], left()] }
      const below = Math.max(...left().map(reached))
      const windows = windowsBelow(below, oldest, Math.min(width, endpoints.maxBlocks()))
      if (windows.length === 0) {
        if (below <= fromBlock || !(await this.#isReadAfterAll(endpoints, below - 1, refusal))) break
        if (++resumed > MAX_RESUMED) throw refusal
        oldest = fromBlock
        width = Number.POSITIVE_INFINITY
        continue
      }
      const answers = await Promise.allSettled(
        windows.map(({ from, to }) =>
          endpoints.run((client) => readWindow(client, filter, { from, to, oldest: fromBlock }), {
            atLeast: to,
            oldest: from,
            blocks: to - from + 1,
          }),
        ),
      )
      for (const [index, answer] of answers.entries()) {
        // Lower windows are asked for at the same time, and are not needed.
        if (left().length === 0) break
        const window = windows[index] as BlockRange
        if (answer.status === 'rejected' && isPruned(answer.reason)) {
          // No endpoint has the log of an older pool: bisection finds where their history ends.
          refusal = answer.reason
          oldest = window.from + 1
          width = Math.max(1, Math.ceil((window.to - window.from) / 2))
          break
        }
        if (answer.status === 'rejected') {
          const narrower = await narrowerWidth(endpoints, answer.reason, window)
          if (narrower === undefined) throw answer.reason
          width = narrower
          break
        }
        for (const log of answer.value) {
          const event = decodeV4(log, poolManager)
          if (event?.kind === 'created') this.#found.set(event.pool, event)
        }
        for (const id of ids) this.#reached.set(id, Math.min(reached(id), window.from))
      }
    }
    const keys = ids.flatMap((id) => this.#found.get(id) ?? [])
    for (const id of ids) {
      this.#reached.delete(id)
      this.#found.delete(id)
    }
    return keys
  }

  /**
   * A pool that is taken for unknown loses its swaps: one refusal is not enough, and an endpoint that is behind may have the block. Throws the refusal
   * while that is waited for, once.
   */
  async #isReadAfterAll(endpoints: Endpoints, block: number, refusal: unknown): Promise<boolean> {
    if (await isReadAfterAll(endpoints, block)) return true
    if (refusal instanceof RpcFailed && refusal.mayPass) {
      this.#doubtedSinceMs ??= performance.now()
      if (performance.now() - this.#doubtedSinceMs < PATIENCE_MS) throw refusal
    } else this.#doubtedSinceMs = undefined
    return false
  }
}

/** The next spans of `width` blocks, downwards to `fromBlock`. */
function windowsBelow(block: number, fromBlock: number, width: number): BlockRange[] {
  const windows: BlockRange[] = []
  for (let to = block - 1; to >= fromBlock && windows.length < WINDOWS_AT_ONCE; ) {
    const from = Math.max(fromBlock, to - width + 1)
    windows.push({ from, to })
    to = from - 1
  }
  return windows
}
