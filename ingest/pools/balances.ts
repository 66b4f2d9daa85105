/** Balances of v3 pools: their locked value is their token balance, which no event contains. */
import { erc20Abi } from 'viem'
import type { BlockRef, UnixSeconds } from '../model/message.ts'
import type { Pool, PoolBalance, PoolId } from '../model/pool.ts'
import type { Endpoints } from '../rpc/endpoints.ts'
import { readMany } from '../rpc/multicall.ts'
import { pinToBlock } from '../rpc/pin-to-block.ts'

const MAX_POOLS_PER_READ = 100

/** Each change in a pool is eventually followed by a read of its balance on the canonical branch. */
export class BalanceReader {
  readonly #endpoints: Endpoints
  /** Pools with changes since their last read, the latest last. */
  readonly #due = new Map<PoolId, Pool>()
  /** Block of each pool's last read. */
  readonly #read = new Map<PoolId, { pool: Pool; block: number }>()
  #lastSecond: UnixSeconds | undefined

  constructor(endpoints: Endpoints) {
    this.#endpoints = endpoints
  }

  /** Marks the pool for a read. */
  touch(pool: Pool): void {
    this.#due.delete(pool.id)
    this.#due.set(pool.id, pool)
  }

  /** Balances after `block` of some marked pools, the latest changes first, because those pools are the most active. */
  async read(
    block: BlockRef & { timestamp: UnixSeconds },
    asked: Pick<Endpoints, 'run'> = this.#endpoints,
  ): Promise<PoolBalance[]> {
    // Chains with several blocks a second: the pools stay marked.
    if (this.#lastSecond === block.timestamp) return []
    const pools = [...this.#due.values()].slice(-MAX_POOLS_PER_READ)
    if (pools.length === 0) return []
    const reads = pools.flatMap((pool) =>
      [pool.token0, pool.token1].map((token) => ({
        address: token.address,
        abi: erc20Abi,
        functionName: 'balanceOf',
        args: [pool.id],
      })),
    )
    // A node on another branch has other balances at this height.
    const endpoints = pinToBlock(asked, block)
    const answers = await endpoints.run((client) => readMany(client, reads, { blockNumber: block.number, maxAlone: 0 }))
    this.#lastSecond = block.timestamp
    const balances: PoolBalance[] = []
    for (const [index, pool] of pools.entries()) {
      this.#due.delete(pool.id)
      this.#read.set(pool.id, { pool, block: block.number })
      const [balance0, balance1] = answers.slice(index * 2, index * 2 + 2)
      if (typeof balance0 === 'bigint' && typeof balance1 === 'bigint') {
        balances.push({ pool: pool.id, balance0, balance1 })
      }
    }
    return balances
  }

  /** Marks all pools again that were read above `block`. */
  rollBack(block: number): void {
    for (const { pool, block: at } of this.#read.values()) if (at > block) this.touch(pool)
    this.#lastSecond = undefined
  }
}
