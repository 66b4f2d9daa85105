/** What v3 pools hold: their value locked is their balance, which no event states. */
import { erc20Abi } from 'viem'
import type { BlockRef, UnixSeconds } from '../model/message.ts'
import type { Pool, PoolBalance, PoolId } from '../model/pool.ts'
import type { Endpoints } from '../rpc/endpoints.ts'
import { readMany } from '../rpc/multicall.ts'
import { pinToBlock } from '../rpc/pin-to-block.ts'

const MAX_POOLS_PER_READ = 100

/** Whatever moves in a pool is followed by a reading of it, sooner or later, on the branch that stays. */
export class BalanceReader {
  readonly #endpoints: Endpoints
  /** Pools in which something has moved since they were read, the latest of them last. */
  readonly #due = new Map<PoolId, Pool>()
  /** The block of each pool's last reading. */
  readonly #read = new Map<PoolId, { pool: Pool; block: number }>()
  #lastSecond: UnixSeconds | undefined

  constructor(endpoints: Endpoints) {
    this.#endpoints = endpoints
  }

  /** Something moved in the pool. */
  touch(pool: Pool): void {
    this.#due.delete(pool.id)
    this.#due.set(pool.id, pool)
  }

  /** Balances after `block` of some pools that are due: those that moved last, since they will most likely be asked for. */
  async read(
    block: BlockRef & { timestamp: UnixSeconds },
    asked: Pick<Endpoints, 'run'> = this.#endpoints,
  ): Promise<PoolBalance[]> {
    // Some chains make several blocks a second; the pools stay due.
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

  /** What was read above `block` is gone with its branch, whatever it was that had moved in the pool. */
  rollBack(block: number): void {
    for (const { pool, block: at } of this.#read.values()) if (at > block) this.touch(pool)
    this.#lastSecond = undefined
  }
}
