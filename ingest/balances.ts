/** What v3 pools hold, read now and then: their value locked is their balance, which no event states. */
import { erc20Abi } from 'viem'
import { onBranch } from './branch.ts'
import type { Endpoints } from './endpoints.ts'
import type { BlockRef } from './message.ts'
import { readMany } from './multicall.ts'
import type { Pool, PoolBalance, PoolId } from './pool.ts'

/** A pool that trades all the time is read once a minute. */
const MIN_SECONDS_BETWEEN_READS = 60
const MAX_POOLS_PER_READ = 100

export class BalanceReader {
  readonly #endpoints: Endpoints
  readonly #due = new Map<PoolId, Pool>()
  readonly #lastRead = new Map<PoolId, number>()

  constructor(endpoints: Endpoints) {
    this.#endpoints = endpoints
  }

  /** Something moved in the pool at `timestamp`. */
  touch(pool: Pool, timestamp: number): void {
    const last = this.#lastRead.get(pool.id)
    if (last === undefined || timestamp - last >= MIN_SECONDS_BETWEEN_READS || timestamp < last) {
      this.#due.set(pool.id, pool)
    }
  }

  /** Balances after `block` of some pools that are due. */
  async read(block: BlockRef & { timestamp: number }): Promise<PoolBalance[]> {
    const pools = [...this.#due.values()].slice(0, MAX_POOLS_PER_READ)
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
    const endpoints = onBranch(this.#endpoints, block)
    const answers = await endpoints.run((client) => readMany(client, reads, block.number))
    const balances: PoolBalance[] = []
    for (const [index, pool] of pools.entries()) {
      this.#due.delete(pool.id)
      this.#lastRead.set(pool.id, block.timestamp)
      const [balance0, balance1] = answers.slice(index * 2, index * 2 + 2)
      if (typeof balance0 === 'bigint' && typeof balance1 === 'bigint') {
        balances.push({ pool: pool.id, balance0, balance1 })
      }
    }
    return balances
  }
}
